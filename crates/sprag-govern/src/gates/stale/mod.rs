//! No write destroys what its writer has not seen: a file that is not as the session saw it is read again first.
//!
//! What a session has seen is its read set. A write is compared with it before it is made, while the file is
//! claimed for it, and with what it should have become afterwards.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::settings::{Key as Setting, Section, Tighten};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::{Outcome, ToolCall};

use crate::event::{Actor, Event, Input};
use crate::gates::needs::Needs;
use crate::gates::{Asked, Cx, Gate};
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

use facts::{Claim, File, Fit, Found, Guard, Seen, Version, Wrote};
use file_access::{How, Manner, Part};
use read_set::{ABSENT, Coverage, Entry, Key, ReadSet};

/// Texts rather than what they say: most events of a session do not look into them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stale {
    /// The read set.
    #[serde(skip_serializing_if = "String::is_empty")]
    seen: String,
    /// Files that are being read, as they were when that began.
    #[serde(skip_serializing_if = "String::is_empty")]
    open: String,
    /// When git last moved the whole tree for this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
}

/// When a write is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Off,
    /// Where there are intents or other sessions at work, and in stages.
    #[default]
    Auto,
    Always,
}

/// Characters of a command's output that a client shows.
const PRINTED_BYTES: u64 = 30_000;

impl Gate for Stale {
    type Policy = Policy;

    const ABOUT: &'static str =
        "a file that changed since the session saw it is read again before it is written";
    const SECTION: Section = Section {
        name: "stale",
        defaults: "\
# Writes to files that changed since the session saw them.
[stale]
# They are refused: `auto` where there are intents or other sessions at work and in stages of a
# plan, `always`, or `off`.
mode = \"auto\"
",
        keys: &[Setting { name: "mode", tighten: Tighten::Ranked(&["off", "auto", "always"]) }],
    };

    fn needs(&self, asked: &Asked<'_, Policy>) -> Needs {
        match &asked.input.event {
            Event::ToolRequested { call } | Event::ToolFinished { call, .. }
                if asked.policy.mode != Mode::Off
                    && file_access::may_touch(call)
                    && !file_access::touches(call, asked.input).is_empty() =>
            {
                Needs::SEEN
            }
            _ => Needs::NONE,
        }
    }

    fn step(&mut self, cx: &mut Cx<'_, Policy>) -> Vote {
        if cx.policy.mode == Mode::Off {
            return Vote::Pass;
        }
        let seen = cx.facts.seen.as_ref();
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

impl Stale {
    /// What this session, as far as this agent of it goes, last saw of a file.
    pub fn seen(&self, input: &Input, real: &str) -> Option<Entry> {
        find(&ReadSet::parse(&self.seen), input, real)
    }

    /// Whether a large file has the stamp it had when it was last looked at.
    pub fn knows_stamp(&self, input: &Input, real: &str, stamp: content::Short) -> bool {
        let known = ReadSet::parse(&self.seen);
        known.get(Key::new("stamp", agent(input), real)).is_some_and(|entry| entry.content == stamp)
    }

    fn requested(&mut self, seen: &Seen, call: &ToolCall, input: &Input) -> Vote {
        if seen.guard == Guard::Off {
            return Vote::Pass;
        }
        let mut known = ReadSet::parse(&self.seen);
        let mut open = ReadSet::parse(&self.open);
        let mut notes = Vec::new();
        for file in &seen.files {
            match file.touch.how {
                How::Reads(_) => {
                    let began = began_with(file.found);
                    open.put(Entry::new(open_key(call, file), began, Coverage::Lines(0)));
                }
                How::Writes(manner) => match self.judge(seen.guard, &known, file, manner, input) {
                    Judgement::Pass => {}
                    Judgement::Note(note) => notes.push(note),
                    Judgement::Hold(reason) => return Vote::Hold(reason),
                },
            }
            let told = Key::new("elsewhere", agent(input), &file.real);
            if let (Some((who, root)), How::Writes(_), None) =
                (&file.elsewhere, file.touch.how, known.get(told))
            {
                notes.push(messages::elsewhere(file, who, root));
                known.put(Entry::new(told, ABSENT, Coverage::Lines(0)));
            }
        }
        self.seen = known.to_string();
        self.open = open.to_string();
        as_note(&notes)
    }

    fn judge(&self, guard: Guard, known: &ReadSet, file: &File, manner: Manner, input: &Input) -> Judgement {
        let entry = find(known, input, &file.real);
        let version = match file.found {
            Found::Odd => return Judgement::Hold(messages::odd(file)),
            Found::Directory | Found::Unknown => return claimed(file, input),
            Found::Absent => {
                let is_gone = entry.is_some_and(|entry| entry.content != ABSENT) && manner != Manner::Remove;
                return match claimed(file, input) {
                    Judgement::Pass if is_gone => Judgement::Note(messages::gone(file)),
                    judgement => judgement,
                };
            }
            Found::File(version) => version,
        };
        if manner == Manner::Append {
            return claimed(file, input);
        }
        let coverage = match (&entry, &file.own) {
            (Some(entry), _) if self.is_same(known, entry, file, &version, input) => Some(entry.coverage),
            // Its own writing, of which nobody told how it ended.
            (_, Some(own)) if own.manner == Manner::Overwrite || own.before.is_none() => Some(Coverage::Full),
            (Some(entry), Some(own)) if own.before == Some(entry.content) => Some(entry.coverage),
            (Some(_), _) => return Judgement::Hold(messages::stale(file, input)),
            (None, _) => None,
        };
        let destroys = matches!(manner, Manner::Overwrite | Manner::Remove);
        match coverage {
            Some(Coverage::Full) => {}
            _ if destroys && file.other.is_some() => return Judgement::Hold(messages::unseen(file, input)),
            _ if manner == Manner::Overwrite && guard == Guard::Intents => {
                return Judgement::Hold(messages::unread(file, coverage.is_some()));
            }
            _ => {}
        }
        claimed(file, input)
    }

    fn is_same(&self, known: &ReadSet, entry: &Entry, file: &File, version: &Version, input: &Input) -> bool {
        let has_stamp = || {
            let stamp = known.get(Key::new("stamp", agent(input), &file.real));
            version.content.is_none() && stamp.is_some_and(|stamp| stamp.content == version.stamp)
        };
        // What git put there nobody wrote: unless somebody did since.
        let is_moved = entry.is_loose
            && file.author.is_none()
            && self.moved.is_some_and(|moved| version.changed <= moved);
        entry.content == version.id() || has_stamp() || is_moved
    }

    fn finished(&mut self, seen: &Seen, call: &ToolCall, outcome: &Outcome, input: &Input) -> Vote {
        let mut known = ReadSet::parse(&self.seen);
        let mut open = ReadSet::parse(&self.open);
        let mut notes = Vec::new();
        for file in &seen.files {
            match file.touch.how {
                How::Reads(part) => {
                    let began = open.take(open_key(call, file)).map(|entry| entry.content);
                    note_read(&mut known, file, part, began, seen.guard, outcome, input);
                }
                How::Writes(manner) => {
                    let is_lost = note_write(&mut known, file, manner, outcome, input);
                    if is_lost && seen.guard != Guard::Off {
                        notes.push(messages::lost(file));
                    }
                }
            }
        }
        self.seen = known.to_string();
        self.open = open.to_string();
        as_note(&notes)
    }

    /// A tree that git moved for this session is one it knows of.
    fn follow_git(&mut self, call: &ToolCall, outcome: &Outcome, input: &Input) {
        let failed = matches!(outcome, Outcome::Failed { .. });
        if self.seen.is_empty() || failed || !file_access::moves_tree(call, input) {
            return;
        }
        let mut known = ReadSet::parse(&self.seen);
        known.loosen();
        self.seen = known.to_string();
        self.moved = Some(input.at);
    }
}

enum Judgement {
    Pass,
    Note(String),
    Hold(Reason),
}

/// What is left to say of a write that destroys nothing unseen: whether somebody else is just writing.
fn claimed(file: &File, input: &Input) -> Judgement {
    match &file.claim {
        Claim::None | Claim::Ours => Judgement::Pass,
        Claim::Theirs { by, seconds } => Judgement::Hold(messages::in_progress(file, by, *seconds, input)),
        Claim::Busy => Judgement::Hold(messages::busy(file)),
    }
}

/// A sub-agent starts with what the session's own agent has seen, and sees for itself from then on.
fn find(known: &ReadSet, input: &Input, real: &str) -> Option<Entry> {
    let own = known.get(Key::new("", agent(input), real));
    own.or_else(|| known.get(Key::new("", "", real))).copied()
}

fn agent(input: &Input) -> &str {
    match &input.actor {
        Actor::Main => "",
        Actor::Subagent { id, .. } => id.as_str(),
    }
}

fn open_key(call: &ToolCall, file: &File) -> Key {
    Key::new("open", call_id(call).as_str(), &file.real)
}

/// What a file is when it is begun to be read. Its stamp tells of a change and back, and its content of one
/// that is too quick for the clock of the file system.
fn began_with(found: Found) -> content::Short {
    match found {
        Found::File(version) => {
            let mut both = version.stamp;
            both.iter_mut()
                .zip(version.id())
                .for_each(|(stamp, content)| *stamp = stamp.wrapping_add(content));
            both
        }
        Found::Absent | Found::Directory | Found::Odd | Found::Unknown => ABSENT,
    }
}

fn note_read(
    known: &mut ReadSet,
    file: &File,
    part: Part,
    began: Option<content::Short>,
    guard: Guard,
    outcome: &Outcome,
    input: &Input,
) {
    let version = match file.found {
        Found::File(version) if !matches!(outcome, Outcome::Failed { .. }) => version,
        Found::Absent => {
            known.put(Entry::new(Key::new("", agent(input), &file.real), ABSENT, Coverage::Full));
            return;
        }
        Found::File(_) | Found::Directory | Found::Odd | Found::Unknown => return,
    };
    // It changed while it was read: which version was shown, nobody knows.
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
        Part::Lines { from, count } if from <= from_start.saturating_add(1) => {
            from_start.max((from - 1).saturating_add(count))
        }
        Part::Printed if version.bytes <= PRINTED_BYTES => u32::MAX,
        Part::Lines { .. } | Part::Printed | Part::Some => from_start,
    };
    // When it began nobody else was there, and now somebody is: they may have come in between.
    let is_sure = guard == Guard::Off || began.is_some();
    let coverage = match read >= version.lines && is_sure && read > 0 {
        true => Coverage::Full,
        false => Coverage::Lines(read.min(version.lines)),
    };
    let coverage = if is_sure { coverage } else { Coverage::Lines(0) };
    put(known, file, &version, coverage, input);
}

fn put(known: &mut ReadSet, file: &File, version: &Version, coverage: Coverage, input: &Input) {
    known.put(Entry::new(Key::new("", agent(input), &file.real), version.id(), coverage));
    if version.bytes > LARGE {
        let key = Key::new("stamp", agent(input), &file.real);
        known.put(Entry::new(key, version.stamp, Coverage::Lines(0)));
    }
}

/// Bytes from which on a file is told by its stamp first.
pub const LARGE: u64 = 8 * 1024 * 1024;

/// Notes what a call wrote. Gives back whether somebody else's work met it.
fn note_write(known: &mut ReadSet, file: &File, manner: Manner, outcome: &Outcome, input: &Input) -> bool {
    let Some(Wrote { before, fit }) = &file.wrote else {
        return false;
    };
    let failed = matches!(outcome, Outcome::Failed { .. } | Outcome::Launched);
    let is_own = match fit {
        Fit::Planned => true,
        Fit::Alone => !failed,
        Fit::Shared { .. } | Fit::Unknown => false,
        Fit::Unplanned { .. } => return !failed,
    };
    let key = Key::new("", agent(input), &file.real);
    match file.found {
        Found::File(version) if is_own => {
            let entry = find(known, input, &file.real).filter(|entry| Some(entry.content) == *before);
            let coverage = match (manner, before) {
                (Manner::Overwrite, _) | (_, None) => Coverage::Full,
                // What was not seen before is not seen by adding to it.
                _ => entry.map_or(Coverage::Lines(0), |entry| entry.coverage),
            };
            put(known, file, &version, coverage, input);
        }
        Found::Absent if is_own => known.put(Entry::new(key, ABSENT, Coverage::Full)),
        Found::File(_) | Found::Absent | Found::Directory | Found::Odd | Found::Unknown => {}
    }
    // Somebody had the file while this call wrote it, and it was not said what it would be.
    matches!(fit, Fit::Shared { .. }) && !failed
}

fn as_note(notes: &[String]) -> Vote {
    match notes.is_empty() {
        true => Vote::Pass,
        false => Vote::Note(Text::new(notes.join("\n"))),
    }
}

/// What a call is known by, from its request to its end.
pub fn call_id(call: &ToolCall) -> Text<128> {
    let without_id = || Text::new(Digest::of([call.name.as_str(), call.summary().as_str()]).to_string());
    call.id.clone().unwrap_or_else(without_id)
}
