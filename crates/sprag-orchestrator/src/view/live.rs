//! Facts about a run that its records do not have: which process runs it, and which of its work is on the
//! target. Unavailable facts are unknown.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_host::git::refs;
use sprag_plan::ids::CommitId;
use sprag_plan::view::RunBoard;

use crate::lock;

/// The daemon of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOwner {
    This,
    Nobody,
    /// The daemon of this clone runs another plan.
    Other {
        plan: String,
    },
    Unknown,
}

pub fn runner(run: &Path, plan: &str) -> RunOwner {
    match (lock::ruler(run), crate::lock::ruled(run)) {
        (Ok(None), _) => RunOwner::Nobody,
        (Ok(Some(_)), Some(ruled)) if ruled == plan => RunOwner::This,
        (Ok(Some(_)), Some(ruled)) => RunOwner::Other { plan: ruled },
        // A sandboxed process may not see the lock.
        (Ok(Some(_)), None) | (Err(_), _) => RunOwner::Unknown,
    }
}

/// The merged work that the target contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandedState {
    /// All except these commits.
    Without(BTreeSet<String>),
    Unknown,
}

impl LandedState {
    /// Reads the state of a board's run in this checkout.
    pub fn read(root: Option<&Path>, board: &RunBoard) -> LandedState {
        let (trunk, target) =
            (format!("refs/sprag/{}/trunk", board.plan), format!("refs/heads/{}", board.target));
        let missing = root.and_then(|root| refs::missing(root, &trunk, &target).ok()).flatten();
        missing.map_or(LandedState::Unknown, |missing| LandedState::Without(missing.into_iter().collect()))
    }

    /// Reports whether the target contains a commit; `None` if unknown.
    pub fn has(&self, merged: &CommitId) -> Option<bool> {
        match self {
            LandedState::Without(missing) => Some(!missing.contains(merged.0.as_str())),
            LandedState::Unknown => None,
        }
    }

    pub fn has_all(&self) -> Option<bool> {
        match self {
            LandedState::Without(missing) => Some(missing.is_empty()),
            LandedState::Unknown => None,
        }
    }
}
