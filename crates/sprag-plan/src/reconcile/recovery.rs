//! An effect that was begun and of which nobody knows what became: what a look at the world says about it.

use sprag_base::text::Text;

use crate::ids::Commit;
use crate::run::record::{Effect, Outcome};

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
            | Effect::Review { .. }
            | Effect::WriteBrief { .. }
            | Effect::Spawn { .. }
            | Effect::Nudge { .. }
            | Effect::Interrupt { .. }
            | Effect::Kill { .. }
            | Effect::Salvage { .. }
            | Effect::Candidate { .. }
            | Effect::Gate { .. }
            | Effect::Land { .. }
            | Effect::Restore { .. }
            | Effect::Promote { .. }
            | Effect::RemoveWorktree { .. }
            | Effect::Notify { .. }
            | Effect::Discard { .. },
            _,
        ) => Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Key, StageId};
    use crate::run::record::{Because, Checking};

    fn commit(name: &str) -> Commit {
        Commit(Text::new(name))
    }

    #[test]
    fn what_is_there_is_not_done_again() {
        let stage = || StageId::new("a");
        let session = || Key(Text::new("r/a/1/spawn.0"));
        let land = || Effect::Land { number: 1, from: commit("old"), to: commit("new") };
        let trunk = |at: &str, has| Found::Trunk { at: commit(at), has };
        let carry: Text<64> = Text::new("h");
        let add = || Effect::AddWorktree { stage: stage(), base: commit("b") };
        let kill = || Effect::Kill { session: session(), because: Because::Over };
        let done = Resolution::Done;
        for (effect, found, resolution) in [
            (add(), Found::Worktree { base: commit("b") }, done(Outcome::Worktree { base: commit("b") })),
            (add(), Found::HalfMade, Resolution::Again),
            (add(), Found::Nothing, Resolution::Again),
            (Effect::Spawn { stage: stage() }, Found::Session, done(Outcome::Spawned)),
            (Effect::Spawn { stage: stage() }, Found::Nothing, Resolution::Again),
            (Effect::Check { stage: stage(), of: Checking::Claim }, Found::Nothing, Resolution::Again),
            (
                Effect::Salvage { stage: stage() },
                Found::Salvaged { carry: carry.clone() },
                done(Outcome::Salvaged { carry }),
            ),
            (land(), trunk("new", Has::Candidate), done(Outcome::Done)),
            (land(), trunk("later", Has::Candidate), done(Outcome::Done)),
            (land(), trunk("old", Has::Not), Resolution::Again),
            (land(), trunk("foreign", Has::Not), done(Outcome::Elsewhere { trunk: commit("foreign") })),
            (Effect::Promote { to: commit("new") }, trunk("new", Has::Candidate), done(Outcome::Done)),
            (Effect::RemoveWorktree { stage: stage() }, Found::Gone, done(Outcome::Done)),
            (Effect::RemoveWorktree { stage: stage() }, Found::Nothing, Resolution::Again),
            (kill(), Found::Gone, done(Outcome::Done)),
            (kill(), Found::Nothing, Resolution::Again),
        ] {
            assert_eq!(resolve(&effect, &found), resolution, "{effect:?} {found:?}");
        }
    }
}
