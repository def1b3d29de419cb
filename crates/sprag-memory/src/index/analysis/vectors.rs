//! Compact vectors, stored for every document: one bit per dimension to scan all documents, one byte per
//! dimension to compare the best.

use crate::index::analysis::table::{DIMS, Vector};

/// The number of bytes of a vector's sign bits.
pub(crate) const SIGNS: usize = DIMS / 8;

pub(crate) type SignBits = [u64; DIMS / 64];
pub(crate) type Bytes = [i8; DIMS];

#[inline(always)]
pub(crate) fn signs(vector: &Vector) -> SignBits {
    let mut signs = [0; DIMS / 64];
    for (at, value) in vector.iter().enumerate() {
        if *value > 0.0 {
            signs[at / 64] |= 1 << (at % 64);
        }
    }
    signs
}

/// Scales a vector to the full range of a byte. A zero vector stays zero.
#[inline(always)]
pub(crate) fn bytes(vector: &Vector) -> Bytes {
    let largest = vector.iter().fold(0f32, |most, value| most.max(value.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return [0; DIMS];
    }
    vector.map(|value| (value / largest * 127.0).round() as i8)
}

/// Returns the cosine of two vectors; 0 if the document has none.
pub(crate) fn cosine(question: &Vector, document: &[u8]) -> f32 {
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

/// Counts the dimensions in which the signs differ. The code counts bits by hand, because the baseline
/// processor has no instruction for it, and four words together need fewer steps.
#[inline]
pub(crate) fn distance(a: &SignBits, b: &SignBits) -> u32 {
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

#[inline(always)]
pub(crate) fn read_signs(bytes: &[u8]) -> Option<SignBits> {
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
