//! Reads and writes numbers in bytes. The input may be damaged: every read checks its bounds and returns
//! `None` at the end.

/// A position in bytes that only moves forward.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    pub fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { bytes, at: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub fn read_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    /// Reads a number with seven bits per byte, low bits first.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    pub fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Reads bytes that follow their length.
    pub fn block(&mut self) -> Option<&'a [u8]> {
        let size = self.size()?;
        self.read_bytes(size)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.block()?).ok()
    }
}

pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub fn put_block(out: &mut Vec<u8>, block: &[u8]) {
    put_number(out, block.len() as u64);
    out.extend_from_slice(block);
}

/// Maps a signed number to an unsigned one, so that small absolute values stay small.
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Returns a checksum that detects damage. It does not protect against attackers, who could write the
/// checksum, too.
pub fn checksum(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [1u64, 2, 3, 4].map(|lane| lane.wrapping_mul(MIX) ^ bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(32);
    for chunk in &mut chunks {
        for (lane, word) in lanes.iter_mut().zip(chunk.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().expect("a chunk of eight has eight bytes"));
            *lane = (*lane ^ word).wrapping_mul(MIX).rotate_left(29);
        }
    }
    let mut sum = 0u64;
    for byte in chunks.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(MIX).rotate_left(29);
    }
    for lane in lanes {
        sum = (sum ^ lane).wrapping_mul(MIX);
        sum ^= sum >> 31;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u64>(), signed in any::<i64>()) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            prop_assert_eq!(ByteReader::new(&bytes).number(), Some(number));
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let mut reader = ByteReader::new(&bytes);
            while reader.block().is_some() {}
        }

        #[test]
        fn a_changed_byte_changes_the_sum(mut bytes in proptest::collection::vec(any::<u8>(), 1..100), at in any::<prop::sample::Index>()) {
            let before = checksum(&bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= 0x10;
            prop_assert_ne!(checksum(&bytes), before);
        }
    }
}
