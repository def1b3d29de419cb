//! What was found out about the world before a decision: who is alive, what git says, what is being done.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;

use super::durations::Durations;
use super::recovery::Found;
use crate::ids::{Commit, Key, StageId};
use crate::run::record::{About, Ended, Purse};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// Effects that somebody of ours is at.
    pub busy: BTreeSet<Key>,
    /// What a look at the effects showed that were begun and that nobody is at.
    pub found: BTreeMap<Key, Found>,
    /// Sessions as their supervisors tell of them.
    pub sessions: BTreeMap<Key, Session>,
    /// Stages whose worktree is not there although nobody of ours took it away.
    pub lost: BTreeSet<StageId>,
    /// How many agents the machine has room for.
    pub room: u16,
    /// Where the trunk is, if that was looked at.
    pub trunk: Option<Commit>,
    /// How the target stands to the trunk, if that was looked at.
    pub target: Option<Target>,
    /// Budgets of which most is used.
    pub nearly: BTreeSet<Purse>,
    /// How long stages take, as far as that was seen.
    pub durations: Durations,
    pub mood: Mood,
}

/// What the daemon is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Going,
    /// Nothing new is begun, and agents are sent home.
    Stopping,
}

/// The branch that merged work goes to, and that is everybody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All of it is in the trunk, and it may be moved.
    Behind(Commit),
    /// The same, and it is checked out: a person moves it.
    CheckedOut(Commit),
    /// It has commits that the trunk does not have.
    Ahead(Commit),
    /// It does not have any more what it had.
    Rewritten(Commit),
    Gone,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Session {
    Alive(Alive),
    Over(Ended),
}

/// What an agent at work shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Alive {
    Working,
    Asking {
        question: Text<1000>,
    },
    /// It has said that it is done, and waits for what comes of it.
    Claiming,
    /// It works, and there is something to be told about how full its context is, in per cent.
    Filling {
        about: About,
        percent: u8,
    },
    /// Its context is used up as far as it may be.
    Full,
    /// No sign of life of any kind.
    Wedged,
}
