//! The trace: one record for each change, with its lines, author and intent. A record names blocks of lines
//! by the hash of their bytes and never holds a line. So records leak no code, and they stay valid when lines
//! move.
//!
//! Uncommitted changes are [`Finality::Provisional`]: a call wrote them ([`ChangeRecord::Seen`]), or a stop
//! judged all of them ([`ChangeRecord::Judged`]). A commit makes them [`ChangeRecord::Final`]. Sprag never
//! edits a record: a later record names the records that it supersedes, file by file.

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

/// The prefix of all kinds of [`ChangeRecord`]. Readers skip lines without it.
pub const KIND: &str = "trace.";

/// Limits of one record. A record that hits a limit is marked as cut.
pub const FILES: usize = 500;
pub const RANGES: usize = 2_000;
pub const UNITS: usize = 200;

/// The body of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    pub stage: Finality,
    pub source: ChangeSource,
    /// The worktree in which the change was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Text<16>>,
    /// The session that made the change, if another session wrote the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<ServedIntent>,
    /// The class of change that the agent announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<DeclaredClass>,
    pub contributor: Contributor,
    pub verdict: RecordedClassification,
    pub files: Vec<TracedFile>,
    /// The change exceeds the limits of a record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The hash of the line before this one in its chain: see [`chain`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<Sha256Sum>,
}

/// Whether a commit holds the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finality {
    /// `base` is the commit below the change; `None` before the first commit.
    Provisional { base: Option<Text<64>> },
    /// The change is in commit `revision`.
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

/// How Sprag noticed the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSource {
    /// A call of a write tool made the change.
    Call { tool: Text<128>, id: Option<Text<128>> },
    /// Sprag found the change later. It happened while a command of the session ran.
    Command,
    /// Sprag found the change later. Its author is unknown.
    Found,
    /// A session stopped with the change.
    Stop,
    /// A commit holds the change.
    Commit,
    /// A rewritten commit holds the change; the original commit is gone.
    Rewrite,
}

/// The intent of a change, with its fingerprint at that time.
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

sprag_base::names! {
    pub fn name(ContributorKind):
    Human = "human", Ai = "ai", Mixed = "mixed", Unknown = "unknown"
}

/// The result of the check whether behaviour changed.
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

/// The place where behaviour changed. Only here a record holds text of a file: a few words, with secrets
/// removed.
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

/// The changes in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFile {
    /// The path relative to the worktree. A path that is not UTF-8 is quoted as git quotes it.
    pub path: String,
    /// The path before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The hash of all bytes of the file; `None`: the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Sum>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha256Sum>,
    /// New lines, numbered as in the new file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LineRange>,
    /// Deleted lines, numbered as in the old file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<LineRange>,
    /// The functions and types that contain the new lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<TracedUnit>,
    /// Records that this record replaces for this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Text<64>>,
    #[serde(default, skip_serializing_if = "FileForm::is_text")]
    pub form: FileForm,
}

/// The form of the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileForm {
    #[default]
    Text,
    /// A file without lines: one block.
    Binary,
    /// A symbolic link. The trace follows its target path, not the file behind it.
    Link,
    /// A file that is too large to read. The trace only knows that it changed.
    Large,
}

impl FileForm {
    fn is_text(&self) -> bool {
        *self == FileForm::Text
    }
}

/// A block of lines. `start` and `end` are inclusive and count from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineRange {
    #[serde(rename = "start_line")]
    pub start: u32,
    #[serde(rename = "end_line")]
    pub end: u32,
    /// The hash of the exact bytes of these lines, with line feeds.
    pub content_hash: Sha256Sum,
    /// The contributor, if it differs from the contributor of the record.
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
    /// Reads a change. Returns `None` for another kind of record or an unknown form.
    pub fn from_record(record: &Record) -> Option<TraceRecord> {
        ChangeRecord::read(record)?.into_change()
    }

    /// Returns the session that made the change.
    pub fn session<'a>(&'a self, record: &'a Record) -> Option<&'a SessionId> {
        self.session.as_ref().or(record.session.as_ref())
    }

    /// Returns the ids of all records that this record replaces, in any file.
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
