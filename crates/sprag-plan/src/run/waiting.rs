//! Why a stage waits.

use sprag_base::time::Timestamp;

use crate::ids::{Key, StageId};
use crate::stage::{Case, Failure};

/// Why a stage that could start does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// By a person.
    Told,
    Until(Timestamp),
    /// The account of its client has reached a limit.
    Account(Timestamp),
    /// Too much has crashed lately.
    Breaker(Timestamp),
    Slots,
    Group,
    /// It wants to be alone, or somebody else does.
    Exclusive,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// What it builds on is not merged.
    Waits {
        on: Vec<StageId>,
    },
    Held(Held),
    /// Something is being done for it.
    Doing {
        key: Key,
    },
    /// An agent is at work.
    Agent {
        session: Key,
    },
    /// Others are before it in the queue.
    Queued {
        entry: u64,
    },
    /// A person is asked.
    Asked,
    Reviewed {
        case: Case,
    },
    Blocked {
        failure: Failure,
    },
    /// The next look at it changes that.
    Next,
}
