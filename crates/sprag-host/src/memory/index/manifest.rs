//! Lists the files of the index and the parts of the sources in them. The manifest is replaced in one step,
//! so a reader sees the old index or the new one.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use sprag_memory::index::analysis::table;
use sprag_memory::index::segment;

use super::sources::Covered;
use crate::store::Store;
use crate::sys::disk::{self, Disk, read_small};

/// Format of the index that this version writes. Raise it when the same texts would be indexed differently.
/// Sprag rebuilds an index of another format.
pub const FORMAT: u32 = segment::FORMAT * 100 + 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Id of the embedding table; vectors of two tables cannot be compared.
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
    /// Documents in this file.
    pub docs: u32,
    /// Checksum of the whole file.
    pub sum: u64,
}

/// Most bytes of a manifest.
const MOST: u64 = 4 * 1024 * 1024;

pub fn path(store: &Store) -> PathBuf {
    store.cache_dir().join("MANIFEST")
}

/// Reads the manifest. `None`: it is missing, or has another format.
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
