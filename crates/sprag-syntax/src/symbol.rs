//! Texts as numbers, so that two leaves compare as integers. One table serves all trees of a change.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The text of a leaf; `Sym::NONE` means no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sym(pub u32);

impl Sym {
    pub(crate) const NONE: Sym = Sym(0);
}

#[derive(Clone)]
pub(crate) struct Symbols {
    ids: HashMap<Box<str>, u32, BuildHasherDefault<Quick>>,
    texts: Vec<Box<str>>,
}

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols { ids: HashMap::default(), texts: vec!["".into()] }
    }

    pub(crate) fn intern(&mut self, text: &str) -> Sym {
        if let Some(id) = self.ids.get(text) {
            return Sym(*id);
        }
        let id = u32::try_from(self.texts.len()).expect("a change is smaller than 4 GB");
        self.texts.push(text.into());
        self.ids.insert(text.into(), id);
        Sym(id)
    }

    pub(crate) fn find(&self, text: &str) -> Option<Sym> {
        self.ids.get(text).map(|id| Sym(*id))
    }

    pub(crate) fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.0 as usize]
    }
}

/// A multiplicative hash. Collisions only cost time, and the node budget bounds the texts.
#[derive(Default)]
pub(crate) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;
pub(crate) type QuickSet<K> = std::collections::HashSet<K, BuildHasherDefault<Quick>>;
