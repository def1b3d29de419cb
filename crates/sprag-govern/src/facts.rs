//! Facts that the host finds. A fact that several gates need is shared; all others are the answer of one gate.

use std::ops::BitOr;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_policy::rule_set::RuleSet;

use crate::obligation::OpenDebt;
use crate::trackers::{ActiveTicket, Ticket};

/// A set of shared facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedNeeds(u8);

impl SharedNeeds {
    pub const NONE: SharedNeeds = SharedNeeds(0);
    /// The commit that is checked out.
    pub const HEAD: SharedNeeds = SharedNeeds(1);
    /// Open debts of this clone.
    pub const DEBTS: SharedNeeds = SharedNeeds(1 << 1);
    /// What has changed since the session started.
    pub const CHANGES: SharedNeeds = SharedNeeds(1 << 2);
    /// The hash of the working tree.
    pub const TREE: SharedNeeds = SharedNeeds(1 << 3);
    /// The rules that restrict, as far as they concern the call.
    pub const RULES: SharedNeeds = SharedNeeds(1 << 4);
    /// The rules that allow.
    pub const ALLOWS: SharedNeeds = SharedNeeds(1 << 5);

    /// Reports whether finding them may take long.
    pub fn is_slow(self) -> bool {
        self.0 & (SharedNeeds::CHANGES.0 | SharedNeeds::TREE.0) != 0
    }

    pub fn has(self, other: SharedNeeds) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for SharedNeeds {
    type Output = SharedNeeds;

    fn bitor(self, other: SharedNeeds) -> SharedNeeds {
        SharedNeeds(self.0 | other.0)
    }
}

/// Facts that several gates read. `None`: nobody needs it, or it could not be found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedFacts {
    pub head: Option<Text<64>>,
    pub debts: Option<Vec<OpenDebt>>,
    pub changes: Option<SessionChanges>,
    pub tree: Option<Text<64>>,
    pub rules: Option<RuleSet>,
    pub allows: Option<RuleSet>,
    /// The records of the session were there, and are not any more.
    pub lost: bool,
}

/// The tracker that is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedTracker {
    pub name: Text<16>,
    /// Tickets are closed there: a session need not be asked as such. A remote alone is no such sign.
    pub is_for_tickets: bool,
    /// What is being worked on, as it said when it was last asked.
    pub active: Option<ActiveTicket>,
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
pub struct SessionChanges {
    pub size: Size,
    /// Relative to the worktree, and whole: files are opened by them. What is shown is cut when it is.
    pub paths: Vec<String>,
    /// Lines that say that something is left to do.
    pub marks: Vec<TodoMark>,
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
pub struct TodoMark {
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
pub struct WrittenPath {
    pub named: String,
    /// Absolute, once with its links followed and once without.
    pub paths: [String; 2],
    pub how: WriteEffect,
}

/// What a call has done to a guarded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedDamage {
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

impl ProtectedDamage {
    pub fn path(&self) -> &str {
        match self {
            ProtectedDamage::Restored { path, .. } | ProtectedDamage::Left { path, .. } => path,
        }
    }
}

/// What becomes of what is below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEffect {
    /// It stays.
    Written,
    /// It goes too.
    Removed,
}

/// A conflict marker that git, or somebody, left in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictMarker {
    /// Relative to the worktree.
    pub path: Text<200>,
    pub line: u32,
    /// Of the conflict's own text.
    pub digest: Digest,
}

/// What was found in the lines a commit would add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    pub found: Vec<StagedFinding>,
    /// Whether all of them could be looked at.
    pub is_whole: bool,
}

/// A line that must not be committed as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFinding {
    /// Relative to the repository.
    pub path: Text<200>,
    pub line: u32,
    pub fault: StagedFault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StagedFault {
    /// What kind of secret, never which.
    Secret { kind: Text<32> },
    /// A conflict with all its marks.
    Markers,
}
