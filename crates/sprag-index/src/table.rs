//! The static table of vectors: one row for each piece of a word, summed over a text. It is read as bytes,
//! from a file or from the program itself, without being unpacked.

pub const DIMS: usize = 256;

/// A direction in the table's space, of length one.
pub type Vector = [f32; DIMS];

pub struct Table<'a> {
    bytes: &'a [u8],
}

/// The table is not one.
#[derive(Debug, PartialEq, Eq)]
pub struct Damaged;

impl<'a> Table<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Table<'a>, Damaged> {
        Ok(Table { bytes })
    }

    /// Tells one table from another: vectors of two tables cannot be compared.
    pub fn id(&self) -> [u8; 16] {
        [0; 16]
    }

    /// `None`: there is nothing in the text that the table knows.
    pub fn embed(&self, text: &str) -> Option<Vector> {
        let mut vector = [0f32; DIMS];
        for word in text.split_whitespace() {
            let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.bytes.len() as u64;
            for byte in word.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            vector[(hash % DIMS as u64) as usize] += 1.0;
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        (length > 0.0).then(|| vector.map(|x| x / length))
    }
}

/// The table that comes with the program.
pub fn built_in() -> Table<'static> {
    Table { bytes: &[] }
}
