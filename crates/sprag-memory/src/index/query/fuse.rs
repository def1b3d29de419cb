//! Combines signals into the probability that a text answers the query. Signals add up as log-odds. No signal
//! is capped or scaled by the other hits, so "no good answer" is a possible result.

use sprag_base::time::Timestamp;

use crate::index::query::Signals;
use crate::learning::Category;
use crate::usage::Uses;

/// Properties of the query, independent of the hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryStats {
    /// The coverage of the tenth best hit. If many texts match equally well, none is the right one.
    pub crowd: f32,
    /// The weight share of query words that no document has.
    pub unknown: f32,
    /// Near 1 for a small memory: few texts match by chance.
    pub few: f32,
    /// The query has only files.
    pub is_wordless: bool,
}

/// Weights of the signals, fitted on labelled queries. Another fit gets another version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalWeights {
    pub version: u32,
    pub bias: f32,
    /// For the square root of coverage: the first shared words count more than later ones.
    pub coverage: f32,
    pub cosine: f32,
    /// Extra weight for vector similarity if few words are shared.
    pub thin: f32,
    pub files: f32,
    pub names: f32,
    /// Counts against a hit.
    pub crowd: f32,
    /// Counts against a hit.
    pub unknown: f32,
    pub few: f32,
    /// Replaces the bias if the query has only files.
    pub wordless: f32,
}

pub const WEIGHTS: SignalWeights = SignalWeights {
    version: 1,
    bias: -10.7,
    coverage: 14.4,
    cosine: 7.0,
    thin: 7.0,
    files: 8.6,
    names: 0.5,
    crowd: 11.9,
    unknown: 4.7,
    few: 1.0,
    wordless: -4.5,
};

impl SignalWeights {
    /// Returns log-odds.
    pub fn score(&self, signals: &Signals, around: &QueryStats) -> f32 {
        let coverage = signals.coverage.clamp(0.0, 1.0);
        let meaning = self.cosine + self.thin * (1.0 - coverage);
        let base = if around.is_wordless {
            self.wordless
        } else {
            self.bias + self.few * around.few - self.crowd * around.crowd - self.unknown * around.unknown
        };
        base + self.coverage * coverage.sqrt()
            + meaning * signals.cosine.max(0.0)
            + self.files * signals.files
            + self.names * signals.names.unwrap_or_default()
    }
}

/// Converts log-odds to a probability.
pub fn probability(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}

/// The influence of age and use; 1 is the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widths {
    pub recency: f32,
    pub usage: f32,
}

/// The half-life of freshness in days.
const HALF_LIFE: f32 = 90.0;

/// Returns the effect of age and use as log-odds.
pub fn standing(
    at: Timestamp,
    category: Option<Category>,
    uses: &Uses,
    now: Timestamp,
    widths: Widths,
) -> f32 {
    let stale = if uses.status == crate::learning::LearningStatus::Stale { 0.9f32.ln() } else { 0.0 };
    widths.recency * recency(at, category, now).ln() + widths.usage * usage(uses).ln() + stale
}

/// Returns a factor from .85 to 1.15. Conventions, domain facts and patterns age more slowly.
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

/// Returns a factor from .8 to 1.2 by the rate of use. A learning that was never shown has the start rate.
fn usage(uses: &Uses) -> f32 {
    const START: f32 = 0.25;
    let used = f32::from(uses.referred) + 0.5 * f32::from(uses.implied) + f32::from(uses.rated_up);
    let shown = f32::from(uses.surfaced).max(used) + f32::from(uses.rated_down);
    let rate = (1.0 + used) / (4.0 + shown);
    if rate >= START {
        1.0 + 0.2 * (rate - START) / (1.0 - START)
    } else {
        1.0 - 0.2 * (START - rate) / START
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_speaks_for_a_text() {
        let score = |signals: &Signals| WEIGHTS.score(signals, &QueryStats::default());
        let none = score(&Signals::default());
        for signals in [
            Signals { coverage: 0.5, ..Signals::default() },
            Signals { cosine: 0.5, ..Signals::default() },
            Signals { files: 0.5, ..Signals::default() },
            Signals { names: Some(0.5), ..Signals::default() },
        ] {
            assert!(score(&signals) > none, "{signals:?}");
        }
        assert!(probability(none) < 0.1, "nothing in common is no hit");
        let opposite = Signals { cosine: -1.0, ..Signals::default() };
        assert_eq!(score(&opposite), none, "meaning the contrary is not less than nothing");
    }

    #[test]
    fn a_crowd_and_unknown_words_speak_against_every_hit() {
        let hit = Signals { coverage: 0.5, cosine: 0.5, ..Signals::default() };
        let score = |around| WEIGHTS.score(&hit, &around);
        let alone = score(QueryStats::default());
        assert!(score(QueryStats { crowd: 0.4, ..QueryStats::default() }) < alone);
        assert!(score(QueryStats { unknown: 0.4, ..QueryStats::default() }) < alone);
    }

    #[test]
    fn a_file_alone_is_enough_if_it_is_the_very_one() {
        let around = QueryStats { is_wordless: true, ..QueryStats::default() };
        let of = |files| probability(WEIGHTS.score(&Signals { files, ..Signals::default() }, &around));
        assert!(of(0.8) > 0.6 && of(0.3) < 0.25, "{} {}", of(0.8), of(0.3));
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
