//! What the host found out of the files of a call: what they are like, who else is at work on them.

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

/// What there is to guard against, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardLevel {
    /// Nobody else is at work here: nothing is refused.
    Off,
    /// Another session of this clone is.
    Sessions,
    /// The repository has intents, and every change is watched.
    Intents,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FileFacts {
    pub touch: FileAccess,
    /// With its links followed: that file counts, under whatever name it is called.
    pub real: String,
    pub found: FileKind,
    pub claim: LeaseState,
    /// Who wrote what is there now.
    pub author: Option<FileWriter>,
    /// How this agent came to write that, if it did.
    pub own: Option<OwnWrite>,
    /// Who else wrote the file lately.
    pub other: Option<FileWriter>,
    /// What has changed in it since this session saw it.
    pub hunk: Option<Text<500>>,
    /// Who writes the same file in another worktree, and in which.
    pub elsewhere: Option<(FileWriter, String)>,
    /// What came of it, once the call has ended.
    pub wrote: Option<WriteReport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Absent,
    File(FileVersionFact),
    Directory,
    /// A pipe, a device, a socket: it is not even opened.
    Odd,
    /// It cannot be read.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersionFact {
    /// `None`: the file is large, and by its stamp as it was, or too large to be read at all.
    pub content: Option<ContentHash>,
    /// Of what the system notes of a file whenever it changes.
    pub stamp: ShortHash,
    pub lines: u32,
    pub bytes: u64,
    /// When it was last written or moved here.
    pub changed: Timestamp,
}

impl FileVersionFact {
    pub fn id(&self) -> ShortHash {
        self.content.map_or(self.stamp, ContentHash::short)
    }
}

/// Whose a file is for the next few seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// Nobody asked for it, or it cannot be kept.
    None,
    Ours,
    Theirs {
        by: FileWriter,
        seconds: i64,
    },
    /// So many write at once that nobody can tell.
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

    /// The same agent of the same session.
    pub fn is(&self, other: &FileWriter) -> bool {
        self.session == other.session && self.agent == other.agent
    }
}

/// A write of the agent's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnWrite {
    /// What was there before; `None`: nothing.
    pub before: Option<ShortHash>,
    pub manner: WriteManner,
}

/// What a call made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteReport {
    /// What was there before; `None`: nothing.
    pub before: Option<ShortHash>,
    pub fit: EditFit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFit {
    /// It is what the call was to make of it.
    Planned,
    /// Nobody knows what it was to be, and nobody else had the file meanwhile.
    Alone,
    /// It is something else. Where both are kept, if they are.
    Unplanned { kept: Option<[String; 2]> },
    /// Somebody else had the file meanwhile. Where what they wrote is kept, if it is.
    Shared { kept: Option<String> },
    /// Nothing was done, or nobody can tell.
    Unknown,
}
