//! What the host found out of the files of a call: what they are like, who else is at work on them.

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::content::{Content, Short};
use super::file_access::{Manner, Touch};
use crate::event::{Actor, Input};

#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub guard: Guard,
    pub files: Vec<File>,
}

/// What there is to guard against, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// Nobody else is at work here: nothing is refused.
    Off,
    /// Another session of this clone is.
    Sessions,
    /// The repository has intents, and every change is watched.
    Intents,
}

#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub touch: Touch,
    /// With its links followed: that file counts, under whatever name it is called.
    pub real: String,
    pub found: Found,
    pub claim: Claim,
    /// Who wrote what is there now.
    pub author: Option<Writer>,
    /// How this agent came to write that, if it did.
    pub own: Option<Own>,
    /// Who else wrote the file lately.
    pub other: Option<Writer>,
    /// What has changed in it since this session saw it.
    pub hunk: Option<Text<500>>,
    /// Who writes the same file in another worktree, and in which.
    pub elsewhere: Option<(Writer, String)>,
    /// What came of it, once the call has ended.
    pub wrote: Option<Wrote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Absent,
    File(Version),
    Directory,
    /// A pipe, a device, a socket: it is not even opened.
    Odd,
    /// It cannot be read.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// `None`: the file is large, and by its stamp as it was, or too large to be read at all.
    pub content: Option<Content>,
    /// Of what the system notes of a file whenever it changes.
    pub stamp: Short,
    pub lines: u32,
    pub bytes: u64,
    /// When it was last written or moved here.
    pub changed: Timestamp,
}

impl Version {
    pub fn id(&self) -> Short {
        self.content.map_or(self.stamp, Content::short)
    }
}

/// Whose a file is for the next few seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody asked for it, or it cannot be kept.
    None,
    Ours,
    Theirs {
        by: Writer,
        seconds: i64,
    },
    /// So many write at once that nobody can tell.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    pub session: SessionId,
    pub agent: Option<Text<128>>,
    pub at: Timestamp,
}

impl Writer {
    pub fn of(input: &Input) -> Writer {
        let agent = match &input.actor {
            Actor::Main => None,
            Actor::Subagent { id, .. } => Some(id.clone()),
        };
        Writer { session: input.session.clone(), agent, at: input.at }
    }

    /// The same agent of the same session.
    pub fn is(&self, other: &Writer) -> bool {
        self.session == other.session && self.agent == other.agent
    }
}

/// A write of the agent's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// What was there before; `None`: nothing.
    pub before: Option<Short>,
    pub manner: Manner,
}

/// What a call made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// What was there before; `None`: nothing.
    pub before: Option<Short>,
    pub fit: Fit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
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
