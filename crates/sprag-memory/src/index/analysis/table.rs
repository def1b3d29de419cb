//! The static table of vectors: one row for each word piece; a text is the sum of its rows. The table is read
//! directly from bytes of a file or of the program. `open` checks the bytes, so that later reads cannot fail.

use crate::index::analysis::pieces;
use crate::index::analysis::simd::SimdWidth;

pub const DIMS: usize = 256;

/// A direction in the space of the table, with length 1.
pub type Vector = [f32; DIMS];

/// The table that is part of the program.
static BUILT_IN: &[u8] = include_bytes!("../../../data/table.bin");

const MAGIC: &[u8; 8] = b"SPRAGTB1";
const HEADER: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    id: [u8; 16],
    /// Vocabulary entries by hash, stored as number + 1; 0 marks an empty slot.
    slots: &'a [u8],
    /// The start of each entry's text, and the end of the last one.
    offsets: &'a [u8],
    text: &'a [u8],
    scales: &'a [u8],
    rows: &'a [u8],
    calibration: (f32, f32),
}

/// Error: the bytes are not a table of this version.
#[derive(Debug, PartialEq, Eq)]
pub struct DamagedTable;

impl<'a> Table<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Table<'a>, DamagedTable> {
        let header = bytes.get(..HEADER).filter(|header| header.starts_with(MAGIC)).ok_or(DamagedTable)?;
        let number = |at: usize| le32(header, 8 + 4 * at) as usize;
        let (entries, rows, dims, bits) = (number(0), number(1), number(2), number(3));
        let (buckets, text) = (number(4), number(5));
        let real = |at: usize| f32::from_bits(le32(header, 8 + 4 * at));
        let is_sound =
            dims == DIMS && bits == 8 && rows <= entries && buckets.is_power_of_two() && buckets > entries;
        if !is_sound || buckets > 1 << 24 {
            return Err(DamagedTable);
        }
        let mut rest = &bytes[HEADER..];
        let mut section = |length: usize, padded: usize| {
            let found = rest.get(..length).ok_or(DamagedTable)?;
            rest = rest.get(padded..).unwrap_or_default();
            Ok(found)
        };
        let padded = |length: usize| length.next_multiple_of(64);
        let lead = 4 * buckets + 4 * (entries + 1);
        let table = Table {
            id: header[40..56].try_into().map_err(|_| DamagedTable)?,
            slots: section(4 * buckets, 4 * buckets)?,
            offsets: section(4 * (entries + 1), 4 * (entries + 1))?,
            text: section(text, padded(lead + text) - lead)?,
            scales: section(4 * rows, padded(4 * rows))?,
            rows: section(DIMS * rows, DIMS * rows)?,
            calibration: (real(6), real(7)),
        };
        if table.calibration.0.is_finite() && table.calibration.1.is_finite() {
            Ok(table)
        } else {
            Err(DamagedTable)
        }
    }

    /// Returns the id of the table. Vectors of two tables cannot be compared.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Converts a cosine of this table to the scale of the thresholds.
    pub fn calibrated(&self, cosine: f32) -> f32 {
        (self.calibration.0 + self.calibration.1 * cosine).clamp(0.0, 1.0)
    }

    /// Returns the vector of a text. `None`: the table knows no piece of the text.
    pub fn embed(&self, text: &str) -> Option<Vector> {
        let mut found = Vec::with_capacity(text.len() / 4);
        pieces::each(text, self, |piece| found.push(piece));
        Summing::new(self, SimdWidth::default()).sum(&mut found)
    }

    fn row(&self, entry: u32) -> Option<(f32, &'a [u8])> {
        let at = entry as usize;
        let row = self.rows.get(DIMS * at..DIMS * (at + 1))?;
        Some((f32::from_bits(le32(self.scales, 4 * at)), row))
    }

    /// Returns the number of a vocabulary entry.
    pub(crate) fn find(&self, place: PiecePlace, piece: &[u8]) -> Option<u32> {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let is_inner = place == PiecePlace::Inner;
        let prefix: &[u8] = if is_inner { b"##" } else { b"" };
        for byte in prefix.iter().chain(piece) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let buckets = self.slots.len() / 4;
        // The number of slots bounds the probes, so that a damaged table cannot cause an endless loop.
        for probe in 0..buckets as u64 {
            let slot = (hash.wrapping_add(probe) & (buckets as u64 - 1)) as usize;
            let entry = le32(self.slots, 4 * slot).checked_sub(1)?;
            let text = self.entry(entry)?;
            if text.strip_prefix(prefix) == Some(piece)
                && (is_inner || !text.starts_with(b"##") || piece.starts_with(b"##"))
            {
                return Some(entry);
            }
        }
        None
    }

    fn entry(&self, entry: u32) -> Option<&'a [u8]> {
        let at = 4 * entry as usize;
        let ends = self.offsets.get(at..at + 8)?;
        self.text.get(le32(ends, 0) as usize..le32(ends, 4) as usize)
    }
}

/// The position of a piece in its word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PiecePlace {
    Start,
    Inner,
}

/// A sum over the rows of a text.
#[derive(Clone, Copy, Debug)]
pub struct Summing<'a> {
    table: Table<'a>,
    breadth: SimdWidth,
}

impl<'a> Summing<'a> {
    pub fn new(table: &Table<'a>, breadth: SimdWidth) -> Summing<'a> {
        Summing { table: *table, breadth }
    }

    /// Sums the rows of pieces. A repeated piece counts with the square root of its count.
    pub fn sum(&self, pieces: &mut [u32]) -> Option<Vector> {
        pieces.sort_unstable();
        let mut sum = [0f32; DIMS];
        for run in pieces.chunk_by(|a, b| a == b) {
            if let Some((scale, row)) = self.table.row(run[0]) {
                self.breadth.add(&mut sum, row, scale, (run.len() as f32).sqrt());
            }
        }
        normalised(sum)
    }
}

pub fn normalised(sum: Vector) -> Option<Vector> {
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    (length > 0.0 && length.is_finite()).then(|| sum.map(|x| x / length))
}

pub fn cosine(a: &Vector, b: &Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the table that is part of the program.
pub fn built_in() -> Table<'static> {
    Table::open(BUILT_IN).expect("the tests open the table that is built in")
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; 4]);
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::index::analysis::pieces;

    /// Returns the values that the training scripts wrote with their own code.
    fn expected() -> Value {
        serde_json::from_str(include_str!("../../../data/vectors.json")).unwrap()
    }

    fn text<'v>(value: &'v Value, name: &str) -> &'v str {
        value[name].as_str().unwrap()
    }

    #[test]
    fn pieces_and_vectors_are_those_of_the_training() {
        let (expected, table) = (expected(), built_in());
        for case in expected["texts"].as_array().unwrap() {
            let given = text(case, "text");
            let mut found = Vec::new();
            pieces::each(given, &table, |piece| found.push(piece));
            let has_row = |id: &u64| *id < table.scales.len() as u64 / 4;
            let ids = case["ids"].as_array().unwrap().iter().filter_map(Value::as_u64).filter(has_row);
            let found: Vec<u64> = found.into_iter().map(u64::from).filter(has_row).collect();
            assert_eq!(found, ids.collect::<Vec<_>>(), "{given:?}");
            let vector = table.embed(given).unwrap_or([0.0; DIMS]);
            for (at, head) in case["head"].as_array().unwrap().iter().enumerate() {
                assert!((f64::from(vector[at]) - head.as_f64().unwrap()).abs() < 1e-4, "{given:?} {at}");
            }
        }
    }

    #[test]
    fn cosines_are_those_of_the_training() {
        let table = built_in();
        for case in expected()["cosines"].as_array().unwrap() {
            let vector = |name: &str| table.embed(text(case, name)).unwrap_or([0.0; DIMS]);
            let found = cosine(&vector("a"), &vector("b"));
            assert!((f64::from(found) - case["cosine"].as_f64().unwrap()).abs() < 1e-4, "{case}");
        }
    }

    #[test]
    fn a_damaged_table_is_refused_or_read_without_harm() {
        assert!(Table::open(&[]).is_err() && Table::open(&BUILT_IN[..HEADER]).is_err());
        assert!(Table::open(&BUILT_IN[..BUILT_IN.len() - 1]).is_err());
        let mut bytes = BUILT_IN[..400_000].to_vec();
        for at in (8..HEADER).step_by(3) {
            bytes[at] ^= 0x5a;
            if let Ok(table) = Table::open(&bytes) {
                table.embed("a few words, and more");
            }
            bytes[at] ^= 0x5a;
        }
    }

    #[test]
    fn words_that_mean_the_same_are_near() {
        let table = built_in();
        let near = |a: &str, b: &str| cosine(&table.embed(a).unwrap(), &table.embed(b).unwrap());
        assert!(near("delete a file", "remove the file") > near("delete a file", "parse a date") + 0.2);
    }
}
