//! What was changed, by whom, and for which intent: one record for each change. A record names blocks of
//! lines by the hash of their bytes and never holds a line, so that it may be shown to anybody and is
//! still good when the lines have moved.
//!
//! What is not committed yet is [`Stage::Provisional`]: a call wrote it ([`SEEN`]), or a stop looked at
//! all of it ([`JUDGED`]). A commit makes it [`FINAL`]. Nothing is edited: a later record says which ones
//! it supersedes, file by file.

pub mod anchor;
pub mod blocks;
pub mod chain;
pub mod export;
pub mod finding;
pub mod uncommitted;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::sha256::Sum;
use sprag_base::text::Text;
use sprag_intent::{Chosen, Class};

/// A change from one state of files to the next, as it was seen.
pub const SEEN: &str = "trace.seen";
/// All that a session has changed and not committed, judged as a whole.
pub const JUDGED: &str = "trace.judged";
/// What a commit has of it.
pub const FINAL: &str = "trace.final";

/// What all of these kinds begin with.
pub const KIND: &str = "trace.";

/// Bounds of one record: what is beyond them is said to be missing.
pub const FILES: usize = 500;
pub const RANGES: usize = 2_000;
pub const UNITS: usize = 200;

/// The body of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    pub stage: Stage,
    pub source: Source,
    /// Which worktree of the clone; a commit is in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Text<16>>,
    /// Whose it is, where that is not the session that wrote it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Served>,
    /// What the agent said it would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Class>,
    pub contributor: Contributor,
    pub verdict: Verdict,
    pub files: Vec<File>,
    /// There was more than a record holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Of the line before this one in its book: see [`chain`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Sum>,
}

/// How certain it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// `base` is the commit it was made on; there may be none yet.
    Provisional { base: Option<Text<64>> },
    /// It is in this commit.
    Final { revision: Text<64>, base: Option<Text<64>> },
}

impl Stage {
    pub fn base(&self) -> Option<&str> {
        match self {
            Stage::Provisional { base } | Stage::Final { base, .. } => base.as_ref().map(Text::as_str),
        }
    }

    pub fn revision(&self) -> Option<&str> {
        match self {
            Stage::Provisional { .. } => None,
            Stage::Final { revision, .. } => Some(revision.as_str()),
        }
    }
}

/// How it came to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A call of a write tool made it.
    Call { tool: Text<128>, id: Option<Text<128>> },
    /// It was there when somebody looked, and changed while a command of the session ran.
    Command,
    /// It was there when somebody looked, and nobody saw who made it.
    Found,
    /// A session stopped with it.
    Stop,
    /// A commit has it.
    Commit,
    /// A rewritten commit has it: the one it was in is gone.
    Rewrite,
}

/// The intent that was served, as it was understood then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Served {
    pub id: Text<64>,
    pub fingerprint: Text<80>,
}

impl From<&Chosen> for Served {
    fn from(chosen: &Chosen) -> Served {
        Served { id: chosen.id.clone(), fingerprint: Text::from(chosen.fingerprint.as_str()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contributor {
    pub kind: Who,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<250>>,
}

impl Contributor {
    pub const UNKNOWN: Contributor = Contributor { kind: Who::Unknown, model: None };

    pub fn ai(model: Option<Text<250>>) -> Contributor {
        Contributor { kind: Who::Ai, model }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    Human,
    Ai,
    Mixed,
    Unknown,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Human => "human",
            Who::Ai => "ai",
            Who::Mixed => "mixed",
            Who::Unknown => "unknown",
        }
    }
}

/// Whether behaviour changed, as it was found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Proved { level: Text<8>, proof: Value },
    Changed { witness: Witness },
    Unproven { reason: Text<32> },
}

impl Verdict {
    pub fn unproven(reason: &str) -> Verdict {
        Verdict::Unproven { reason: Text::from(reason) }
    }

    pub fn class(&self) -> Class {
        match self {
            Verdict::Proved { .. } => Class::Refactor,
            Verdict::Changed { .. } | Verdict::Unproven { .. } => Class::Evolution,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Proved { .. } => "PROVED",
            Verdict::Changed { .. } => "CHANGED",
            Verdict::Unproven { .. } => "UNPROVEN",
        }
    }
}

/// Where it is seen that behaviour changed. The only words of a file that a record has: few, and redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    pub path: Text<400>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Text<200>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Spot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Spot>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub line: u32,
    pub text: Text<200>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Relative to the worktree. What is no text is written as git would quote it.
    pub path: String,
    /// What it was called before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Of all its bytes; `None`: it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sum>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sum>,
    /// Lines that are new, by what they are in the file now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<Range>,
    /// Lines that are gone, by what they were in the file before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<Range>,
    /// What the new lines are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
    /// Records that this one takes the place of, as far as they are about this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "Form::is_text")]
    pub form: Form,
}

/// What its bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    #[default]
    Text,
    /// It has no lines: it is one block.
    Binary,
    /// Where it leads counts, not what is there.
    Link,
    /// Too large to be read: what is known is that it changed.
    Large,
}

impl Form {
    fn is_text(&self) -> bool {
        *self == Form::Text
    }
}

/// A block of lines, first and last, from one on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    #[serde(rename = "start_line")]
    pub start: u32,
    #[serde(rename = "end_line")]
    pub end: u32,
    /// Of exactly the bytes of these lines, line feeds and all.
    pub content_hash: Sum,
    /// Where it is not that of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributor: Option<Contributor>,
}

/// A function or type, by a hash that formatting does not change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unit {
    /// `fn Cart::total`
    pub unit: Text<200>,
    #[serde(rename = "start_line")]
    pub start: u32,
    #[serde(rename = "end_line")]
    pub end: u32,
    /// `unit1:…`
    pub hash: Text<80>,
}

impl Trace {
    /// Reads a record of one of these kinds. `None`: it is none, or of a shape that is not known.
    pub fn of(record: &Record) -> Option<Trace> {
        if !is_trace(&record.kind) {
            return None;
        }
        Trace::deserialize(&record.body).ok()
    }

    /// The session whose work it is.
    pub fn session<'a>(&'a self, record: &'a Record) -> Option<&'a SessionId> {
        self.session.as_ref().or(record.session.as_ref())
    }

    /// Ids of what it takes the place of, in whichever file.
    pub fn supersedes(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| &file.supersedes).map(Text::as_str)
    }
}

pub fn is_trace(kind: &str) -> bool {
    [SEEN, JUDGED, FINAL].contains(&kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::sha256::Sum;
    use sprag_base::time::Timestamp;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let trace = Trace {
            stage: Stage::Final { revision: Text::from("a1"), base: None },
            source: Source::Call { tool: Text::from("Edit"), id: None },
            place: None,
            session: None,
            intent: Some(Served { id: Text::from("INT-1"), fingerprint: Text::from("sha256:00") }),
            declared: Some(Class::Refactor),
            contributor: Contributor::ai(None),
            verdict: Verdict::unproven("language"),
            files: vec![File { path: "a".to_owned(), after: Some(Sum::of(b"x")), ..File::default() }],
            is_cut: false,
            prev: None,
        };
        let record = Record::new(FINAL, Timestamp::from_millis(0), json!(trace));
        assert_eq!(Trace::of(&record), Some(trace));
        assert_eq!(Trace::of(&Record { kind: "learning.x".to_owned(), ..record }), None);
    }
}
