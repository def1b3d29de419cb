//! The ledger of write leases: who wrote a file, and who writes it now. It has one small page for each file
//! that sessions of this clone write, changed under one lock. It keeps earlier contents by their hash.
//!
//! All of this may be lost: then a lease is forgotten, or a hunk is not shown. A killed process leaves a lock
//! that the system releases, and a lease that expires.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::gates::stale::content::{ContentHash, ShortHash};
use sprag_govern::gates::stale::facts::FileWriter;
use sprag_govern::gates::stale::file_access::WriteManner;

use crate::git;
use crate::store::{LOCK_WAIT, lock_within};
use crate::sys::disk::{self, Disk, open_regular};
use crate::sys::exec::read_capped;
use crate::sys::locations;

/// Time that a lease holds: about the time of a tool call.
pub(super) const CLAIM_MILLIS: i64 = 10_000;
/// Most remembered writes of one file.
const TURNS: usize = 16;
/// Most bytes of a page; Sprag writes no larger one.
const BYTES: u64 = 64 * 1024;
/// Most bytes of a kept content.
pub(super) const KEPT_BYTES: u64 = 1024 * 1024;
/// Most bytes of all contents and pages.
const ALL_BYTES: u64 = 64 * 1024 * 1024;
/// Most contents and pages.
const ALL_FILES: usize = 2000;
const OLD_SECONDS: u64 = 24 * 60 * 60;
/// Most lost updates of which both versions are kept.
const LOST: usize = 100;

/// Write leases of a clone.
pub(crate) struct Ledger<'a> {
    disk: &'a dyn Disk,
    dir: PathBuf,
    /// Lock that is held while this lives. Without it the ledger is read-only.
    lock: LedgerLock,
}

enum LedgerLock {
    Held(#[expect(dead_code, reason = "it is held, not used")] File),
    /// Another process holds the lock.
    Busy,
    /// No lock is possible: the directory is not writable.
    None,
}

/// The file of a content, and the worktree whose rules decide whether git ignores the file.
pub(super) struct KeptSource<'a> {
    pub worktree: Option<&'a Path>,
    pub real: &'a str,
}

impl KeptSource<'_> {
    fn may_copy(&self, text: &[u8]) -> bool {
        git::private::may_copy(self.worktree, Path::new(self.real), text)
    }
}

/// Writes of one file, in all worktrees, oldest first.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilePage {
    #[serde(default)]
    pub turns: Vec<WriteLease>,
}

/// One write of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WriteLease {
    /// Worktree of the file.
    pub root: String,
    pub session: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text<128>>,
    pub call: Text<128>,
    pub manner: WriteManner,
    /// Time of the lease.
    pub at: Timestamp,
    pub before: ContentBefore,
    /// Planned content, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<LeaseResult>,
}

/// Content before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ContentBefore {
    Absent,
    Text(ContentHash),
    /// A large file, known only by its stamp.
    Large,
}

impl ContentBefore {
    pub(super) fn content(self) -> Option<ContentHash> {
        match self {
            ContentBefore::Text(content) => Some(content),
            ContentBefore::Absent | ContentBefore::Large => None,
        }
    }

    pub(super) fn short(self) -> Option<ShortHash> {
        self.content().map(ContentHash::short)
    }

    /// Reports whether the file is unchanged. `None`: the file is gone.
    pub(super) fn is(self, after: Option<ContentHash>) -> bool {
        match self {
            ContentBefore::Absent => after.is_none(),
            ContentBefore::Text(content) => after == Some(content),
            ContentBefore::Large => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseResult {
    pub at: Timestamp,
    pub after: WriteResult,
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WriteResult {
    Absent,
    Text(ContentHash),
    /// Content from several writers, or a large file.
    Unclear,
}

impl WriteLease {
    pub(super) fn writer(&self) -> FileWriter {
        let at = self.done.as_ref().map_or(self.at, |done| done.at);
        FileWriter { session: self.session.clone(), agent: self.agent.clone(), at }
    }

    /// Reports whether the lease still excludes other writers. A distant time is invalid.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        self.done.is_none() && now.millis().saturating_sub(self.at.millis()).abs() < CLAIM_MILLIS
    }

    pub(super) fn seconds_left(&self, now: Timestamp) -> i64 {
        let millis = CLAIM_MILLIS.saturating_sub(now.millis().saturating_sub(self.at.millis()));
        millis.div_euclid(1000).clamp(1, CLAIM_MILLIS / 1000)
    }

    pub(super) fn became(&self) -> Option<ContentHash> {
        match self.done.as_ref()?.after {
            WriteResult::Text(content) => Some(content),
            WriteResult::Absent | WriteResult::Unclear => None,
        }
    }

    /// Reports whether the write changed the file, given its present content.
    pub(super) fn has_written(&self, now: Option<ContentHash>) -> bool {
        let after = match self.done.as_ref().map(|done| done.after) {
            Some(WriteResult::Absent) => return false,
            Some(WriteResult::Text(content)) => Some(content),
            // A write without a reported end wrote something if the content differs.
            Some(WriteResult::Unclear) | None => now,
        };
        after.is_some_and(|after| self.before != ContentBefore::Text(after))
    }

    /// Reports whether this write made the present content.
    pub(super) fn made(&self, content: ContentHash) -> bool {
        match &self.done {
            Some(done) => done.after == WriteResult::Text(content),
            None => self.planned == Some(content),
        }
    }
}

/// A file with its name in all worktrees of a clone, and its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeasedPath {
    pub root: String,
    path: String,
}

impl LeasedPath {
    /// Resolves a path; `common` is the git directory of the clone. A file outside the clone keeps its whole
    /// path.
    pub(super) fn resolve(real: &str, common: Option<&Path>) -> LeasedPath {
        let path = Path::new(real);
        let git = path.parent().and_then(locations::worktree_of);
        match git.filter(|(_, found)| Some(found.as_path()) == common) {
            Some((root, _)) => LeasedPath {
                path: path.strip_prefix(&root).unwrap_or(path).to_string_lossy().into_owned(),
                root: root.to_string_lossy().into_owned(),
            },
            None => LeasedPath { root: String::new(), path: real.to_owned() },
        }
    }
}

impl<'a> Ledger<'a> {
    /// Opens the ledger and tries to take the lock.
    pub(super) fn open(disk: &'a dyn Disk, store: &Path) -> Ledger<'a> {
        let dir = store.join("claims");
        let lock = disk.make_dirs(&dir.join("kept")).and_then(|()| lock(&dir));
        let lock = match lock {
            Ok(Some(file)) => LedgerLock::Held(file),
            Ok(None) => LedgerLock::Busy,
            Err(_) => LedgerLock::None,
        };
        Ledger { disk, dir, lock }
    }

    /// Opens the ledger without the lock, for reading.
    pub(super) fn to_look(disk: &'a dyn Disk, store: &Path) -> Ledger<'a> {
        Ledger { disk, dir: store.join("claims"), lock: LedgerLock::None }
    }

    pub(super) fn is_busy(&self) -> bool {
        matches!(self.lock, LedgerLock::Busy)
    }

    /// Reads the page of a file. An invalid page is empty.
    pub(super) fn page(&self, name: &LeasedPath) -> FilePage {
        let read = open_regular(&self.page_path(name)).and_then(|file| read_capped(file, BYTES + 1));
        let bytes = read.ok().filter(|bytes| bytes.len() as u64 <= BYTES).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Writes the page. Reports whether that succeeded.
    pub(super) fn put(&self, name: &LeasedPath, page: &mut FilePage) -> bool {
        if !matches!(self.lock, LedgerLock::Held(_)) {
            return false;
        }
        let over = page.turns.len().saturating_sub(TURNS);
        page.turns.drain(..over);
        let bytes = serde_json::to_vec(page).expect("a page is plain data with text keys");
        disk::replace_derived(self.disk, &self.page_path(name), &bytes).is_ok()
    }

    /// Keeps the content of a file, unless it is too large or the disk is full.
    /// Keeps only hashes of a file that git ignores or that looks secret.
    pub(super) fn keep(&self, source: &KeptSource<'_>, content: ContentHash, text: &[u8]) {
        let path = self.kept_path(content);
        let is_kept =
            text.len() as u64 > KEPT_BYTES || fs::symlink_metadata(&path).is_ok_and(|it| it.is_file());
        if !is_kept && matches!(self.lock, LedgerLock::Held(_)) && source.may_copy(text) {
            disk::replace_derived(self.disk, &path, text).discard("a text without room is not kept");
        }
    }

    /// Returns a kept content, if it matches its hash.
    pub(super) fn kept(&self, content: ContentHash) -> Option<Vec<u8>> {
        let text = read_capped(open_regular(&self.kept_path(content)).ok()?, KEPT_BYTES + 1).ok()?;
        (ContentHash::hash_bytes(&text) == content).then_some(text)
    }

    /// Returns a kept content by the short hash that a session remembers.
    pub(super) fn kept_by(&self, page: &FilePage, short: ShortHash) -> Option<Vec<u8>> {
        let known = page
            .turns
            .iter()
            .flat_map(|turn| [turn.before.content(), turn.planned, turn.became()].into_iter().flatten());
        known.filter(|content| content.short() == short).find_map(|content| self.kept(content))
    }

    /// Keeps both versions of a file for its writer to compare. Returns their paths.
    pub(super) fn keep_lost(
        &self,
        source: &KeptSource<'_>,
        planned: &[u8],
        found: &[u8],
        now: Timestamp,
    ) -> Option<[String; 2]> {
        if !source.may_copy(planned) || !source.may_copy(found) {
            return None;
        }
        let real = source.real;
        Some([self.put_aside(real, "planned", planned, now)?, self.put_aside(real, "found", found, now)?])
    }

    /// Keeps the content of another writer that was overwritten.
    pub(super) fn keep_theirs(&self, real: &str, theirs: ContentHash, now: Timestamp) -> Option<String> {
        self.put_aside(real, "theirs", &self.kept(theirs)?, now)
    }

    fn put_aside(&self, real: &str, what: &str, text: &[u8], now: Timestamp) -> Option<String> {
        let dir = self.dir.join("lost");
        self.disk.make_dirs(&dir).ok()?;
        if fs::read_dir(&dir).ok()?.take(2 * LOST).count() >= 2 * LOST {
            return None;
        }
        let name = Path::new(real).file_name()?.to_string_lossy().into_owned();
        let stem = format!("{}-{}", now.millis(), Digest::hash_parts([real]).short());
        let path = dir.join(format!("{stem}-{what}-{name}"));
        disk::replace_derived(self.disk, &path, text).ok()?;
        Some(path.to_string_lossy().into_owned())
    }

    fn page_path(&self, name: &LeasedPath) -> PathBuf {
        self.dir.join(format!("{}.json", Digest::hash_parts([&name.path])))
    }

    fn kept_path(&self, content: ContentHash) -> PathBuf {
        self.dir.join("kept").join(content.to_string())
    }
}

fn lock(dir: &Path) -> io::Result<Option<File>> {
    let flags =
        i32::try_from((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits()).unwrap_or(0);
    let file =
        File::options().create(true).append(true).mode(0o600).custom_flags(flags).open(dir.join("lock"))?;
    Ok(lock_within(&file, LOCK_WAIT)?.then_some(file))
}

/// Removes old pages and contents, and the oldest beyond the limits.
pub(crate) fn sweep(disk: &dyn Disk, store: &Path, now: SystemTime) -> io::Result<()> {
    let dir = store.join("claims");
    for dir in [dir.join("kept"), dir] {
        let mut files = Vec::new();
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if !found.is_dir() && entry.file_name() != "lock" {
                files.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), found.len(), entry.path()));
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        let (mut bytes, mut count) = (0u64, 0);
        for (modified, len, path) in files {
            bytes = bytes.saturating_add(len);
            count += 1;
            let age = now.duration_since(modified).map_or(0, |age| age.as_secs());
            if age > OLD_SECONDS || bytes > ALL_BYTES || count > ALL_FILES {
                disk.remove(&path)?;
            }
        }
    }
    Ok(())
}
