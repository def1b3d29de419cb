//! Facts that the host finds. A fact that several gates need is shared; other facts answer one gate.

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
    /// The changes since the session started.
    pub const CHANGES: SharedNeeds = SharedNeeds(1 << 2);
    /// The hash of the working tree.
    pub const TREE: SharedNeeds = SharedNeeds(1 << 3);
    /// The restricting rules that concern the call.
    pub const RULES: SharedNeeds = SharedNeeds(1 << 4);
    /// The rules that allow.
    pub const ALLOWS: SharedNeeds = SharedNeeds(1 << 5);

    /// Reports whether finding these facts may take long.
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

/// Facts that several gates read. `None` means that no gate needs the fact, or that the host could not find
/// it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedFacts {
    pub head: Option<Text<64>>,
    pub debts: Option<Vec<OpenDebt>>,
    pub changes: Option<SessionChanges>,
    pub tree: Option<Text<64>>,
    pub rules: Option<RuleSet>,
    pub allows: Option<RuleSet>,
    /// The records of the session existed and are gone.
    pub lost: bool,
}

/// The tracker that is used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedTracker {
    pub name: Text<16>,
    /// Whether tickets are closed there. Then Sprag need not ask about the session itself. A git remote alone
    /// does not count.
    pub is_for_tickets: bool,
    /// The ticket in work, as of the last query.
    pub active: Option<ActiveTicket>,
}

/// The result of a call that was to close a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub call: Text<128>,
    pub ticket: Ticket,
    /// `None` if the host cannot find out.
    pub is_closed: Option<bool>,
}

/// The changes since the session started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChanges {
    pub size: Size,
    /// Relative to the worktree and not shortened, because the host opens files by them.
    pub paths: Vec<String>,
    /// Added lines that mark open work.
    pub marks: Vec<TodoMark>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Outside git, or in a session without a known start.
    #[default]
    Unknown,
    /// Added and removed lines.
    Lines(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoMark {
    pub path: Text<200>,
    pub line: Option<u32>,
    pub text: Text<200>,
}

/// Marks of an agent's role around a session, as written.
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
    /// Absolute paths: with links followed, and without.
    pub paths: [String; 2],
    pub how: WriteEffect,
}

/// Damage to a protected file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectedDamage {
    /// Sprag restored the file. The changed version is kept, unless the file was gone.
    Restored { path: String, kept: Option<String> },
    /// Sprag could not restore the file. It refuses changes until a person accepts the file.
    Left { path: String, why: String },
    /// The change weakens no guard, and Sprag left it.
    Noticed { path: String, why: String },
}

impl ProtectedDamage {
    pub fn path(&self) -> &str {
        match self {
            ProtectedDamage::Restored { path, .. }
            | ProtectedDamage::Left { path, .. }
            | ProtectedDamage::Noticed { path, .. } => path,
        }
    }
}

/// The effect of a write on the contents of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEffect {
    /// The contents stay.
    Written,
    /// The contents are removed.
    Removed,
}

/// A conflict marker in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictMarker {
    /// Relative to the worktree.
    pub path: Text<200>,
    pub line: u32,
    /// Digest of the text of the conflict.
    pub digest: Digest,
}

/// Findings in the lines that a commit would add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    pub found: Vec<StagedFinding>,
    /// Whether all lines were checked.
    pub is_whole: bool,
}

/// A line that must not be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFinding {
    /// Relative to the repository.
    pub path: Text<200>,
    pub line: u32,
    pub fault: StagedFault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StagedFault {
    /// The kind of secret, never the secret itself.
    Secret { kind: Text<32> },
    /// A conflict with all its markers.
    Markers,
}
