//! Facts about the files of a call: their content, and other writers.

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::content::{ContentHash, ShortHash};
use super::file_access::{FileAccess, WriteManner};
use crate::event::{Actor, Input};

#[derive(Clone, Debug, PartialEq)]
pub struct StaleFacts {
    pub guard: GuardLevel,
    pub files: Vec<FileFacts>,
}

/// The level of protection, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardLevel {
    /// No other session is active, so Sprag refuses nothing.
    Off,
    /// Another session of this clone is active.
    Sessions,
    /// The repository has intents, so Sprag checks every change.
    Intents,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FileFacts {
    pub touch: FileAccess,
    /// The path with links followed. Two names of one file have the same value.
    pub real: String,
    pub found: FileKind,
    pub claim: LeaseState,
    /// The writer of the present content.
    pub author: Option<FileWriter>,
    /// The agent's own write, if the present content is its own.
    pub own: Option<OwnWrite>,
    /// Another recent writer of the file.
    pub other: Option<FileWriter>,
    /// The change of the file since this session read it.
    pub hunk: Option<Text<500>>,
    /// A writer of the same file in another worktree, and that worktree.
    pub elsewhere: Option<(FileWriter, String)>,
    /// The result of the write, once the call ended.
    pub wrote: Option<WriteReport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Absent,
    File(FileVersionFact),
    Directory,
    /// A pipe, a device or a socket. Sprag does not open it.
    Odd,
    /// The file cannot be read.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersionFact {
    /// `None` for a large file with an unchanged stamp, and for a file that is too large to read.
    pub content: Option<ContentHash>,
    /// Hash of the metadata that the system updates with every change.
    pub stamp: ShortHash,
    pub lines: u32,
    pub bytes: u64,
    /// Time of the last write or move of the file.
    pub changed: Timestamp,
}

impl FileVersionFact {
    pub fn id(&self) -> ShortHash {
        self.content.map_or(self.stamp, ContentHash::short)
    }
}

/// The write lease on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// No agent requested a lease, or none can be stored.
    None,
    Ours,
    Theirs {
        by: FileWriter,
        seconds: i64,
    },
    /// Too many agents write at once, so the holder is unknown.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWriter {
    pub session: SessionId,
    pub agent: Option<Text<128>>,
    pub at: Timestamp,
}

impl FileWriter {
    pub fn from_input(input: &Input) -> FileWriter {
        let agent = match &input.actor {
            Actor::Main => None,
            Actor::Subagent { id, .. } => Some(id.clone()),
        };
        FileWriter { session: input.session.clone(), agent, at: input.at }
    }

    /// Reports whether both are the same agent of the same session.
    pub fn is(&self, other: &FileWriter) -> bool {
        self.session == other.session && self.agent == other.agent
    }
}

/// A write of the agent itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnWrite {
    /// Version before the write; `None` if the file did not exist.
    pub before: Option<ShortHash>,
    pub manner: WriteManner,
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteReport {
    /// Version before the write; `None` if the file did not exist.
    pub before: Option<ShortHash>,
    pub fit: EditFit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFit {
    /// The file has the planned content.
    Planned,
    /// The planned content is unknown, and no other agent had the file meanwhile.
    Alone,
    /// The file has other content. `kept` names the stored planned and found versions.
    Unplanned { kept: Option<[String; 2]> },
    /// Another agent had the file meanwhile. `kept` names its stored version.
    Shared { kept: Option<String> },
    /// The call wrote nothing, or the result is unknown.
    Unknown,
}
