//! Events of the daemon loop, and the ways it ends.

use sprag_plan::ids::EffectKey;
use sprag_plan::run::effect::EffectOutcome;

use crate::socket::requests::PendingRequest;

/// An event of the loop.
pub(crate) enum LoopEvent {
    Outcome(EffectKey, EffectOutcome),
    /// A supervisor has ended.
    Over(EffectKey),
    /// A request arrived on the socket.
    Asked(PendingRequest),
    /// A supervisor rang.
    Rung,
    /// A signal to stop the daemon.
    Signal(i32),
}

/// The state of a run when nothing can start automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every stage is merged or skipped.
    Over,
    /// The run waits for a person.
    Waits,
    /// Stopped by a request.
    Stopped,
    /// Stopped by a signal.
    Interrupted { signal: i32 },
    /// The repository was deleted.
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
