//! A commit that is merged: it was tested as exactly the tree it is, and the trunk has it.

use serde::{Deserialize, Serialize};

use crate::ids::CommitId;

/// Made by the merge queue alone, from a candidate that was tested and is on the trunk. One that is read from a
/// record is a claim until its ancestry is proved again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedCommit {
    commit: CommitId,
    tree: CommitId,
}

impl MergedCommit {
    /// The landing was found done: the trunk's history has the candidate.
    pub(crate) fn landed(commit: CommitId, tree: CommitId) -> MergedCommit {
        MergedCommit { commit, tree }
    }

    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// What was tested.
    pub fn tree(&self) -> &CommitId {
        &self.tree
    }
}
