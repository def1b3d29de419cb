//! What the records of a run do not say of it: who runs it now, and what of its work the target has. A screen looks for
//! itself; what it cannot find out is not known.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_host::git::refs;
use sprag_plan::ids::CommitId;
use sprag_plan::view::RunBoard;

use crate::lock;

/// Who runs a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOwner {
    This,
    Nobody,
    /// The daemon of this clone is at another plan.
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
        // Whoever is confined may not see it.
        (Ok(Some(_)), None) | (Err(_), _) => RunOwner::Unknown,
    }
}

/// What of the merged work the target has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandedState {
    /// All but these commits.
    Without(BTreeSet<String>),
    Unknown,
}

impl LandedState {
    /// Of the run of a board in this checkout.
    pub fn read(root: Option<&Path>, board: &RunBoard) -> LandedState {
        let (trunk, target) =
            (format!("refs/sprag/{}/trunk", board.plan), format!("refs/heads/{}", board.target));
        let missing = root.and_then(|root| refs::missing(root, &trunk, &target).ok()).flatten();
        missing.map_or(LandedState::Unknown, |missing| LandedState::Without(missing.into_iter().collect()))
    }

    /// Whether the target has it; `None`: nobody knows.
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
