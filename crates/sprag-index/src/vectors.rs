//! Directions of meaning, small enough to be kept for every document: one bit a dimension to look
//! through all of them, one byte a dimension to compare the best.

use crate::table::{DIMS, Vector};

/// Bytes of the signs of a vector.
pub const SIGNS: usize = DIMS / 8;

pub type Signs = [u64; DIMS / 64];
pub type Bytes = [i8; DIMS];

pub fn signs(vector: &Vector) -> Signs {
    let mut signs = [0; DIMS / 64];
    for (at, value) in vector.iter().enumerate() {
        if *value > 0.0 {
            signs[at / 64] |= 1 << (at % 64);
        }
    }
    signs
}

/// As far apart as one byte allows. A vector of nothing stays one.
pub fn bytes(vector: &Vector) -> Bytes {
    let largest = vector.iter().fold(0f32, |most, value| most.max(value.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return [0; DIMS];
    }
    vector.map(|value| (value / largest * 127.0).round() as i8)
}

/// How alike two directions are; 0 where one of them is none.
pub fn cosine(question: &Vector, document: &[u8]) -> f32 {
    let (mut dot, mut square) = ([0f32; 8], [0i32; 8]);
    for (ours, theirs) in question.chunks_exact(8).zip(document.chunks_exact(8)) {
        for lane in 0..8 {
            let theirs = theirs[lane].cast_signed();
            dot[lane] += ours[lane] * f32::from(theirs);
            square[lane] += i32::from(theirs) * i32::from(theirs);
        }
    }
    let (dot, square) = (dot.iter().sum::<f32>(), square.iter().sum::<i32>());
    if square == 0 { 0.0 } else { dot / (square as f32).sqrt() }
}

/// In how many dimensions two directions point to different sides. Spelled out because the processor
/// every machine has knows no instruction for it, and counting four words at once needs fewer.
#[inline]
pub fn distance(a: &Signs, b: &Signs) -> u32 {
    const ODD: u64 = 0x5555_5555_5555_5555;
    const PAIRS: u64 = 0x3333_3333_3333_3333;
    const NIBBLES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let quarters = |word: u64| {
        let pairs = word - ((word >> 1) & ODD);
        (pairs & PAIRS) + ((pairs >> 2) & PAIRS)
    };
    let bytes = |nibbles: u64| (nibbles & NIBBLES) + ((nibbles >> 4) & NIBBLES);
    let half = |at: usize| bytes(quarters(a[at] ^ b[at]) + quarters(a[at + 1] ^ b[at + 1]));
    let sum = half(0) + half(2);
    let sum = (sum & 0x00ff_00ff_00ff_00ff) + ((sum >> 8) & 0x00ff_00ff_00ff_00ff);
    (sum.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
}

/// How the differing bits of many rows are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting(How);

#[derive(Clone, Copy, Debug)]
enum How {
    /// As any processor can.
    Plain,
    /// With a count of bits that the processor does; it was asked whether it can.
    #[cfg(target_arch = "x86_64")]
    Wide,
}

/// Bytes of rows from which on it pays to ask the processor what it can do.
#[cfg(target_arch = "x86_64")]
const MANY: usize = 512 * 1024;

impl Counting {
    /// For so many bytes of rows.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "there is one way to count"))]
    pub fn of(bytes: usize) -> Counting {
        #[cfg(target_arch = "x86_64")]
        if bytes >= MANY && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            return Counting(How::Wide);
        }
        Counting(How::Plain)
    }

    /// The distances of rows of signs, none above 255, as many as there is room for.
    pub fn distances(self, question: &Signs, rows: &[u8], found: &mut [u8]) {
        match self.0 {
            How::Plain => each(question, rows, found, distance),
            #[cfg(target_arch = "x86_64")]
            #[expect(unsafe_code, reason = "instructions that not every processor has")]
            // SAFETY: this one has them: `of` makes no `Wide` without having asked.
            How::Wide => unsafe { wide(question, rows, found) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn wide(question: &Signs, rows: &[u8], found: &mut [u8]) {
    each(question, rows, found, |a, b| {
        (a[0] ^ b[0]).count_ones()
            + (a[1] ^ b[1]).count_ones()
            + (a[2] ^ b[2]).count_ones()
            + (a[3] ^ b[3]).count_ones()
    });
}

#[inline(always)]
fn each(question: &Signs, rows: &[u8], found: &mut [u8], distance: impl Fn(&Signs, &Signs) -> u32) {
    for (row, found) in rows.chunks_exact(SIGNS).zip(found) {
        let row = read_signs(row).expect("a row has its bytes");
        *found = distance(question, &row).min(255) as u8;
    }
}

#[inline(always)]
pub fn read_signs(bytes: &[u8]) -> Option<Signs> {
    let mut signs = [0; DIMS / 64];
    for (word, bytes) in signs.iter_mut().zip(bytes.get(..SIGNS)?.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(signs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_distance_is_the_number_of_differing_bits(a in any::<[u64; 4]>(), b in any::<[u64; 4]>()) {
            let plain: u32 = a.iter().zip(&b).map(|(a, b)| (a ^ b).count_ones()).sum();
            prop_assert_eq!(distance(&a, &b), plain);
        }

        #[test]
        fn all_rows_are_as_far_as_each(question in any::<[u64; 4]>(), rows in proptest::collection::vec(any::<[u8; SIGNS]>(), 1..40)) {
            let apart: Vec<u8> = rows.iter().map(|row| distance(&question, &read_signs(row).unwrap()).min(255) as u8).collect();
            let all = rows.concat();
            for counting in [Counting::of(0), Counting::of(usize::MAX)] {
                let mut found = vec![0; rows.len()];
                counting.distances(&question, &all, &mut found);
                prop_assert_eq!(&found, &apart);
            }
        }

        #[test]
        fn a_byte_a_dimension_is_nearly_the_vector(values in proptest::collection::vec(-1f32..1.0, DIMS)) {
            let vector: Vector = values.try_into().unwrap();
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            let kept = bytes(&vector).map(i8::cast_unsigned);
            prop_assert!((cosine(&vector, &kept) - length).abs() < 0.01 * length);
        }
    }

    #[test]
    fn all_sides_and_none() {
        assert_eq!(distance(&[0; 4], &[u64::MAX; 4]), 256);
        assert_eq!(cosine(&[0.0625; DIMS], &[0; DIMS]), 0.0);
    }
}
