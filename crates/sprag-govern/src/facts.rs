//! What a gate asks the host, and what the host found out. A gate never looks for itself: it
//! names its [`Needs`], the host gathers just those, and nothing is looked up for nobody.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;

use crate::trackers::{Item, Ticket};

/// The tracker that is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: Text<16>,
    /// Tickets are closed there: a session need not be asked as such. A remote alone is no such sign.
    pub is_for_tickets: bool,
    /// What is being worked on, as it said when it was last asked.
    pub active: Option<Item>,
}

/// What became of a ticket that a call was to close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub call: Text<128>,
    pub ticket: Ticket,
    /// `None`: nobody can tell.
    pub is_closed: Option<bool>,
}

/// What has changed since the session started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub size: Size,
    /// Relative to the worktree, and whole: files are opened by them. What is shown is cut when it is.
    pub paths: Vec<String>,
    /// Lines that say that something is left to do.
    pub marks: Vec<Mark>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Outside git, or in a session whose start nobody saw.
    #[default]
    Unknown,
    /// Added and removed.
    Lines(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub path: Text<200>,
    pub line: Option<u32>,
    pub text: Text<200>,
}

/// What the surroundings of a session say of its agent's role, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleMarks {
    /// `AGENT_ROLE`
    pub environment: Option<Text<64>>,
    /// `.sprag/role`
    pub marker: Option<Text<64>>,
}

/// A path that a call would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub named: String,
    /// Absolute, once with its links followed and once without.
    pub paths: [String; 2],
    pub how: How,
}

/// What a call has done to a guarded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It is as it was; what it became is kept, unless it was gone.
    Restored {
        path: String,
        kept: Option<String>,
    },
    Left {
        path: String,
        why: String,
    },
}

impl Damage {
    pub fn path(&self) -> &str {
        match self {
            Damage::Restored { path, .. } | Damage::Left { path, .. } => path,
        }
    }
}

/// What becomes of what is below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It stays.
    Written,
    /// It goes too.
    Removed,
}

/// A conflict marker that git, or somebody, left in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the worktree.
    pub path: Text<200>,
    pub line: u32,
    /// Of the conflict's own text.
    pub digest: Digest,
}

/// What was found in the lines a commit would add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    pub found: Vec<Finding>,
    /// Whether all of them could be looked at.
    pub is_whole: bool,
}

/// A line that must not be committed as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Relative to the repository.
    pub path: Text<200>,
    pub line: u32,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What kind of secret, never which.
    Secret { kind: Text<32> },
    /// A conflict with all its marks.
    Markers,
}
