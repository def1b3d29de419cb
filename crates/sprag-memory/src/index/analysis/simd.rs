//! Selects wider processor instructions at run time, if the processor has them. The results are equal to the
//! last bit.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use crate::index::analysis::table::Vector;
use crate::index::analysis::vectors::{self, Bytes, SIGNS, SignBits};

#[derive(Clone, Copy, Debug, Default)]
pub struct SimdWidth(CpuWidth);

#[derive(Clone, Copy, Debug, Default)]
enum CpuWidth {
    #[default]
    Usual,
    /// The processor supports AVX2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Wide,
}

impl SimdWidth {
    /// Detects the features of the processor. Detection costs as much as a few thousand additions, so small
    /// tasks use the default.
    pub fn known() -> SimdWidth {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            return SimdWidth(CpuWidth::Wide);
        }
        SimdWidth::default()
    }

    /// Computes the distances of rows of sign bits, capped at 255.
    pub fn distances(self, question: &SignBits, rows: &[u8], found: &mut [u8]) {
        match self.0 {
            CpuWidth::Usual => each_distance(question, rows, found, vectors::distance),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `known` returns `Wide` only after it detected these instructions.
            CpuWidth::Wide => unsafe { wide::distances(question, rows, found) },
        }
    }

    /// Adds a row of a table `times` times, with its scale.
    pub fn add(self, sum: &mut Vector, row: &[u8], scale: f32, times: f32) {
        match self.0 {
            CpuWidth::Usual => add(sum, row, scale, times),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            CpuWidth::Wide => unsafe { wide::add(sum, row, scale, times) },
        }
    }

    /// Converts a vector to its stored form.
    pub fn kept(self, vector: &Vector) -> (SignBits, Bytes) {
        match self.0 {
            CpuWidth::Usual => (vectors::signs(vector), vectors::bytes(vector)),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            CpuWidth::Wide => unsafe { wide::kept(vector) },
        }
    }
}

#[inline(always)]
fn each_distance(
    question: &SignBits,
    rows: &[u8],
    found: &mut [u8],
    distance: impl Fn(&SignBits, &SignBits) -> u32,
) {
    for (row, found) in rows.chunks_exact(SIGNS).zip(found) {
        let row = vectors::read_signs(row).expect("a row has its bytes");
        *found = distance(question, &row).min(255) as u8;
    }
}

#[inline(always)]
fn add(sum: &mut Vector, row: &[u8], scale: f32, times: f32) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += times * (scale * f32::from(value.cast_signed()));
    }
}

/// The same functions, compiled for a wider instruction set.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Bytes, SignBits, Vector};
    use crate::index::analysis::vectors;

    #[target_feature(enable = "avx2,popcnt")]
    pub(crate) fn distances(question: &SignBits, rows: &[u8], found: &mut [u8]) {
        super::each_distance(question, rows, found, |a, b| {
            (a[0] ^ b[0]).count_ones()
                + (a[1] ^ b[1]).count_ones()
                + (a[2] ^ b[2]).count_ones()
                + (a[3] ^ b[3]).count_ones()
        });
    }

    #[target_feature(enable = "avx2")]
    pub(crate) fn add(sum: &mut Vector, row: &[u8], scale: f32, times: f32) {
        super::add(sum, row, scale, times);
    }

    #[target_feature(enable = "avx2")]
    pub(crate) fn kept(vector: &Vector) -> (SignBits, Bytes) {
        (vectors::signs(vector), vectors::bytes(vector))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::analysis::table::DIMS;
    use crate::index::analysis::vectors;

    proptest! {
        #[test]
        fn all_rows_are_as_far_as_each(question in any::<[u64; 4]>(), rows in proptest::collection::vec(any::<[u8; SIGNS]>(), 1..40)) {
            let apart: Vec<u8> = rows.iter().map(|row| vectors::distance(&question, &vectors::read_signs(row).unwrap()).min(255) as u8).collect();
            for breadth in [SimdWidth::default(), SimdWidth::known()] {
                let mut found = vec![0; rows.len()];
                breadth.distances(&question, &rows.concat(), &mut found);
                prop_assert_eq!(&found, &apart);
            }
        }

        #[test]
        fn what_comes_of_it_is_the_same_to_the_last_bit(rows in proptest::collection::vec((any::<[[u8; 32]; 8]>(), -2f32..2.0, 1u8..9), 0..30)) {
            let of = |breadth: SimdWidth| {
                let mut sum = [0f32; DIMS];
                for (row, scale, times) in &rows {
                    breadth.add(&mut sum, row.as_flattened(), *scale, f32::from(*times).sqrt());
                }
                (sum.map(f32::to_bits), breadth.kept(&sum))
            };
            prop_assert_eq!(of(SimdWidth::default()), of(SimdWidth::known()));
        }
    }
}
