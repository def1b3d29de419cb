//! A bit for each document of a segment.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn all(count: u32) -> Bits {
        let mut bits = Bits(vec![u64::MAX; (count as usize).div_ceil(64)]);
        if !count.is_multiple_of(64)
            && let Some(last) = bits.0.last_mut()
        {
            *last = (1 << (count % 64)) - 1;
        }
        bits
    }

    pub fn none(count: u32) -> Bits {
        Bits(vec![0; (count as usize).div_ceil(64)])
    }

    /// Reads bytes written by [`Bits::bytes`]. Missing bytes count as 0.
    pub fn read(bytes: &[u8], count: u32) -> Bits {
        let mut bits = Bits::all(count);
        for (at, word) in bits.0.iter_mut().enumerate() {
            let read = bytes.get(at * 8..at * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            *word &= read.map_or(0, u64::from_le_bytes);
        }
        bits
    }

    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().flat_map(|word| word.to_le_bytes())
    }

    /// Returns the number of set bits before each group of `words` words.
    pub fn counts(&self, words: usize) -> impl Iterator<Item = u32> + '_ {
        self.0.chunks(words).scan(0, |sum, words| {
            let before = *sum;
            *sum += words.iter().map(|word| word.count_ones()).sum::<u32>();
            Some(before)
        })
    }

    #[inline]
    pub fn has(&self, doc: u32) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a bit is set or not")]
    pub fn set(&mut self, doc: u32, is_set: bool) {
        if let Some(word) = self.0.get_mut(doc as usize / 64) {
            if is_set { *word |= 1 << (doc % 64) } else { *word &= !(1 << (doc % 64)) }
        }
    }

    /// Clears the bits that the predicate refuses.
    pub fn keep(&mut self, mut is_wanted: impl FnMut(u32) -> bool) {
        for (at, word) in self.0.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !is_wanted((at as u32) * 64 + bit) {
                    *word &= !(1 << bit);
                }
            }
        }
    }
}
