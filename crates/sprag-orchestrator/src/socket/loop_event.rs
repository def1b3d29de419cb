//! Events of the loop of a run, and how it ends.

use sprag_plan::ids::EffectKey;
use sprag_plan::run::effect::EffectOutcome;

use crate::socket::requests::PendingRequest;

/// Something happened.
pub(crate) enum LoopEvent {
    Outcome(EffectKey, EffectOutcome),
    /// A supervisor is gone.
    Over(EffectKey),
    /// Somebody wants something.
    Asked(PendingRequest),
    /// A supervisor wants it to be looked at.
    Rung,
    /// Somebody wants us to end who has no better word for it.
    Signal(i32),
}

/// How a run stands when nothing more happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
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

impl RunEnd {
    pub fn name(self) -> &'static str {
        match self {
            RunEnd::Over => "over",
            RunEnd::Waits => "waits",
            RunEnd::Stopped | RunEnd::Interrupted { .. } => "stopped",
            RunEnd::Gone => "gone",
        }
    }
}
