//! Tracks the files of a call: their state, their writers and their earlier content.
//!
//! A call that writes a file leases it for the time of the tool; other sessions wait. After the call, Sprag
//! records the new content and its writer. See `leases/ledger.rs`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_govern::decide::DecisionFacts;
use sprag_govern::event::{Event, Input, Presence};
use sprag_govern::gates::stale::content::ContentHash;
use sprag_govern::gates::stale::facts::{
    EditFit, FileFacts, FileKind, FileWriter, GuardLevel, LeaseState, OwnWrite, StaleFacts, WriteReport,
};
use sprag_govern::gates::stale::file_access::{FileAccess, FileUse, WriteManner};
use sprag_govern::gates::stale::read_set::ReadHistory;
use sprag_govern::gates::stale::{call_id, edits};
use sprag_govern::session_facts::SessionFacts;
use sprag_govern::verdict::Ruling;
use sprag_policy::call::{ToolCall, ToolOutcome};

use crate::sys::env::{self, Env};
use crate::sys::links::LinkResolver;
use crate::world::World;

mod changed_lines;
mod file;
mod guard;
mod ledger;

use file::ReadFile;
use ledger::{ContentBefore, FilePage, KeptSource, LeaseResult, LeasedPath, Ledger, WriteLease, WriteResult};

/// State of a file before a call wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileBefore {
    Absent,
    /// A large file has no text. A file known only by its stamp has no hash either.
    File {
        hash: Option<ContentHash>,
        text: Option<Vec<u8>>,
    },
}

/// Returns the state of a file before this call wrote it. `None`: Sprag did not read it. The state is kept
/// for about a day.
pub(crate) fn before(
    world: &World<'_>,
    session: &SessionId,
    call: &ToolCall,
    path: &str,
) -> Option<FileBefore> {
    let ledger = Ledger::to_look(world.disk, &world.places.store);
    let real = LinkResolver::default().path(path);
    let name = LeasedPath::resolve(&real, world.places.common.as_deref());
    let id = call_id(call);
    let page = ledger.page(&name);
    let is_it = |turn: &&WriteLease| turn.root == name.root && turn.session == *session && turn.call == id;
    let turn = page.turns.iter().rev().find(is_it)?;
    Some(match turn.before {
        ContentBefore::Absent => FileBefore::Absent,
        ContentBefore::Large => FileBefore::File { hash: None, text: None },
        ContentBefore::Text(hash) => FileBefore::File { hash: Some(hash), text: ledger.kept(hash) },
    })
}

/// Reads the files of a call that reads.
pub(crate) fn read_files(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    files: &[FileAccess],
) -> Option<StaleFacts> {
    let guard = guard::guard(world, session, input);
    // Without other sessions, the state before a read does not matter.
    if guard == GuardLevel::Off && matches!(input.event, Event::ToolRequested { .. }) {
        return Some(StaleFacts { guard, files: Vec::new() });
    }
    let mut followed = LinkResolver::default();
    let files = files.iter().map(|touch| read_file(touch.clone(), followed.path(&touch.path)));
    Some(StaleFacts { guard, files: files.collect() })
}

/// Reads the files of a call that writes. Leases files that the call will write, and settles files that it
/// has written. Without the lock of the ledger nothing is written, and a free file counts as leased.
pub(crate) fn lease_files(
    world: &World<'_>,
    input: &Input,
    session: &SessionFacts,
    files: &[FileAccess],
    history: &ReadHistory,
    mode: LeaseMode,
) -> Option<StaleFacts> {
    let (call, outcome) = match &input.event {
        Event::ToolRequested { call } => (call, None),
        Event::ToolFinished { call, outcome } => (call, Some(outcome)),
        _ => return None,
    };
    let guard = guard::guard(world, session, input);
    let ledger = match mode {
        LeaseMode::Take => Ledger::open(world.disk, &world.places.store),
        LeaseMode::Predict => Ledger::to_look(world.disk, &world.places.store),
    };
    let mut followed = LinkResolver::default();
    let now = now(world, input);
    let cx = LeaseContext { world, input, now, guard, history, call, outcome, ledger, mode };
    let files = files.iter().cloned().map(|touch| {
        let real = followed.path(&touch.path);
        match touch.how {
            FileUse::Reads(_) => read_file(touch, real),
            FileUse::Writes(manner) => cx.written(touch, real, manner),
        }
    });
    Some(StaleFacts { guard, files: files.collect() })
}

/// Whether leases are taken or only predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseMode {
    Take,
    Predict,
}

/// Releases the leases of a call that will not run.
pub(crate) fn release(world: &World<'_>, input: &Input, leases: &StaleFacts, ruling: &Ruling) {
    let is_refused = match ruling {
        Ruling::Hold { .. } => true,
        // No user is present to answer.
        Ruling::Ask { .. } => input.presence == Presence::Headless,
        Ruling::Pass | Ruling::Allow { .. } => false,
    };
    let (Event::ToolRequested { call }, true) = (&input.event, is_refused) else {
        return;
    };
    let ours: Vec<&FileFacts> = leases.files.iter().filter(|file| file.claim == LeaseState::Ours).collect();
    if ours.is_empty() {
        return;
    }
    let ledger = Ledger::open(world.disk, &world.places.store);
    let id = call_id(call);
    for file in ours {
        let name = LeasedPath::resolve(&file.real, world.places.common.as_deref());
        let mut page = ledger.page(&name);
        page.turns.retain(|turn| !(turn.done.is_none() && turn.session == input.session && turn.call == id));
        ledger.put(&name, &mut page);
    }
}

/// Reports whether a sweep is due: after a session starts or ends, and sometimes after a call.
pub(crate) fn is_due(input: &Input, facts: &DecisionFacts) -> bool {
    match &input.event {
        Event::SessionStarted { .. } | Event::SessionEnded { .. } => true,
        Event::ToolFinished { .. } => {
            let has_looked = facts.prepared.leases.is_some() || facts.answers.stale.is_some();
            has_looked && input.at.millis() % 64 == 0
        }
        _ => false,
    }
}

/// Removes old leases and contents.
pub(crate) fn sweep(world: &World<'_>, input: &Input) -> std::io::Result<()> {
    let now = Duration::from_millis(u64::try_from(input.at.millis()).unwrap_or(0));
    ledger::sweep(world.disk, &world.places.store, SystemTime::UNIX_EPOCH + now)
}

/// Returns the time of a lease, which may be long after its event, because a judge may answer in between.
fn now(world: &World<'_>, input: &Input) -> Timestamp {
    match world.env {
        Env::Real => env::now().max(input.at),
        Env::Given(_) => input.at,
    }
}

struct LeaseContext<'a> {
    world: &'a World<'a>,
    input: &'a Input,
    now: Timestamp,
    guard: GuardLevel,
    history: &'a ReadHistory,
    call: &'a ToolCall,
    outcome: Option<&'a ToolOutcome>,
    ledger: Ledger<'a>,
    mode: LeaseMode,
}

impl LeaseContext<'_> {
    fn written(&self, touch: FileAccess, real: String, manner: WriteManner) -> FileFacts {
        let looked =
            file::read_unless_known(Path::new(&real), |stamp| self.history.knows_stamp(&real, stamp));
        let name = LeasedPath::resolve(&real, self.world.places.common.as_deref());
        let mut page = self.ledger.page(&name);
        let mut file = plain(touch, real, looked.found);
        self.tell_writers(&mut file, &page, &name, &looked);
        match self.outcome {
            None => file.claim = self.claim(&mut page, &name, &file, manner, &looked),
            Some(_) => file.wrote = Some(self.settle(&mut page, &name, &file, manner, &looked)),
        }
        file
    }

    /// Finds the writers of a file, here and in other worktrees.
    fn tell_writers(&self, file: &mut FileFacts, page: &FilePage, name: &LeasedPath, looked: &ReadFile) {
        let me = FileWriter::from_input(self.input);
        let now = self.now;
        let is_recent = |turn: &WriteLease| now.seconds_since(turn.at).abs() < guard::LIVE_SECONDS;
        let content = looked.content();
        let here = || page.turns.iter().rev().filter(|turn| turn.root == name.root);
        let maker = content.and_then(|content| here().find(|turn| turn.made(content)));
        file.own = maker
            .filter(|turn| turn.writer().is(&me))
            .map(|turn| OwnWrite { before: turn.before.short(), manner: turn.manner });
        file.author = maker.map(WriteLease::writer);
        let is_others =
            |turn: &&WriteLease| !turn.writer().is(&me) && is_recent(turn) && turn.has_written(content);
        file.other = here().find(is_others).map(WriteLease::writer);
        let elsewhere = page
            .turns
            .iter()
            .rev()
            .find(|turn| turn.root != name.root && turn.session != self.input.session && is_recent(turn));
        file.elsewhere = elsewhere.map(|turn| (turn.writer(), turn.root.clone()));
        let seen = self.history.seen(&file.real).map(|entry| entry.content);
        if let (None, Some(seen), Some(now)) = (self.outcome, seen, &looked.text)
            && content.is_some_and(|content| content.short() != seen)
        {
            file.hunk = self.ledger.kept_by(page, seen).and_then(|then| changed_lines::between(&then, now));
        }
    }

    fn claim(
        &self,
        page: &mut FilePage,
        name: &LeasedPath,
        file: &FileFacts,
        manner: WriteManner,
        looked: &ReadFile,
    ) -> LeaseState {
        let (me, now) = (FileWriter::from_input(self.input), self.now);
        let theirs = page
            .turns
            .iter()
            .find(|turn| turn.root == name.root && turn.is_open(now) && !turn.writer().is(&me));
        if let Some(turn) = theirs {
            return LeaseState::Theirs { by: turn.writer(), seconds: turn.seconds_left(now) };
        }
        if self.ledger.is_busy() {
            return LeaseState::Busy;
        }
        let before = match (looked.found, looked.content()) {
            (FileKind::File(_), Some(content)) => ContentBefore::Text(content),
            (FileKind::File(_), None) => ContentBefore::Large,
            (FileKind::Absent, _) => ContentBefore::Absent,
            // The path is not a writable file.
            (FileKind::Directory | FileKind::Odd | FileKind::Unknown, _) => return LeaseState::None,
        };
        if let (ContentBefore::Text(content), Some(text)) = (before, &looked.text) {
            self.ledger.keep(&self.source(&file.real), content, text);
        }
        let planned = edits::planned(self.call, &file.touch.named, looked.text.as_deref());
        let call = call_id(self.call);
        page.turns.retain(|turn| !(turn.done.is_none() && turn.writer().is(&me) && turn.call == call));
        page.turns.push(WriteLease {
            root: name.root.clone(),
            session: me.session,
            agent: me.agent,
            call,
            manner,
            at: now,
            before,
            planned: planned.as_deref().map(ContentHash::hash_bytes),
            done: None,
        });
        let is_ours = self.mode == LeaseMode::Predict || self.ledger.put(name, page);
        if is_ours { LeaseState::Ours } else { LeaseState::None }
    }

    /// Records the result of a write.
    fn settle(
        &self,
        page: &mut FilePage,
        name: &LeasedPath,
        file: &FileFacts,
        manner: WriteManner,
        looked: &ReadFile,
    ) -> WriteReport {
        let (me, id) = (FileWriter::from_input(self.input), call_id(self.call));
        let is_it = |turn: &WriteLease| {
            turn.root == name.root && turn.done.is_none() && turn.writer().is(&me) && turn.call == id
        };
        let at = page.turns.iter().position(is_it);
        let after = looked.content();
        let Some(at) = at else {
            // Sprag did not read the file before; the planned content of a whole write is known anyway.
            return WriteReport { before: None, fit: self.fit_without(file, manner, looked) };
        };
        let before = page.turns[at].before;
        let base = before.content().and_then(|content| self.ledger.kept(content));
        let is_base_known = before == ContentBefore::Absent || base.is_some();
        let is_others = |turn: &WriteLease| turn.root == name.root && !turn.writer().is(&me);
        let overtaken = page.turns[at + 1..].iter().rev().find(|turn| is_others(turn));
        let planned =
            is_base_known.then(|| edits::planned(self.call, &file.touch.named, base.as_deref())).flatten();
        let fit = match (&planned, &looked.text) {
            // The content may be its own, but it replaced the content of another writer.
            _ if overtaken.is_some() && !before.is(after) => {
                let theirs = overtaken.and_then(WriteLease::became).filter(|theirs| Some(*theirs) != after);
                EditFit::Shared {
                    kept: theirs.and_then(|theirs| self.ledger.keep_theirs(&file.real, theirs, self.now)),
                }
            }
            (Some(planned), Some(text)) if edits::is_as_planned(&file.touch.named, planned, text) => {
                EditFit::Planned
            }
            // The write did not happen, or its effect is unknown.
            _ if before.is(after) => EditFit::Unknown,
            (Some(planned), text) => {
                let found = text.as_deref().unwrap_or_default();
                let kept = (self.guard != GuardLevel::Off && !self.has_failed())
                    .then(|| self.ledger.keep_lost(&self.source(&file.real), planned, found, self.input.at))
                    .flatten();
                EditFit::Unplanned { kept }
            }
            (None, _) => EditFit::Alone,
        };
        if let (Some(content), Some(text)) = (after, &looked.text) {
            // A session that saw this version can later see the changes after it.
            self.ledger.keep(&self.source(&file.real), content, text);
        }
        let became = match (&fit, looked.found, after) {
            (EditFit::Planned | EditFit::Alone, FileKind::File(_), Some(content)) => {
                WriteResult::Text(content)
            }
            (EditFit::Planned | EditFit::Alone, FileKind::Absent, _) => WriteResult::Absent,
            _ => WriteResult::Unclear,
        };
        page.turns[at].done = Some(LeaseResult { at: self.now, after: became });
        self.ledger.put(name, page);
        WriteReport { before: before.short(), fit }
    }

    fn fit_without(&self, file: &FileFacts, manner: WriteManner, looked: &ReadFile) -> EditFit {
        let planned =
            edits::planned(self.call, &file.touch.named, None).filter(|_| manner == WriteManner::Overwrite);
        match (planned, &looked.text) {
            (Some(planned), Some(text)) if edits::is_as_planned(&file.touch.named, &planned, text) => {
                EditFit::Planned
            }
            _ => EditFit::Unknown,
        }
    }

    fn source<'b>(&'b self, real: &'b str) -> KeptSource<'b> {
        KeptSource { worktree: self.world.places.worktree.as_deref(), real }
    }

    fn has_failed(&self) -> bool {
        matches!(self.outcome, Some(ToolOutcome::Failed { .. } | ToolOutcome::Launched))
    }
}

/// Reads a file of a read call, before and after it. If the file is unchanged, the agent saw this content.
fn read_file(touch: FileAccess, real: String) -> FileFacts {
    let found = file::read_unless_known(Path::new(&real), |_| false).found;
    plain(touch, real, found)
}

fn plain(touch: FileAccess, real: String, found: FileKind) -> FileFacts {
    FileFacts {
        touch,
        real,
        found,
        claim: LeaseState::None,
        author: None,
        own: None,
        other: None,
        hunk: None,
        elsewhere: None,
        wrote: None,
    }
}

#[cfg(test)]
mod tests;
