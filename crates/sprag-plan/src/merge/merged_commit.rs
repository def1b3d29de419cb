//! A merged commit: checks passed on exactly its tree, and the trunk contains it.

use serde::{Deserialize, Serialize};

use crate::ids::CommitId;

/// Proof of a merge. Only the merge queue makes it, from a tested candidate on the trunk. A value that was
/// read from a record is a claim until its ancestry is proved again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedCommit {
    commit: CommitId,
    tree: CommitId,
}

impl MergedCommit {
    /// Makes the proof after the candidate was found in the history of the trunk.
    pub(crate) fn landed(commit: CommitId, tree: CommitId) -> MergedCommit {
        MergedCommit { commit, tree }
    }

    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// Returns the tree that was tested.
    pub fn tree(&self) -> &CommitId {
        &self.tree
    }
}
