//! Events of the loop of a run, and how it ends.

use sprag_plan::ids::Key;
use sprag_plan::run::record::Outcome;

use crate::socket::requests::Asked;

/// Something happened.
pub(crate) enum News {
    Outcome(Key, Outcome),
    /// A supervisor is gone.
    Over(Key),
    /// Somebody wants something.
    Asked(Asked),
    /// A supervisor wants it to be looked at.
    Rung,
    /// Somebody wants us to end who has no better word for it.
    Signal(i32),
}

/// How a run stands when nothing more happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Every stage is merged or skipped.
    Over,
    /// A person has to say something.
    Waits,
    /// Somebody told us to end.
    Stopped,
    /// The same, by a signal.
    Interrupted { signal: i32 },
    /// Somebody has deleted what it stands on.
    Gone,
}

impl Rest {
    pub fn name(self) -> &'static str {
        match self {
            Rest::Over => "over",
            Rest::Waits => "waits",
            Rest::Stopped | Rest::Interrupted { .. } => "stopped",
            Rest::Gone => "gone",
        }
    }
}
