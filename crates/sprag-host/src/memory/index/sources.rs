//! Finds and reads the sources of the memory: the files of the log, and shared files of other clones. Git may
//! replace shared files at any time. The index stores how far it read a source and checksums of that part. If
//! they differ, the index reads the source again.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::time::Timestamp;
use sprag_memory::document::{Document, LoadedText};
use sprag_memory::index::segment::DocumentOrigin;
use sprag_memory::index::segment::build::DocumentDraft;
use sprag_memory::index::segment::bytes::checksum;
use sprag_memory::records::{self, MemoryRecord};
use sprag_memory::usage::{self, UsageChange};

use crate::store::Store;
use crate::sys::disk;

/// A file that the index reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSource {
    /// Name below the store, or a whole path.
    pub name: String,
    pub path: PathBuf,
}

/// The indexed part of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    pub name: String,
    pub length: u64,
    /// Checksum of the first bytes of that part.
    pub first: u64,
    /// Checksum of its last bytes.
    pub last: u64,
    /// Inode, size and time of the file. If all three are equal, the content is unchanged.
    pub inode: u64,
    pub size: u64,
    pub modified: i64,
}

/// Bytes at each end of a part that its checksums cover.
const ENDS: u64 = 4096;
/// Bytes of one read.
const CHUNK: usize = 1024 * 1024;
/// Longest line; Sprag writes no longer ones.
const LINE: usize = 16 * 1024 * 1024;

/// Returns the files of the log, oldest first, and the further files.
pub fn all(store: &Store, further: &[PathBuf]) -> Vec<IndexSource> {
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let log =
        store.log_files().into_iter().map(|path| IndexSource { name: format!("log/{}", name(&path)), path });
    let further = further
        .iter()
        .map(|path| IndexSource { name: path.to_string_lossy().into_owned(), path: path.clone() });
    log.chain(further).collect()
}

impl IndexSource {
    /// Opens the file. `None`: it is missing, or is not a regular file.
    pub fn open(&self) -> Option<File> {
        disk::open_regular(&self.path).ok()
    }
}

impl Covered {
    /// Describes the part of a source up to this length.
    pub fn for_source(name: &str, file: &File, length: u64) -> io::Result<Covered> {
        let found = file.metadata()?;
        let (first, last) = ends(file, length)?;
        Ok(Covered {
            name: name.to_owned(),
            length,
            first,
            last,
            inode: found.ino(),
            size: found.len(),
            modified: modified(&found),
        })
    }

    /// Reports whether the indexed part of the file is unchanged.
    pub fn is_of(&self, file: &File) -> bool {
        let Ok(found) = file.metadata() else { return false };
        if (found.ino(), found.len(), modified(&found)) == (self.inode, self.size, self.modified) {
            return true;
        }
        found.len() >= self.length
            && ends(file, self.length).is_ok_and(|ends| ends == (self.first, self.last))
    }
}

fn modified(found: &std::fs::Metadata) -> i64 {
    found.mtime().wrapping_mul(1_000_000_000).wrapping_add(found.mtime_nsec())
}

fn ends(file: &File, length: u64) -> io::Result<(u64, u64)> {
    let size = usize::try_from(length.min(ENDS)).unwrap_or(0);
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, 0)?;
    let first = checksum(&bytes);
    file.read_exact_at(&mut bytes, length - size as u64)?;
    Ok((first, checksum(&bytes)))
}

/// Documents and events in a part of a source.
#[derive(Debug, Default)]
pub struct SourceEvents {
    pub drafts: Vec<DocumentDraft>,
    pub changes: Vec<DocumentEvent>,
    /// End of the last whole line.
    pub end: u64,
}

/// One event of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEvent {
    pub id: String,
    pub change: UsageChange,
    pub at: Timestamp,
}

/// Reads whole lines from `from` up to `to`. A last line without a line feed is still being written.
pub fn read(file: &File, number: u16, from: u64, to: u64) -> io::Result<SourceEvents> {
    let mut said = SourceEvents { end: from, ..SourceEvents::default() };
    let mut buffer: Vec<u8> = Vec::new();
    let mut next = from;
    while next < to {
        let size = usize::try_from((to - next).min(CHUNK as u64)).unwrap_or(CHUNK);
        let kept = buffer.len();
        buffer.resize(kept + size, 0);
        let count = file.read_at(&mut buffer[kept..], next)?;
        buffer.truncate(kept + count);
        if count == 0 {
            break;
        }
        next += count as u64;
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[start..]) {
            let line = &buffer[start..start + end];
            collect_line(line, number, said.end, &mut said);
            said.end += end as u64 + 1;
            start += end + 1;
        }
        buffer.drain(..start);
        if buffer.len() > LINE {
            // Skip the long line up to its end.
            said.end += buffer.len() as u64;
            buffer.clear();
        }
    }
    Ok(said)
}

/// Fields of a line, read before its body.
#[derive(Deserialize)]
struct SourceLine<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    at: Timestamp,
    #[serde(borrow)]
    body: &'a RawValue,
}

fn collect_line(line: &[u8], number: u16, offset: u64, said: &mut SourceEvents) {
    if !concerns(line) {
        return;
    }
    let origin = |version| DocumentOrigin {
        source: number,
        offset,
        length: u32::try_from(line.len()).unwrap_or(u32::MAX),
        version,
    };
    // Most documents are loaded in bulk, so this avoids parsing them twice.
    if let Ok(known) = serde_json::from_slice::<SourceLine<'_>>(line)
        && known.kind == "document.loaded"
    {
        if let Ok(loaded) = serde_json::from_str::<LoadedText>(known.body.get())
            && !loaded.id.is_empty()
        {
            said.drafts.push(DocumentDraft {
                document: Document::loaded(loaded, known.at),
                origin: origin(known.at),
            });
        }
        return;
    }
    let Ok(record) = Record::parse(line) else { return };
    let Some(told) = MemoryRecord::read(&record) else { return };
    for (id, change) in usage::changes(&told) {
        said.changes.push(DocumentEvent { id, change, at: record.at });
    }
    if let Some(document) = Document::from_memory(told, record.at) {
        said.drafts.push(DocumentDraft { document, origin: origin(record.at) });
    }
}

/// Reports whether a line may concern the memory, from its kind. Lines in another form are parsed later.
fn concerns(line: &[u8]) -> bool {
    match line.strip_prefix(br#"{"v":1,"kind":""#) {
        Some(kind) => records::PREFIXES.iter().any(|prefix| kind.starts_with(prefix.as_bytes())),
        None => !line.is_empty(),
    }
}
