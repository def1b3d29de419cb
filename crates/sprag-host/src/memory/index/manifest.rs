//! Which files make up the index, and which parts of which sources are in them. It is replaced in one
//! step: whoever reads it sees the old index or the new one.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use sprag_memory::index::analysis::table;
use sprag_memory::index::segment;

use super::sources::Covered;
use crate::store::Store;
use crate::sys::disk::{self, Disk, read_small};

/// The shape of an index this version writes. Raised when the same texts would be indexed otherwise;
/// one of another shape counts for nothing and is made again.
pub const FORMAT: u32 = segment::FORMAT * 100 + 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Of the vectors: those of two tables cannot be compared.
    pub table: String,
    pub segments: Vec<IndexFile>,
    pub columns: IndexFile,
    pub sources: Vec<Covered>,
}

/// One file of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexFile {
    pub file: String,
    pub bytes: u64,
    /// Documents in it.
    pub docs: u32,
    /// Of the whole file.
    pub sum: u64,
}

/// Nobody has so many pieces or sources.
const MOST: u64 = 4 * 1024 * 1024;

pub fn path(store: &Store) -> PathBuf {
    store.cache_dir().join("MANIFEST")
}

/// `None`: there is none, or none for us.
pub fn read(store: &Store) -> Option<Manifest> {
    let text = read_small(&path(store), MOST).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    (manifest.format == FORMAT && manifest.table == table_id()).then_some(manifest)
}

pub fn write(store: &Store, disk: &dyn Disk, manifest: &Manifest) -> io::Result<()> {
    let bytes = serde_json::to_vec(manifest).map_err(io::Error::other)?;
    disk::replace(disk, &path(store), &bytes)
}

pub fn table_id() -> String {
    table::built_in().id().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Manifest {
    pub fn new(segments: Vec<IndexFile>, columns: IndexFile, sources: Vec<Covered>) -> Manifest {
        Manifest { format: FORMAT, table: table_id(), segments, columns, sources }
    }

    pub fn pieces(&self) -> impl Iterator<Item = &IndexFile> {
        self.segments.iter().chain([&self.columns])
    }
}
