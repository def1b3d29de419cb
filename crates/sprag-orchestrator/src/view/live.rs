//! What the records of a run do not say of it: who runs it now, and what of its work the target has. A screen looks for
//! itself; what it cannot find out is not known.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_host::git::refs;
use sprag_plan::ids::Commit;
use sprag_plan::view::Board;

use crate::lock;

/// Who runs a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    This,
    Nobody,
    /// The daemon of this clone is at another plan.
    Other {
        plan: String,
    },
    Unknown,
}

pub fn runner(run: &Path, plan: &str) -> Runner {
    match (lock::ruler(run), crate::lock::ruled(run)) {
        (Ok(None), _) => Runner::Nobody,
        (Ok(Some(_)), Some(ruled)) if ruled == plan => Runner::This,
        (Ok(Some(_)), Some(ruled)) => Runner::Other { plan: ruled },
        // Whoever is confined may not see it.
        (Ok(Some(_)), None) | (Err(_), _) => Runner::Unknown,
    }
}

/// What of the merged work the target has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// All but these commits.
    Without(BTreeSet<String>),
    Unknown,
}

impl Landed {
    /// Of the run of a board in this checkout.
    pub fn look(root: Option<&Path>, board: &Board) -> Landed {
        let (trunk, target) =
            (format!("refs/sprag/{}/trunk", board.plan), format!("refs/heads/{}", board.target));
        let missing = root.and_then(|root| refs::missing(root, &trunk, &target).ok()).flatten();
        missing.map_or(Landed::Unknown, |missing| Landed::Without(missing.into_iter().collect()))
    }

    /// Whether the target has it; `None`: nobody knows.
    pub fn has(&self, merged: &Commit) -> Option<bool> {
        match self {
            Landed::Without(missing) => Some(!missing.contains(merged.0.as_str())),
            Landed::Unknown => None,
        }
    }

    pub fn has_all(&self) -> Option<bool> {
        match self {
            Landed::Without(missing) => Some(missing.is_empty()),
            Landed::Unknown => None,
        }
    }
}
