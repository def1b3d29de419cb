//! What was changed, by whom, and for which intent: one record for each change. A record names blocks of
//! lines by the hash of their bytes and never holds a line, so that it may be shown to anybody and is
//! still good when the lines have moved.
//!
//! What is not committed yet is [`Finality::Provisional`]: a call wrote it ([`ChangeRecord::Seen`]), or a
//! stop looked at all of it ([`ChangeRecord::Judged`]). A commit makes it [`ChangeRecord::Final`]. Nothing is edited: a later record says which ones
//! it supersedes, file by file.

pub mod anchor;
pub mod blocks;
pub mod chain;
pub mod export;
pub mod finding;
pub mod records;
pub mod uncommitted;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;
use sprag_intent::{DeclaredClass, SelectedIntent};

pub use records::ChangeRecord;

/// The start of all kinds of [`ChangeRecord`]: a reader passes over lines without it.
pub const KIND: &str = "trace.";

/// Bounds of one record: what is beyond them is said to be missing.
pub const FILES: usize = 500;
pub const RANGES: usize = 2_000;
pub const UNITS: usize = 200;

/// The body of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    pub stage: Finality,
    pub source: ChangeSource,
    /// Which worktree of the clone; a commit is in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Text<16>>,
    /// Whose it is, where that is not the session that wrote it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<ServedIntent>,
    /// What the agent said it would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<DeclaredClass>,
    pub contributor: Contributor,
    pub verdict: RecordedClassification,
    pub files: Vec<TracedFile>,
    /// There was more than a record holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Of the line before this one in its book: see [`chain`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Sha256Sum>,
}

/// How certain it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finality {
    /// `base` is the commit it was made on; there may be none yet.
    Provisional { base: Option<Text<64>> },
    /// It is in this commit.
    Final { revision: Text<64>, base: Option<Text<64>> },
}

impl Finality {
    pub fn base(&self) -> Option<&str> {
        match self {
            Finality::Provisional { base } | Finality::Final { base, .. } => base.as_ref().map(Text::as_str),
        }
    }

    pub fn revision(&self) -> Option<&str> {
        match self {
            Finality::Provisional { .. } => None,
            Finality::Final { revision, .. } => Some(revision.as_str()),
        }
    }
}

/// How it came to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSource {
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
pub struct ServedIntent {
    pub id: Text<64>,
    pub fingerprint: Text<80>,
}

impl From<&SelectedIntent> for ServedIntent {
    fn from(chosen: &SelectedIntent) -> ServedIntent {
        ServedIntent { id: chosen.id.clone(), fingerprint: Text::from(chosen.fingerprint.as_str()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contributor {
    pub kind: ContributorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<250>>,
}

impl Contributor {
    pub const UNKNOWN: Contributor = Contributor { kind: ContributorKind::Unknown, model: None };

    pub fn ai(model: Option<Text<250>>) -> Contributor {
        Contributor { kind: ContributorKind::Ai, model }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContributorKind {
    Human,
    Ai,
    Mixed,
    Unknown,
}

impl ContributorKind {
    pub fn name(self) -> &'static str {
        match self {
            ContributorKind::Human => "human",
            ContributorKind::Ai => "ai",
            ContributorKind::Mixed => "mixed",
            ContributorKind::Unknown => "unknown",
        }
    }
}

/// Whether behaviour changed, as it was found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedClassification {
    Proved { level: Text<8>, proof: Value },
    Changed { witness: BehaviourWitness },
    Unproven { reason: Text<32> },
}

impl RecordedClassification {
    pub fn unproven(reason: &str) -> RecordedClassification {
        RecordedClassification::Unproven { reason: Text::from(reason) }
    }

    pub fn class(&self) -> DeclaredClass {
        match self {
            RecordedClassification::Proved { .. } => DeclaredClass::Refactor,
            RecordedClassification::Changed { .. } | RecordedClassification::Unproven { .. } => {
                DeclaredClass::Evolution
            }
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            RecordedClassification::Proved { .. } => "PROVED",
            RecordedClassification::Changed { .. } => "CHANGED",
            RecordedClassification::Unproven { .. } => "UNPROVEN",
        }
    }
}

/// Where it is seen that behaviour changed. The only words of a file that a record has: few, and redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BehaviourWitness {
    pub path: Text<400>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Text<200>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FilePosition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FilePosition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    pub line: u32,
    pub text: Text<200>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFile {
    /// Relative to the worktree. What is no text is written as git would quote it.
    pub path: String,
    /// What it was called before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Of all its bytes; `None`: it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Sum>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha256Sum>,
    /// Lines that are new, by what they are in the file now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LineRange>,
    /// Lines that are gone, by what they were in the file before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<LineRange>,
    /// What the new lines are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<TracedUnit>,
    /// Records that this one takes the place of, as far as they are about this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "FileForm::is_text")]
    pub form: FileForm,
}

/// What its bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileForm {
    #[default]
    Text,
    /// It has no lines: it is one block.
    Binary,
    /// Where it leads counts, not what is there.
    Link,
    /// Too large to be read: what is known is that it changed.
    Large,
}

impl FileForm {
    fn is_text(&self) -> bool {
        *self == FileForm::Text
    }
}

/// A block of lines, first and last, from one on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineRange {
    #[serde(rename = "start_line")]
    pub start: u32,
    #[serde(rename = "end_line")]
    pub end: u32,
    /// Of exactly the bytes of these lines, line feeds and all.
    pub content_hash: Sha256Sum,
    /// Where it is not that of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributor: Option<Contributor>,
}

/// A function or type, by a hash that formatting does not change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TracedUnit {
    /// `fn Cart::total`
    pub unit: Text<200>,
    #[serde(rename = "start_line")]
    pub start: u32,
    #[serde(rename = "end_line")]
    pub end: u32,
    /// `unit1:…`
    pub hash: Text<80>,
}

impl TraceRecord {
    /// Reads a record of one of these kinds. `None`: it is none, or of a shape that is not known.
    pub fn from_record(record: &Record) -> Option<TraceRecord> {
        ChangeRecord::read(record)?.into_change()
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
    chain::ChainName::from_kind(kind).is_some()
}

#[cfg(test)]
mod tests {
    use sprag_base::sha256::Sha256Sum;
    use sprag_base::time::Timestamp;

    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let trace = TraceRecord {
            stage: Finality::Final { revision: Text::from("a1"), base: None },
            source: ChangeSource::Call { tool: Text::from("Edit"), id: None },
            place: None,
            session: None,
            intent: Some(ServedIntent { id: Text::from("INT-1"), fingerprint: Text::from("sha256:00") }),
            declared: Some(DeclaredClass::Refactor),
            contributor: Contributor::ai(None),
            verdict: RecordedClassification::unproven("language"),
            files: vec![TracedFile {
                path: "a".to_owned(),
                after: Some(Sha256Sum::hash_bytes(b"x")),
                ..TracedFile::default()
            }],
            is_cut: false,
            prev: None,
        };
        let record = ChangeRecord::Final(trace.clone()).record(Timestamp::from_millis(0));
        assert_eq!(TraceRecord::from_record(&record), Some(trace));
        assert_eq!(TraceRecord::from_record(&Record { kind: "learning.x".to_owned(), ..record }), None);
    }
}
