//! Folds the log, starting from a stored fold. The stored fold names the files and lengths that it covers. If
//! these files were replaced or got shorter, the stored fold is ignored.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_memory::index::segment::bytes::checksum;

use crate::store::{Store, journal};
use crate::sys::disk::{self, Disk};

#[derive(Serialize, Deserialize)]
struct Stored<P> {
    version: u32,
    seen: Vec<FileLength>,
    state: P,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileLength {
    file: String,
    inode: u64,
    len: u64,
}

/// A fold, with the number of bytes that were not stored.
pub struct Folded<P> {
    pub state: P,
    pub fresh_bytes: u64,
    seen: Vec<FileLength>,
}

pub fn load<P: Projection>(store: &Store) -> io::Result<Folded<P>> {
    let files = store.log_files();
    if files.is_empty() {
        return Ok(Folded { state: P::default(), fresh_bytes: 0, seen: Vec::new() });
    }
    let now: Vec<FileLength> = files.iter().map(|path| measure_file(path)).collect::<io::Result<_>>()?;
    let (mut state, before) = match stored::<P>(store).filter(|stored| continues(&stored.seen, &now)) {
        Some(stored) => (stored.state, stored.seen),
        None => (P::default(), Vec::new()),
    };
    let mut fresh_bytes = 0;
    let mut seen = Vec::new();
    for (path, found) in files.iter().zip(&now) {
        let from = before.iter().find(|old| old.file == found.file).map_or(0, |old| old.len);
        let read = if from < found.len { fold_file(path, from, &mut state)? } else { 0 };
        fresh_bytes += read;
        seen.push(FileLength { len: from + read, ..found.clone() });
    }
    Ok(Folded { state, fresh_bytes, seen })
}

/// Returns the stored fold without newer records, for callers that accept slightly old data.
pub fn kept<P: Projection>(store: &Store) -> Option<P> {
    stored::<P>(store).map(|stored| stored.state)
}

/// Stores the current fold.
pub fn refresh<P: Projection>(store: &Store, disk: &dyn Disk) -> io::Result<()> {
    save(store, disk, &load::<P>(store)?)
}

/// New log bytes after which a stored fold is renewed.
const RENEW: u64 = 64 * 1024;

/// Stores the fold if the log grew much, so that the work of hooks does not grow with the log.
pub fn renew<P: Projection>(store: &Store, disk: &dyn Disk) -> io::Result<()> {
    let folded = load::<P>(store)?;
    if folded.fresh_bytes > RENEW { save(store, disk, &folded) } else { Ok(()) }
}

pub fn save<P: Projection>(store: &Store, disk: &dyn Disk, folded: &Folded<P>) -> io::Result<()> {
    disk.make_dirs(&store.cache_dir())?;
    let stored = Stored { version: P::VERSION, seen: folded.seen.clone(), state: &folded.state };
    let state = serde_json::to_vec(&stored).map_err(io::Error::other)?;
    let mut bytes = sum_of::<P>(&state).into_bytes();
    bytes.push(b'\n');
    bytes.extend(state);
    disk::replace_derived(disk, &path_of::<P>(store), &bytes)
}

/// Returns the fold of the log and of journals that were not moved into it. An interrupted move leaves lines
/// in both; they count once.
pub fn load_all<P: Projection>(store: &Store) -> io::Result<P> {
    let mut state = load::<P>(store)?.state;
    let journals = journal::all(store).into_iter().filter_map(|path| journal::read(&path).ok());
    let records: Vec<Record> = journals.flat_map(|(_, records)| records).collect();
    let mut counted = in_log(store, &records)?;
    for record in &records {
        if counted.insert(record.id.clone()) {
            state.apply(record);
        }
    }
    Ok(state)
}

/// Returns the ids of these records that the log already has.
fn in_log(store: &Store, records: &[Record]) -> io::Result<HashSet<String>> {
    let wanted: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let months: HashSet<String> = records.iter().map(|record| record.at.month()).collect();
    let mut found = HashSet::new();
    for month in months {
        let path = store.log_dir().join(format!("{month}.jsonl"));
        if path.exists() {
            each_line(&path, 0, |line| {
                found.extend(id_of(line).filter(|id| wanted.contains(id)).map(str::to_owned))
            })?;
        }
    }
    Ok(found)
}

/// Returns the id of a line that Sprag wrote, without parsing.
pub fn id_of(line: &[u8]) -> Option<&str> {
    let head = line.get(..200).unwrap_or(line);
    let from = memchr::memmem::find(head, br#"","id":""#)? + 8;
    let length = memchr::memchr(b'"', &head[from..])?;
    std::str::from_utf8(&head[from..from + length]).ok()
}

/// Reports whether the log has a whole record of this id.
pub fn log_holds_id(store: &Store, id: &str, month: &str) -> io::Result<bool> {
    let path = store.log_dir().join(format!("{month}.jsonl"));
    let mut holds = false;
    if path.exists() {
        each_line(&path, 0, |line| holds |= id_of(line) == Some(id) && Record::parse(line).is_ok())?;
    }
    Ok(holds)
}

fn path_of<P: Projection>(store: &Store) -> std::path::PathBuf {
    store.cache_dir().join(format!("{}.json", P::NAME))
}

/// Reads the stored fold. Ignores an unreadable or damaged one, because the log has all data.
fn stored<P: Projection>(store: &Store) -> Option<Stored<P>> {
    let bytes = disk::read_regular(&path_of::<P>(store), FOLD_BYTES).ok()?;
    let (sum, state) = bytes.split_at_checked(memchr::memchr(b'\n', &bytes)?)?;
    let state = &state[1..];
    if sum != sum_of::<P>(state).as_bytes() {
        return None;
    }
    let stored: Stored<P> = serde_json::from_slice(state).ok()?;
    (stored.version == P::VERSION).then_some(stored)
}

/// Larger than any fold.
const FOLD_BYTES: u64 = 1024 * 1024 * 1024;

/// Returns the checksum line of a stored fold. It includes the name, so that the fold of another projection
/// does not match.
fn sum_of<P: Projection>(state: &[u8]) -> String {
    format!("{} {:016x}", P::NAME, checksum(state))
}

/// Reports whether the log files only grew.
fn continues(before: &[FileLength], now: &[FileLength]) -> bool {
    before
        .iter()
        .all(|old| now.iter().any(|new| new.file == old.file && new.inode == old.inode && new.len >= old.len))
}

fn measure_file(path: &Path) -> io::Result<FileLength> {
    let found = fs::metadata(path)?;
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(FileLength { file, inode: found.ino(), len: found.len() })
}

fn fold_file<P: Projection>(path: &Path, from: u64, state: &mut P) -> io::Result<u64> {
    each_line(path, from, |line| {
        if concerns::<P>(line)
            && let Ok(record) = Record::parse(line)
        {
            state.apply(&record);
        }
    })
}

/// Calls `take` with each whole line from `from` on. Returns the bytes of these lines. A last line without a
/// line feed is still being written.
pub fn each_line(path: &Path, from: u64, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut file = disk::open_regular(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    let mut read = 0;
    loop {
        line.clear();
        let count = reader.read_until(b'\n', &mut line)?;
        if count == 0 || line.last() != Some(&b'\n') {
            return Ok(read);
        }
        read += count as u64;
        take(&line);
    }
}

/// Reports whether a line may concern the projection, from its kind. Lines in another form are parsed later.
fn concerns<P: Projection>(line: &[u8]) -> bool {
    match line.strip_prefix(br#"{"v":1,"kind":""#) {
        Some(kind) => P::KINDS.iter().any(|prefix| kind.starts_with(prefix.as_bytes())),
        None => true,
    }
}

/// Returns all records of one session, from the log and its journal.
pub fn records_of(store: &Store, session: &SessionId) -> io::Result<Vec<Record>> {
    let mut found = records_of_each(store, [session.clone()])?;
    Ok(found.remove(session).unwrap_or_default())
}

/// Returns the records of several sessions, and reads the log once.
pub fn records_of_each(
    store: &Store,
    sessions: impl IntoIterator<Item = SessionId>,
) -> io::Result<BTreeMap<SessionId, Vec<Record>>> {
    let found = sessions.into_iter().map(|session| (session, Vec::new())).collect();
    let mut found = OfSessions { ids: HashSet::new(), found };
    for path in store.log_files() {
        each_line(&path, 0, |line| found.add_line(line))?;
    }
    let journals: Vec<PathBuf> = found.found.keys().map(|session| journal::path(store, session)).collect();
    for journal in journals.iter().filter(|journal| journal.exists()) {
        each_line(journal, 0, |line| found.add_line(line))?;
    }
    Ok(found.found)
}

struct OfSessions {
    ids: HashSet<String>,
    found: BTreeMap<SessionId, Vec<Record>>,
}

impl OfSessions {
    fn add_line(&mut self, line: &[u8]) {
        if let Ok(record) = Record::parse(line)
            && let Some(records) = record.session.as_ref().and_then(|session| self.found.get_mut(session))
            && self.ids.insert(record.id.clone())
        {
            records.push(record);
        }
    }
}
