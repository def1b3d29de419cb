//! An effect that was begun and of which nobody knows what became: what a look at the world says about it.

use super::record::{Effect, Outcome};
use super::stage::Commit;
use crate::text::Text;

/// What a look showed.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// There is no trace of it.
    Nothing,
    /// A worktree that descends from its base.
    Worktree { base: Commit },
    /// Half of one: what is in it was kept, and it was cleared away.
    HalfMade,
    /// Its lock is held, its exit is written down, or its claim was swept: there was such a session.
    Session,
    /// The salvaged state is there already.
    Salvaged { carry: Text<64> },
    /// Where the trunk is, and whether it has the candidate.
    Trunk { at: Commit, has: Has },
    /// What was to be gone is gone.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has {
    Candidate,
    Not,
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// It is done: this came of it.
    Done(Outcome),
    /// It is done again, under the same key.
    Again,
}

pub fn resolve(effect: &Effect, found: &Found) -> Resolution {
    use Resolution::{Again, Done};
    match (effect, found) {
        (Effect::AddWorktree { .. }, Found::Worktree { base }) => {
            Done(Outcome::Worktree { base: base.clone() })
        }
        (Effect::Spawn { .. }, Found::Session) => Done(Outcome::Spawned),
        (Effect::Salvage { .. }, Found::Salvaged { carry }) => {
            Done(Outcome::Salvaged { carry: carry.clone() })
        }
        (Effect::Kill { .. } | Effect::RemoveWorktree { .. }, Found::Gone) => Done(Outcome::Done),
        (Effect::Land { .. } | Effect::Promote { .. }, Found::Trunk { has: Has::Candidate, .. }) => {
            Done(Outcome::Done)
        }
        (Effect::Land { from, .. }, Found::Trunk { at, has: Has::Not }) if at != from => {
            Done(Outcome::Elsewhere { trunk: at.clone() })
        }
        // Candidates have all that makes their name fixed beforehand, checks are bound to a tree, and the rest
        // is known again by its key: once more is the same.
        (
            Effect::AddWorktree { .. }
            | Effect::Setup { .. }
            | Effect::Check { .. }
            | Effect::WriteBrief { .. }
            | Effect::Spawn { .. }
            | Effect::Nudge { .. }
            | Effect::Interrupt { .. }
            | Effect::Kill { .. }
            | Effect::Salvage { .. }
            | Effect::Candidate { .. }
            | Effect::Gate { .. }
            | Effect::Land { .. }
            | Effect::Promote { .. }
            | Effect::RemoveWorktree { .. }
            | Effect::Notify { .. },
            _,
        ) => Again,
    }
}
