//! The hash that identifies bytes in records: a full SHA-256, because other programs compute the same one.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256, written as `sha256:` and 64 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Sum([u8; 32]);

const MARK: &str = "sha256:";

impl Sha256Sum {
    pub fn hash_bytes(bytes: &[u8]) -> Sha256Sum {
        Sha256Sum(Sha256::digest(bytes).into())
    }

    pub fn parse(text: &str) -> Option<Sha256Sum> {
        let digits = text.strip_prefix(MARK)?.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut sum = [0; 32];
        for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Sha256Sum(sum))
    }

    /// Returns only the 64 digits, for use as a file name.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Sha256Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}", self.hex())
    }
}

impl fmt::Debug for Sha256Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sha256Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Sha256Sum::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a hash")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_read_as_it_is_written() {
        let sum = Sha256Sum::hash_bytes(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum.to_string(), text);
        assert_eq!(Sha256Sum::parse(text), Some(sum));
        for wrong in ["", "sha256:", &text[..70], &text.to_uppercase(), &text.replace("ba", "é")] {
            assert_eq!(Sha256Sum::parse(wrong), None, "{wrong}");
        }
    }
}
