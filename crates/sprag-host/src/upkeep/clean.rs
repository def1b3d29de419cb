//! Removes journals whose events are in the log, with their baselines, unused tree objects, leftovers of
//! killed processes, and records of ended processes. Records of the log are never removed.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use sprag_base::ids::SessionId;
use sprag_base::record::{Record, RecordAuthor};
use sprag_base::time::Timestamp;
use sprag_govern::obligation::records::DebtRecord;
use sprag_govern::obligation::{Debt, DebtCause};
use sprag_govern::session::Session;

use crate::store::journal::{self, Journal};
use crate::store::{Store, new_record, session_registry};
use crate::sys::disk::{self, Disk};
use crate::sys::human;
use crate::sys::locations::Locations;
use crate::worktree::{baseline, tree_hash};

/// Removable items.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Sessions without an event since the given time.
    pub sessions: Vec<SessionId>,
    /// Files of processes that were killed while they wrote.
    pub leftovers: Vec<PathBuf>,
    /// Baselines of sessions without a journal.
    pub starts: Vec<PathBuf>,
    /// Cached tree objects.
    pub objects: Vec<PathBuf>,
}

/// Counts of removed items.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    pub journals: usize,
    pub moved_records: usize,
    pub debts: usize,
    pub leftovers: usize,
    pub starts: usize,
    pub objects: usize,
    pub processes: usize,
}

impl Sweep {
    pub fn is_empty(&self) -> bool {
        let Sweep { sessions, leftovers, starts, objects } = self;
        sessions.is_empty() && leftovers.is_empty() && starts.is_empty() && objects.is_empty()
    }
}

pub fn plan_sweep(places: &Locations, before: Timestamp) -> io::Result<Sweep> {
    let store = Store::at(&places.store);
    let mut sweep = Sweep::default();
    for path in journal::all(&store) {
        let (_, records) = journal::read(&path)?;
        if let Some(last) = records.last()
            && last.at < before
            && let Some(id) = &last.session
        {
            sweep.sessions.push(id.clone());
        }
    }
    for dir in ["journal", "cache", "outbox", "log", "crash", "claims", "claims/kept", "claims/lost"] {
        let entries = fs::read_dir(store.dir.join(dir)).into_iter().flatten().flatten();
        sweep.leftovers.extend(entries.map(|entry| entry.path()).filter(|path| is_leftover(path)));
    }
    sweep.starts = baseline::orphans(&store, before);
    sweep.objects = tree_hash::old_objects(&store, before);
    Ok(sweep)
}

/// Reports whether a path is a temporary file `.PID.NAME` of an ended process.
fn is_leftover(path: &std::path::Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let pid = name
        .strip_prefix('.')
        .and_then(|rest| rest.split('.').next())
        .and_then(|pid| pid.parse::<i32>().ok());
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

pub fn sweep(
    places: &Locations,
    disk: &dyn Disk,
    found: &Sweep,
    before: Timestamp,
    now: Timestamp,
) -> io::Result<CleanReport> {
    let store = Store::at(&places.store);
    let mut swept = CleanReport::default();
    for id in &found.sessions {
        let journal = Journal::open(&store, disk, id, Duration::from_secs(2))?;
        // The session may have become active again meanwhile.
        let is_idle = journal.last_at()?.is_none_or(|last| last < before);
        if !journal.is_locked() || journal.loaded.is_newer || !is_idle {
            continue;
        }
        swept.debts += settle(&store, disk, id, &journal.loaded.session, now)?;
        swept.moved_records += journal.retire(&store, disk)?;
        baseline::forget(&store, disk, id)?;
        session_registry::forget(places, disk, id)?;
        swept.journals += 1;
    }
    for path in &found.leftovers {
        disk.remove(path)?;
        swept.leftovers += 1;
    }
    for dir in &found.starts {
        disk::remove_all(disk, dir, 0)?;
        swept.starts += 1;
    }
    for path in &found.objects {
        disk.remove(path)?;
        swept.objects += 1;
    }
    if let Some(user) = &places.user {
        swept.processes = human::sweep(user, disk)?;
    }
    Ok(swept)
}

/// Opens debts for the open obligations of a session that never reported its end.
fn settle(
    store: &Store,
    disk: &dyn Disk,
    id: &SessionId,
    session: &Session,
    now: Timestamp,
) -> io::Result<usize> {
    let by = RecordAuthor::reporter();
    let debts: Vec<Record> = session
        .stops
        .owed
        .iter()
        .filter(|owed| !session.stops.released.iter().any(|let_go| let_go.digest == owed.obligation.digest))
        .map(|owed| {
            Debt::new(owed.gate.as_str(), &owed.obligation, id, &session.about.root, DebtCause::Ended, now)
        })
        .map(|debt| new_record::record(&DebtRecord::Opened(debt), now, Some(id), Some(by.clone())))
        .collect();
    store.log(disk, &debts)?;
    Ok(debts.len())
}
