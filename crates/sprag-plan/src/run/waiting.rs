//! Reasons why a stage waits.

use sprag_base::time::Timestamp;

use crate::ids::{EffectKey, StageId};
use crate::stage::{ReviewReason, StageFailure};

/// Reason why a ready stage does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartBlocker {
    /// A person put it on hold.
    Told,
    Until(Timestamp),
    /// The account of its client is at a limit.
    Account(Timestamp),
    /// Too many agents crashed lately.
    Breaker(Timestamp),
    Slots,
    Group,
    /// It is exclusive, or an active stage is.
    Exclusive,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WaitingReason {
    /// Some dependencies are not merged.
    Waits {
        on: Vec<StageId>,
    },
    Held(StartBlocker),
    /// An effect is under way for it.
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
    /// A person has to answer.
    Asked,
    Reviewed {
        case: ReviewReason,
    },
    Blocked {
        failure: StageFailure,
    },
    /// The next pass of the reconciler continues it.
    Next,
}
