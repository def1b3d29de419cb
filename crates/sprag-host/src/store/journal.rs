//! The journal of one session: its events in the order of their decisions, and its state.
//!
//! A line may carry `set`, the changed parts of the state. At least every 16th line is a snapshot of the
//! whole state. Reading starts at the last snapshot, so the 600th call of a session costs as much as the
//! first. Lines without `set` are not parsed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use memchr::{memchr_iter, memmem, memrchr_iter};
use serde::Deserialize;
use serde_json::value::RawValue;

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::record::{self, Record};
use sprag_base::time::Timestamp;
use sprag_govern::event_records::{JournalSnapshot, SnapshotRecord};
use sprag_govern::session::Session;
use sprag_govern::session_facts::Process;

use crate::store::{self, AppendFile, SessionSelection, Store, files_with_ending, new_record};
use crate::sys::disk::{self, Disk};

/// Directory of the journals of stage sessions, by stage.
const STAGES: &str = "stages";
/// Lines after which a snapshot is due.
const SNAPSHOT_EVERY: usize = 16;
/// Start of a snapshot line, recognised without parsing. It fixes the order of fields.
const SNAPSHOT: &[u8] = br#"{"v":1,"kind":"snapshot","#;
/// Start of a learning line. A journal holds only learnings for its own session.
const PASSING: &[u8] = br#"{"v":1,"kind":"learning."#;
const OURS: &[u8] = br#"{"v":1,"#;
/// A quote inside a JSON string is escaped, so this matches only the member itself.
const SET: &[u8] = br#","set":{"#;
/// Bytes that hold the lines between two snapshots of an ordinary session.
const TAIL: u64 = 16 * 1024;

pub struct Journal {
    lines: AppendFile,
    pub loaded: JournalState,
}

/// Content of a journal.
#[derive(Debug, Default)]
pub struct JournalState {
    pub session: Session,
    /// Events since the last move of the journal into the log.
    pub events: u64,
    /// Unreadable lines or parts of the state.
    pub damage: Vec<String>,
    /// Whether a newer version wrote the journal. Sprag then does not change its state.
    pub is_newer: bool,
    since_snapshot: usize,
    ends_whole: bool,
}

/// Fields of a snapshot line that concern the state.
#[derive(Deserialize)]
struct StateLine<'a> {
    #[serde(default)]
    body: JournalSnapshot,
    #[serde(borrow)]
    set: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// Fields of another line; only a snapshot has the count.
#[derive(Deserialize)]
struct SetLine<'a> {
    #[serde(borrow)]
    set: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

/// Parts of the state with all their written values. Only the last readable value counts, so only that one is
/// read.
#[derive(Default)]
struct JournalParts<'a>(Vec<(Cow<'a, str>, Vec<&'a RawValue>)>);

impl<'a> JournalParts<'a> {
    fn add(&mut self, set: BTreeMap<Cow<'a, str>, &'a RawValue>) {
        for (name, value) in set {
            match self.0.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => self.0.push((name, vec![value])),
            }
        }
    }

    fn read_into(self, loaded: &mut JournalState) {
        for (name, values) in self.0 {
            for value in values.into_iter().rev() {
                if loaded.session.read(&name, value.get()) {
                    break;
                }
                loaded.damage.push(format!("state of `{name}`"));
            }
        }
    }
}

impl Journal {
    pub fn open(store: &Store, disk: &dyn Disk, id: &SessionId, wait: Duration) -> io::Result<Journal> {
        let lines = AppendFile::open(disk, &path(store, id), wait)?;
        let loaded = load(&lines)?;
        Ok(Journal { lines, loaded })
    }

    /// Reports whether the next event will find a changed state.
    pub fn keeps_state(&self) -> bool {
        self.lines.is_locked && !self.loaded.is_newer
    }

    pub fn is_locked(&self) -> bool {
        self.lines.is_locked
    }

    /// Reports whether the journal has a whole record of this id. A torn line does not count.
    pub fn holds_id(&self, id: &str) -> io::Result<bool> {
        let all = self.lines.tail(u64::MAX)?;
        let finder = memmem::Finder::new(id);
        let mut named = lines_of(&all).filter(|line| finder.find(line).is_some());
        Ok(named.any(|line| Record::parse(line).is_ok_and(|record| record.id == id)))
    }

    /// Appends records and the state after them, in one write.
    pub fn commit(&mut self, disk: &dyn Disk, mut records: Vec<Record>, after: &Session) -> io::Result<()> {
        let Some(last) = records.last_mut() else {
            return Ok(());
        };
        let id = last.session.clone();
        let at = last.at;
        if !self.keeps_state() {
            return self.append_event_only(disk, &records);
        }
        let set = after.changes(&self.loaded.session);
        if !set.is_empty() {
            last.set = Some(set);
        }
        let mut bytes = record::lines(&records);
        let events = self.loaded.events + records.len() as u64;
        // A snapshot skips damage, so that Sprag meets it only once.
        let is_damaged = !self.loaded.damage.is_empty() || !self.loaded.ends_whole;
        if self.loaded.since_snapshot + records.len() >= SNAPSHOT_EVERY || is_damaged {
            bytes.extend_from_slice(&snapshot(id.as_ref(), at, after, events).line());
        }
        if self.loaded.ends_whole {
            self.lines.append(disk, &bytes)
        } else {
            self.lines.append_after_torn(disk, &bytes)
        }
    }

    /// Appends an event without changing the state, because the lock is missing. The leading line feed ends a
    /// line that the lock holder may leave torn.
    fn append_event_only(&mut self, disk: &dyn Disk, records: &[Record]) -> io::Result<()> {
        let mut bytes = vec![b'\n'];
        bytes.extend_from_slice(&record::lines(records));
        disk.append(&self.lines.file, &bytes)?;
        // The journal was moved to the log meanwhile, so the new journal needs the event too.
        let ours = self.lines.file.metadata()?.ino();
        if fs::metadata(&self.lines.path).map_or(true, |now| now.ino() != ours) {
            let again = AppendFile::open(disk, &self.lines.path, Duration::ZERO)?;
            disk.append(&again.file, &bytes)?;
        }
        Ok(())
    }

    pub fn unlock(self) -> io::Result<()> {
        if self.lines.is_locked { self.lines.file.unlock() } else { Ok(()) }
    }

    pub fn unlock_and_sync(self, disk: &dyn Disk) -> io::Result<()> {
        self.lines.unlock_and_sync(disk)
    }

    /// Moves all events into the log and starts a new journal with a snapshot. After a kill at any point, the
    /// next move appends only the missing events.
    pub fn move_to_log(
        self,
        store: &Store,
        disk: &dyn Disk,
        id: &SessionId,
        now: Timestamp,
    ) -> io::Result<usize> {
        let mut fresh = snapshot(Some(id), now, &self.loaded.session, 0).line();
        if !self.loaded.session.about.ended {
            let all = self.lines.tail(u64::MAX)?;
            for line in lines_of(&all).filter(|line| line.starts_with(PASSING)) {
                fresh.extend_from_slice(line);
                fresh.push(b'\n');
            }
        }
        self.move_and(store, disk, |path| disk::replace(disk, path, &fresh))
    }

    /// Moves all events into the log and removes the journal.
    pub fn retire(self, store: &Store, disk: &dyn Disk) -> io::Result<usize> {
        self.move_and(store, disk, |path| disk.remove(path))
    }

    /// Moves events to the log and clears the journal. A process that waits for the lock sees the file gone
    /// and opens the new one.
    fn move_and(
        self,
        store: &Store,
        disk: &dyn Disk,
        clear: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<usize> {
        if !self.keeps_state() {
            return Ok(0);
        }
        let mut moved = HashSet::new();
        let count = append_missing(store, disk, &self.lines.tail(u64::MAX)?, &mut moved)?;
        clear(&self.lines.path)?;
        // Other processes may have appended lines without the lock meanwhile.
        let late = self.lines.grown()?.tail(u64::MAX)?;
        Ok(count + append_missing(store, disk, &late, &mut moved)?)
    }

    /// Returns the time of the last line.
    pub fn last_at(&self) -> io::Result<Option<Timestamp>> {
        let all = self.lines.tail(u64::MAX)?;
        Ok(lines_of(&all).filter_map(|line| Record::parse(line).ok()).map(|record| record.at).last())
    }
}

/// Appends lines of a journal that are neither in `moved` nor in the log. Copies them unchanged, so that
/// fields of other versions stay.
fn append_missing(
    store: &Store,
    disk: &dyn Disk,
    journal: &[u8],
    moved: &mut HashSet<Vec<u8>>,
) -> io::Result<usize> {
    let lines: Vec<(&[u8], String)> = lines_of(journal)
        .filter(|line| !line.starts_with(SNAPSHOT) && !line.starts_with(PASSING))
        .filter_map(|line| Some((line, month_of(line)?)))
        .filter(|(line, _)| moved.insert(line.to_vec()))
        .collect();
    for group in lines.chunk_by(|a, b| a.1 == b.1) {
        let mut log = store::open_log(store, disk, &group[0].1)?;
        if !log.is_locked {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let known = log.tail(u64::MAX)?;
        // A killed move may have written some lines, the last one torn. Only whole lines count.
        let known: HashSet<&[u8]> = lines_of(&known).filter(|line| moved.contains(*line)).collect();
        let mut missing = Vec::new();
        for (line, _) in group.iter().filter(|(line, _)| !known.contains(line)) {
            missing.extend_from_slice(line);
            missing.push(b'\n');
        }
        if !missing.is_empty() {
            log.append_sealed(disk, &missing)?;
        }
        log.unlock_and_sync(disk)?;
    }
    Ok(lines.len())
}

/// Returns the month of a line, which names its log file. Sprag's own lines need no parsing. `None`: the line
/// is not a record.
fn month_of(line: &[u8]) -> Option<String> {
    let quick = || {
        let at = memmem::find(line.get(..160).unwrap_or(line), br#"","at":""#)? + 8;
        let month = std::str::from_utf8(line.get(at..at + 7)?).ok()?;
        Timestamp::parse(&format!("{month}-01T00:00:00Z")).map(Timestamp::month)
    };
    if line.starts_with(OURS) && line.ends_with(b"}") {
        return quick().or_else(|| Record::parse(line).ok().map(|record| record.at.month()));
    }
    Record::parse(line).ok().map(|record| record.at.month())
}

/// Reads a journal without locking it.
pub fn read(path: &Path) -> io::Result<(JournalState, Vec<Record>)> {
    let lines = AppendFile::open_read_only(path)?;
    let loaded = load(&lines)?;
    let records = lines_of(&lines.tail(u64::MAX)?).filter_map(|line| Record::parse(line).ok()).collect();
    Ok((loaded, records))
}

/// Returns the client processes of all sessions.
pub fn clients(store: &Store) -> Vec<Process> {
    let journals = all(store).into_iter().filter_map(|path| read(&path).ok());
    journals.filter_map(|(loaded, _)| loaded.session.about.client).collect()
}

/// Returns all journals of a store.
pub fn all(store: &Store) -> Vec<PathBuf> {
    let mut found = files_with_ending(&store.dir.join("journal"), "jsonl");
    found.extend(folders(&store.dir).iter().flat_map(|folder| files_with_ending(folder, "jsonl")));
    found
}

/// Returns the journal directory of a stage. A sandbox can deny a directory, but not a file that does not
/// exist yet.
pub fn folder(store: &Path, stage: &str) -> PathBuf {
    store.join(STAGES).join(stage)
}

/// Returns the journal directories of all stages.
pub fn folders(store: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(store.join(STAGES)).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// Returns the path of a journal. A session id is foreign text, so it is made a safe file name. A new session
/// starts where this store's sessions write.
pub fn path(store: &Store, id: &SessionId) -> PathBuf {
    let name = format!("{}.jsonl", stem(id));
    let plain = store.dir.join("journal").join(&name);
    if store.sessions != SessionSelection::Plain && fs::symlink_metadata(&plain).is_ok() {
        return plain;
    }
    match &store.sessions {
        SessionSelection::Plain => plain,
        SessionSelection::OfStage(stage) => folder(&store.dir, stage).join(name),
        SessionSelection::All => {
            let mut of_stages = folders(&store.dir).into_iter().map(|folder| folder.join(&name));
            of_stages.find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(plain)
        }
    }
}

pub fn stem(id: &SessionId) -> String {
    let text = id.as_str();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=128).contains(&text.len()) && !text.starts_with(['.', '-']) && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("x-{}", Digest::hash_parts([text]))
}

fn snapshot(id: Option<&SessionId>, at: Timestamp, session: &Session, events: u64) -> Record {
    let mut record = new_record::record(&SnapshotRecord::Taken(JournalSnapshot { events }), at, id, None);
    record.set = Some(session.whole());
    record
}

fn load(lines: &AppendFile) -> io::Result<JournalState> {
    let mut size = TAIL;
    loop {
        let tail = lines.tail(size)?;
        let extent = if tail.len() as u64 == lines.len { TailExtent::Whole } else { TailExtent::Part };
        if let Some(loaded) = fold(&tail, extent) {
            return Ok(loaded);
        }
        size = size.saturating_mul(4);
    }
}

/// Whether the bytes are the whole journal or its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TailExtent {
    Whole,
    Part,
}

/// Folds lines from the last snapshot. `None`: this part of the file has no snapshot.
fn fold(tail: &[u8], extent: TailExtent) -> Option<JournalState> {
    let mut loaded =
        JournalState { ends_whole: tail.last().is_none_or(|&last| last == b'\n'), ..JournalState::default() };
    let mut from = tail.len();
    for start in line_starts_backwards(tail, extent) {
        let line = trim(&tail[start..from]);
        from = start;
        if line.starts_with(SNAPSHOT) {
            match serde_json::from_slice::<StateLine<'_>>(line) {
                Ok(state) => {
                    loaded.events = state.body.events;
                    let mut parts = JournalParts::default();
                    parts.add(state.set);
                    return Some(fold_rest(loaded, parts, &tail[start + line.len()..]));
                }
                Err(_) => loaded.damage.push("a snapshot".to_owned()),
            }
        }
    }
    (extent == TailExtent::Whole).then(|| fold_rest(loaded, JournalParts::default(), tail))
}

fn fold_rest<'a>(mut loaded: JournalState, mut parts: JournalParts<'a>, rest: &'a [u8]) -> JournalState {
    // A last line without a line feed is from a killed writer. Its event was never answered, so this is not
    // damage.
    let end =
        if loaded.ends_whole { rest.len() } else { memchr::memrchr(b'\n', rest).map_or(0, |at| at + 1) };
    let rest = &rest[..end];
    let start = rest.as_ptr() as usize;
    let mut sets = memmem::find_iter(rest, SET).peekable();
    for line in lines_of(rest) {
        let line_end = line.as_ptr() as usize - start + line.len();
        let has_set = sets.next_if(|&at| at < line_end).is_some();
        while sets.next_if(|&at| at < line_end).is_some() {}
        loaded.since_snapshot += 1;
        if line.starts_with(SNAPSHOT) {
            continue;
        }
        loaded.events += 1;
        if !line.starts_with(OURS) {
            if line.starts_with(br#"{"v":"#) {
                loaded.is_newer = true
            } else {
                loaded.damage.push("a line".to_owned())
            }
        } else if line.last() != Some(&b'}') {
            loaded.damage.push("a torn line".to_owned());
        } else if has_set {
            match serde_json::from_slice::<SetLine<'_>>(line) {
                Ok(state) => parts.add(state.set),
                Err(_) => loaded.damage.push("a line that changes the state".to_owned()),
            }
        }
    }
    parts.read_into(&mut loaded);
    loaded
}

pub fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', bytes)
        .chain(std::iter::once(bytes.len()))
        .map(move |end| {
            let line = &bytes[start.min(end)..end];
            start = end + 1;
            line
        })
        .filter(|line| !line.is_empty())
}

/// Returns the starts of lines, last first. Leaves out the first line of a partial file, which may be cut.
fn line_starts_backwards(tail: &[u8], extent: TailExtent) -> impl Iterator<Item = usize> {
    let first = (extent == TailExtent::Whole).then_some(0);
    memrchr_iter(b'\n', tail).map(|at| at + 1).filter(|&at| at < tail.len()).chain(first)
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}
