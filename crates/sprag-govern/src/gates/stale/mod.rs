//! Prevents lost updates: if a file changed since the session read it, the session must read it again before
//! it writes.
//!
//! The read set holds the versions that a session has read. Before a write Sprag leases the file and compares
//! it with the read set. After the write it compares the result with the planned content.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::settings::{SettingKey as Setting, SettingSection, Tighten};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::{ToolCall, ToolOutcome};

use crate::event::{Actor, Event, Input};
use crate::facts::SharedFacts;
use crate::gates::before::Before;
use crate::gates::{Ask, Gate, GateCx};
use crate::reason::Reason;
use crate::verdict::Vote;

mod codex_patch;
pub mod content;
pub mod edits;
pub mod facts;
pub mod file_access;
mod messages;
mod notebook;
pub mod read_set;

#[cfg(test)]
mod tests;

use facts::{EditFit, FileFacts, FileKind, FileVersionFact, GuardLevel, LeaseState, StaleFacts, WriteReport};
use file_access::{FileAccess, FileUse, ReadExtent, WriteManner};
use read_set::{ABSENT, Coverage, ReadEntry, ReadHistory, ReadKey, ReadSet};

/// The gate stores encoded texts, because most events do not need their content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StaleGate {
    /// The read set.
    #[serde(skip_serializing_if = "String::is_empty")]
    seen: String,
    /// Files that are being read, with their version at the start of the read.
    #[serde(skip_serializing_if = "String::is_empty")]
    open: String,
    /// The time when git last moved the whole tree for this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: StaleMode,
}

/// When Sprag refuses a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleMode {
    Off,
    /// In stages, and in repositories with intents or other active sessions.
    #[default]
    Auto,
    Always,
}

/// Maximum bytes of command output that a client shows.
const PRINTED_BYTES: u64 = 30_000;

/// Asks for the state of files that a call reads. Files that it writes are leased.
pub struct Question {
    pub files: Vec<FileAccess>,
}

impl Gate for StaleGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<StaleFacts>;

    const ABOUT: &'static str = "refuses a write to a file that changed since the session read it";
    const SECTION: SettingSection = SettingSection {
        name: "stale",
        defaults: "\
# Writes to files that changed since the session read them.
[stale]
# Refuse such writes: `auto` (in stages of a plan, and where there are intents or other active sessions),
# `always`, or `off`.
mode = \"auto\"
",
        keys: &[Setting { name: "mode", tighten: Tighten::Ranked(&["off", "auto", "always"]) }],
    };

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        let files = accessed_files(ask);
        (!files.is_empty() && !is_writing(&files)).then_some(Question { files })
    }

    fn before(&self, ask: &Ask<'_, Settings>, actions: &mut Vec<Before>) {
        let files = accessed_files(ask);
        if is_writing(&files) {
            let history = ReadHistory::new(&self.seen, agent(ask.input));
            actions.push(Before::LeaseFiles { files, history });
        }
    }

    fn step(&mut self, cx: &mut GateCx<'_, StaleGate>) -> Vote {
        if cx.settings.mode == StaleMode::Off {
            return Vote::Pass;
        }
        let seen = cx.prepared.leases.as_ref().or(cx.answer.as_ref());
        match &cx.input.event {
            Event::ToolRequested { call } => {
                seen.map_or(Vote::Pass, |seen| self.requested(seen, call, cx.input))
            }
            Event::ToolFinished { call, outcome } => {
                let note = seen.map_or(Vote::Pass, |seen| self.finished(seen, call, outcome, cx.input));
                self.follow_git(call, outcome, cx.input);
                note
            }
            _ => Vote::Pass,
        }
    }
}

impl StaleGate {
    fn requested(&mut self, seen: &StaleFacts, call: &ToolCall, input: &Input) -> Vote {
        if seen.guard == GuardLevel::Off {
            return self.requested_alone(seen, input);
        }
        let mut known = ReadSet::parse(&self.seen);
        let mut open = ReadSet::parse(&self.open);
        let mut notes = Vec::new();
        for file in &seen.files {
            match file.touch.how {
                FileUse::Reads(_) => {
                    let began = began_with(file.found);
                    open.put(ReadEntry::new(open_key(call, file), began, Coverage::Lines(0)));
                }
                FileUse::Writes(manner) => match self.judge(seen.guard, &known, file, manner, input) {
                    StaleJudgement::Pass => {}
                    StaleJudgement::Note(note) => notes.push(note),
                    StaleJudgement::Hold(reason) => return Vote::Hold(reason),
                },
            }
            let told = ReadKey::new("elsewhere", agent(input), &file.real);
            if let (Some((who, root)), FileUse::Writes(_), None) =
                (&file.elsewhere, file.touch.how, known.get(told))
            {
                notes.push(messages::elsewhere(file, who, root));
                known.put(ReadEntry::new(told, ABSENT, Coverage::Lines(0)));
            }
        }
        self.seen = known.to_string();
        self.open = open.to_string();
        as_note(&notes)
    }

    /// Judges a call without other live sessions. A session that has ended may have written a file since this
    /// one read it.
    fn requested_alone(&self, seen: &StaleFacts, input: &Input) -> Vote {
        let is_foreign = |file: &&FileFacts| {
            let writer = file.author.as_ref().or(file.other.as_ref());
            writer.is_some_and(|writer| writer.session != input.session)
        };
        let mut written = seen.files.iter().filter(is_foreign).peekable();
        if written.peek().is_none() {
            return Vote::Pass;
        }
        let known = ReadSet::parse(&self.seen);
        let held = written.find_map(|file| match file.touch.how {
            FileUse::Writes(manner) if find(&known, input, &file.real).is_some() => {
                match self.judge(seen.guard, &known, file, manner, input) {
                    StaleJudgement::Hold(reason) => Some(reason),
                    StaleJudgement::Pass | StaleJudgement::Note(_) => None,
                }
            }
            FileUse::Writes(_) | FileUse::Reads(_) => None,
        });
        held.map_or(Vote::Pass, Vote::Hold)
    }

    fn judge(
        &self,
        guard: GuardLevel,
        known: &ReadSet,
        file: &FileFacts,
        manner: WriteManner,
        input: &Input,
    ) -> StaleJudgement {
        let entry = find(known, input, &file.real);
        let version = match file.found {
            FileKind::Odd => return StaleJudgement::Hold(messages::odd(file)),
            FileKind::Directory | FileKind::Unknown => return claimed(file, input),
            FileKind::Absent => {
                let is_gone =
                    entry.is_some_and(|entry| entry.content != ABSENT) && manner != WriteManner::Remove;
                return match claimed(file, input) {
                    StaleJudgement::Pass if is_gone => StaleJudgement::Note(messages::gone(file)),
                    judgement => judgement,
                };
            }
            FileKind::File(version) => version,
        };
        if manner == WriteManner::Append {
            return claimed(file, input);
        }
        let coverage = match (&entry, &file.own) {
            (Some(entry), _) if self.is_same(known, entry, file, &version, input) => Some(entry.coverage),
            // Its own earlier write, whose end was not reported.
            (_, Some(own)) if own.manner == WriteManner::Overwrite || own.before.is_none() => {
                Some(Coverage::Full)
            }
            (Some(entry), Some(own)) if own.before == Some(entry.content) => Some(entry.coverage),
            (Some(_), _) => return StaleJudgement::Hold(messages::stale(file, input)),
            (None, _) => None,
        };
        let destroys = matches!(manner, WriteManner::Overwrite | WriteManner::Remove);
        match coverage {
            Some(Coverage::Full) => {}
            _ if destroys && file.other.is_some() => {
                return StaleJudgement::Hold(messages::unseen(file, input));
            }
            _ if manner == WriteManner::Overwrite && guard == GuardLevel::Intents => {
                return StaleJudgement::Hold(messages::unread(file, coverage));
            }
            _ => {}
        }
        claimed(file, input)
    }

    fn is_same(
        &self,
        known: &ReadSet,
        entry: &ReadEntry,
        file: &FileFacts,
        version: &FileVersionFact,
        input: &Input,
    ) -> bool {
        let has_stamp = || {
            let stamp = known.get(ReadKey::new("stamp", agent(input), &file.real));
            version.content.is_none() && stamp.is_some_and(|stamp| stamp.content == version.stamp)
        };
        // Git wrote this content, unless an agent wrote the file since then.
        let is_moved = entry.is_loose
            && file.author.is_none()
            && self.moved.is_some_and(|moved| version.changed <= moved);
        entry.content == version.id() || has_stamp() || is_moved
    }

    fn finished(&mut self, seen: &StaleFacts, call: &ToolCall, outcome: &ToolOutcome, input: &Input) -> Vote {
        let mut known = ReadSet::parse(&self.seen);
        let mut open = ReadSet::parse(&self.open);
        let mut notes = Vec::new();
        for file in &seen.files {
            match file.touch.how {
                FileUse::Reads(part) => {
                    let began = open.take(open_key(call, file)).map(|entry| entry.content);
                    note_read(&mut known, file, part, began, seen.guard, outcome, input);
                }
                FileUse::Writes(manner) => {
                    let is_lost = note_write(&mut known, file, manner, outcome, input);
                    if is_lost && seen.guard != GuardLevel::Off {
                        notes.push(messages::lost(file));
                    }
                }
            }
        }
        self.seen = known.to_string();
        self.open = open.to_string();
        as_note(&notes)
    }

    /// Marks the read set as loose after git moved the tree for this session, because the session knows of
    /// the change.
    fn follow_git(&mut self, call: &ToolCall, outcome: &ToolOutcome, input: &Input) {
        let failed = matches!(outcome, ToolOutcome::Failed { .. });
        if self.seen.is_empty() || failed || !file_access::moves_tree(call, input) {
            return;
        }
        let mut known = ReadSet::parse(&self.seen);
        known.loosen();
        self.seen = known.to_string();
        self.moved = Some(input.at);
    }
}

enum StaleJudgement {
    Pass,
    Note(String),
    Hold(Reason),
}

/// Returns the judgement of the write lease, for a write that destroys no unread content.
fn claimed(file: &FileFacts, input: &Input) -> StaleJudgement {
    match &file.claim {
        LeaseState::None | LeaseState::Ours => StaleJudgement::Pass,
        LeaseState::Theirs { by, seconds } => {
            StaleJudgement::Hold(messages::in_progress(file, by, *seconds, input))
        }
        LeaseState::Busy => StaleJudgement::Hold(messages::busy(file)),
    }
}

fn find(known: &ReadSet, input: &Input, real: &str) -> Option<ReadEntry> {
    known.find(agent(input), real).copied()
}

fn accessed_files(ask: &Ask<'_, Settings>) -> Vec<FileAccess> {
    match &ask.input.event {
        Event::ToolRequested { call } | Event::ToolFinished { call, .. }
            if ask.settings.mode != StaleMode::Off && file_access::may_touch(call) =>
        {
            file_access::touches(call, ask.input)
        }
        _ => Vec::new(),
    }
}

fn is_writing(files: &[FileAccess]) -> bool {
    files.iter().any(|file| matches!(file.how, FileUse::Writes(_)))
}

fn agent(input: &Input) -> &str {
    match &input.actor {
        Actor::Main => "",
        Actor::Subagent { id, .. } => id.as_str(),
    }
}

fn open_key(call: &ToolCall, file: &FileFacts) -> ReadKey {
    ReadKey::new("open", call_id(call).as_str(), &file.real)
}

/// Returns the version of a file at the start of a read. The stamp reveals a change and its reversal; the
/// content reveals a change that is too quick for file times.
fn began_with(found: FileKind) -> content::ShortHash {
    match found {
        FileKind::File(version) => {
            let mut both = version.stamp;
            both.iter_mut()
                .zip(version.id())
                .for_each(|(stamp, content)| *stamp = stamp.wrapping_add(content));
            both
        }
        FileKind::Absent | FileKind::Directory | FileKind::Odd | FileKind::Unknown => ABSENT,
    }
}

fn note_read(
    known: &mut ReadSet,
    file: &FileFacts,
    part: ReadExtent,
    began: Option<content::ShortHash>,
    guard: GuardLevel,
    outcome: &ToolOutcome,
    input: &Input,
) {
    let version = match file.found {
        FileKind::File(version) if !matches!(outcome, ToolOutcome::Failed { .. }) => version,
        FileKind::Absent => {
            known.put(ReadEntry::new(ReadKey::new("", agent(input), &file.real), ABSENT, Coverage::Full));
            return;
        }
        FileKind::File(_) | FileKind::Directory | FileKind::Odd | FileKind::Unknown => return,
    };
    // The file changed during the read, so the version that the agent saw is unknown.
    if began.is_some_and(|began| began != began_with(file.found)) {
        return;
    }
    let before = find(known, input, &file.real).filter(|entry| entry.content == version.id());
    let from_start = match before.map(|entry| entry.coverage) {
        Some(Coverage::Full) => u32::MAX,
        Some(Coverage::Lines(lines)) => lines,
        None => 0,
    };
    let read = match part {
        ReadExtent::Lines { from, count } if from <= from_start.saturating_add(1) => {
            from_start.max((from - 1).saturating_add(count))
        }
        ReadExtent::Printed if version.bytes <= PRINTED_BYTES => u32::MAX,
        ReadExtent::Lines { .. } | ReadExtent::Printed | ReadExtent::Some => from_start,
    };
    // Another session appeared during the read and may have changed the file.
    let is_sure = guard == GuardLevel::Off || began.is_some();
    let coverage = if read >= version.lines && is_sure && read > 0 {
        Coverage::Full
    } else {
        Coverage::Lines(read.min(version.lines))
    };
    let coverage = if is_sure { coverage } else { Coverage::Lines(0) };
    put(known, file, &version, coverage, input);
}

fn put(known: &mut ReadSet, file: &FileFacts, version: &FileVersionFact, coverage: Coverage, input: &Input) {
    known.put(ReadEntry::new(ReadKey::new("", agent(input), &file.real), version.id(), coverage));
    if version.bytes > LARGE {
        let key = ReadKey::new("stamp", agent(input), &file.real);
        known.put(ReadEntry::new(key, version.stamp, Coverage::Lines(0)));
    }
}

/// Bytes above which Sprag compares the stamp of a file first.
pub const LARGE: u64 = 8 * 1024 * 1024;

/// Updates the read set after a write. Reports whether the write collided with another one.
fn note_write(
    known: &mut ReadSet,
    file: &FileFacts,
    manner: WriteManner,
    outcome: &ToolOutcome,
    input: &Input,
) -> bool {
    let Some(WriteReport { before, fit }) = &file.wrote else {
        return false;
    };
    let failed = matches!(outcome, ToolOutcome::Failed { .. } | ToolOutcome::Launched);
    let is_own = match fit {
        EditFit::Planned => true,
        EditFit::Alone => !failed,
        EditFit::Shared { .. } | EditFit::Unknown => false,
        EditFit::Unplanned { .. } => return !failed,
    };
    let key = ReadKey::new("", agent(input), &file.real);
    match file.found {
        FileKind::File(version) if is_own => {
            let entry = find(known, input, &file.real).filter(|entry| Some(entry.content) == *before);
            let coverage = match (manner, before) {
                (WriteManner::Overwrite, _) | (_, None) => Coverage::Full,
                // Adding to a file does not show its other content.
                _ => entry.map_or(Coverage::Lines(0), |entry| entry.coverage),
            };
            put(known, file, &version, coverage, input);
        }
        FileKind::Absent if is_own => known.put(ReadEntry::new(key, ABSENT, Coverage::Full)),
        FileKind::File(_) | FileKind::Absent | FileKind::Directory | FileKind::Odd | FileKind::Unknown => {}
    }
    // Another agent had the lease during this call, and the planned result is unknown.
    matches!(fit, EditFit::Shared { .. }) && !failed
}

fn as_note(notes: &[String]) -> Vote {
    if notes.is_empty() { Vote::Pass } else { Vote::Note(Text::new(notes.join("\n"))) }
}

/// Returns the id that joins the request of a call with its end.
pub fn call_id(call: &ToolCall) -> Text<128> {
    let without_id =
        || Text::new(Digest::hash_parts([call.name.as_str(), call.summary().as_str()]).to_string());
    call.id.clone().unwrap_or_else(without_id)
}
