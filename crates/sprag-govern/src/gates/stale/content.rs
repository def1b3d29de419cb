//! The content of a file, as a SHA-256 hash. Equal content means the same version.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// A prefix of the hash that distinguishes versions of a file. A session stores many of them.
pub type ShortHash = [u8; 12];

impl ContentHash {
    pub fn hash_bytes(bytes: &[u8]) -> ContentHash {
        ContentHash(Sha256::digest(bytes).into())
    }

    /// Wraps the hash of a file that was hashed in pieces.
    pub fn from_hash(hash: [u8; 32]) -> ContentHash {
        ContentHash(hash)
    }

    pub fn short(self) -> ShortHash {
        let mut short = [0; 12];
        short.copy_from_slice(&self.0[..12]);
        short
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("not a SHA-256 of 64 hexadecimal digits"))
    }
}

fn parse(text: &str) -> Option<ContentHash> {
    let digits = text.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(ContentHash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_being_written_and_what_is_none_is_refused() {
        let content = ContentHash::hash_bytes(b"abc");
        assert_eq!(content.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(parse(&content.to_string()), Some(content));
        for text in ["", "ba78", &"g".repeat(64), &"ä".repeat(32)] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
