//! From signals to one number: how likely it is that a text is what was asked for. Signals add up as log-odds
//! and none is capped or stretched by the list it is in, so that nothing good enough is an answer too.

use sprag_core::memory::learning::Category;
use sprag_core::memory::usage::Uses;
use sprag_core::time::Timestamp;

use crate::query::Signals;

/// What each signal counts, fitted on labelled questions. Another fit is another version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub version: u32,
    pub bias: f32,
    pub coverage: f32,
    pub cosine: f32,
    /// More for meaning where words are not shared.
    pub thin: f32,
    pub files: f32,
    pub names: f32,
}

pub const WEIGHTS: Weights =
    Weights { version: 1, bias: -5.0, coverage: 8.0, cosine: 8.0, thin: 0.0, files: 3.0, names: 0.5 };

impl Weights {
    /// Log-odds.
    pub fn score(&self, signals: &Signals) -> f32 {
        let meaning = signals.cosine.max(0.0);
        self.bias
            + self.coverage * signals.coverage
            + (self.cosine + self.thin * (1.0 - signals.coverage).clamp(0.0, 1.0)) * meaning
            + self.files * signals.files
            + self.names * signals.names.unwrap_or_default()
    }
}

/// What log-odds come to.
pub fn probability(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}

/// How far age and use may move a score: 1 is as far as they usually do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widths {
    pub recency: f32,
    pub usage: f32,
}

/// Days after which a text is half as fresh.
const HALF_LIFE: f32 = 90.0;

/// What age and use make of it, as log-odds.
pub fn standing(
    at: Timestamp,
    category: Option<Category>,
    uses: &Uses,
    now: Timestamp,
    widths: Widths,
) -> f32 {
    let stale = if uses.status == sprag_core::memory::learning::Status::Stale { 0.9f32.ln() } else { 0.0 };
    widths.recency * recency(at, category, now).ln() + widths.usage * usage(uses).ln() + stale
}

/// From .85 to 1.15. What a project agreed on ages slower than what went wrong once.
fn recency(at: Timestamp, category: Option<Category>, now: Timestamp) -> f32 {
    let slow = match category {
        Some(Category::Convention | Category::Domain | Category::Pattern) => 2.0,
        Some(Category::Pitfall | Category::Dependency | Category::Process | Category::Debugging) | None => {
            1.0
        }
    };
    let days = (now.seconds_since(at) as f32 / 86_400.0).max(0.0);
    0.85 + 0.3 * 0.5f32.powf(days / (HALF_LIFE * slow))
}

/// From .8 to 1.2, by how often being shown was of use; what was never shown is where it starts.
fn usage(uses: &Uses) -> f32 {
    const START: f32 = 0.25;
    let used = f32::from(uses.referred) + 0.5 * f32::from(uses.implied) + f32::from(uses.rated_up);
    let shown = f32::from(uses.surfaced).max(used) + f32::from(uses.rated_down);
    let rate = (1.0 + used) / (4.0 + shown);
    match rate >= START {
        true => 1.0 + 0.2 * (rate - START) / (1.0 - START),
        false => 1.0 - 0.2 * (START - rate) / START,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_speaks_for_a_text() {
        let none = WEIGHTS.score(&Signals::default());
        for signals in [
            Signals { coverage: 0.5, ..Signals::default() },
            Signals { cosine: 0.5, ..Signals::default() },
            Signals { files: 0.5, ..Signals::default() },
            Signals { names: Some(0.5), ..Signals::default() },
        ] {
            assert!(WEIGHTS.score(&signals) > none, "{signals:?}");
        }
        assert!(probability(none) < 0.1, "nothing in common is no hit");
        let opposite = Signals { cosine: -1.0, ..Signals::default() };
        assert_eq!(WEIGHTS.score(&opposite), none, "meaning the contrary is not less than nothing");
    }

    #[test]
    fn being_shown_in_vain_costs_little_and_never_everything() {
        let shown = |surfaced| usage(&Uses { surfaced, ..Uses::default() });
        assert_eq!(shown(0), 1.0);
        assert!(shown(1) < 1.0 && shown(10) < shown(1) && shown(u16::MAX) >= 0.8);
        let used = usage(&Uses { surfaced: 10, referred: 10, ..Uses::default() });
        assert!(used > 1.1 && used <= 1.2, "{used}");
    }

    #[test]
    fn age_stays_within_its_bounds() {
        let now = Timestamp::from_millis(1_794_733_261_000);
        let aged = |days: i64| recency(now.plus_seconds(-days * 86_400), None, now);
        assert!((aged(0) - 1.15).abs() < 1e-3);
        assert!((aged(90) - 1.0).abs() < 1e-3 && aged(100_000) >= 0.85);
        assert_eq!(aged(-5), aged(0), "what comes from the future is new");
    }
}
