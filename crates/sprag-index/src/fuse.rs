//! From signals to one probability that a document is what was asked for.

use crate::query::Signals;

pub fn probability(signals: &Signals) -> f32 {
    let sum = 0.5 * signals.coverage + 0.5 * signals.cosine.max(0.0) + 0.3 * signals.files;
    sum.clamp(0.0, 1.0)
}
