//! Short fingerprints of states. A gate treats two states with the same digest as equal.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The first 128 bits of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u128);

impl Digest {
    /// Hashes each part with its length, so `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn hash_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            let part = part.as_ref();
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let bytes = hash.finalize();
        Digest(u128::from_be_bytes(bytes[..16].try_into().expect("a SHA-256 has 32 bytes")))
    }

    /// Returns the first 8 hexadecimal digits, enough to tell a few thousand things apart.
    pub fn short(self) -> String {
        format!("{:08x}", (self.0 >> 96) as u32)
    }

    /// Returns a number below `end` that depends only on the digest.
    pub fn below(self, end: u64) -> u64 {
        u64::try_from(self.0 % u128::from(end.max(1))).unwrap_or(0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Digest)
            .map_err(|_| serde::de::Error::custom(format!("`{text}` is not a digest")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_borders() {
        assert_ne!(Digest::hash_parts(["ab", "c"]), Digest::hash_parts(["a", "bc"]));
        assert_eq!(Digest::hash_parts(["ab", "c"]), Digest::hash_parts(["ab", "c"]));
    }

    #[test]
    fn a_digest_survives_being_written() {
        let digest = Digest::hash_parts(["x"]);
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
    }
}
