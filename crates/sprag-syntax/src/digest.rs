//! Hashes as text.

use sha2::{Digest as _, Sha256};

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes the exact bytes of a source.
pub(crate) fn of_source(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(bytes)))
}
