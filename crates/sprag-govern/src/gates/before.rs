//! Actions that change the world before the decision. The host performs them in one place. Questions and
//! answers change nothing.

use sprag_base::text::Text;

use crate::facts::ProtectedDamage;
use crate::gates::stale::facts::StaleFacts;
use crate::gates::stale::file_access::FileAccess;
use crate::gates::stale::read_set::ReadHistory;

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Compare the protected files with their sealed state, and restore changed ones.
    CompareProtected,
    /// Keep the worktree before the first change of the session.
    TakeBaseline,
    /// Lease the files that a call is about to write, or settle the leases after the call.
    LeaseFiles { files: Vec<FileAccess>, history: ReadHistory },
}

impl Before {
    /// Reports whether the action may take long; the host then releases the journal.
    pub fn is_slow(&self) -> bool {
        *self == Before::TakeBaseline
    }
}

/// The results of the actions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    pub restored: Vec<ProtectedDamage>,
    /// The name of the stored baseline.
    pub baseline: Option<Text<256>>,
    pub leases: Option<StaleFacts>,
}
