//! Hashing of words while an index is built, which needs millions of lookups.

use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type WordHashState = BuildHasherDefault<WordHasher>;

/// A fast hasher. It does not resist chosen collisions; the words come from the user's own texts.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    pub(super) fn hash_number(number: u128) -> u64 {
        let mut mix = WordHasher::default();
        mix.write_u128(number);
        mix.finish()
    }
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        folded(self.0, 0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.write_u64(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        let mut rest = [0; 8];
        rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.write_u64(u64::from_le_bytes(rest));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = folded(self.0 ^ number ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);
    }

    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// Folds both halves of the product, so that every input bit affects every output bit.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
