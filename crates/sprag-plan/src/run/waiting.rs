//! Why a stage waits.

use sprag_base::time::Timestamp;

use crate::ids::{EffectKey, StageId};
use crate::stage::{ReviewReason, StageFailure};

/// Why a stage that could start does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartBlocker {
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
pub enum WaitingReason {
    /// What it builds on is not merged.
    Waits {
        on: Vec<StageId>,
    },
    Held(StartBlocker),
    /// Something is being done for it.
    Doing {
        key: EffectKey,
    },
    /// An agent is at work.
    Agent {
        session: EffectKey,
    },
    /// Others are before it in the queue.
    Queued {
        entry: u64,
    },
    /// A person is asked.
    Asked,
    Reviewed {
        case: ReviewReason,
    },
    Blocked {
        failure: StageFailure,
    },
    /// The next look at it changes that.
    Next,
}
