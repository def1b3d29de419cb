//! From signals to one number: how likely it is that a text is what was asked for. Signals add up as log-odds
//! and none is capped or stretched by the list it is in, so that nothing good enough is an answer too.

use sprag_base::time::Timestamp;

use crate::index::query::Signals;
use crate::learning::Category;
use crate::usage::Uses;

/// What the question is like among all that could answer it, whatever the hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryStats {
    /// Coverage of the tenth best: where many fit as well, none is what was meant.
    pub crowd: f32,
    /// Share of the question's weight in words that nothing here has.
    pub unknown: f32,
    /// Near 1 in a small store: among few there is less that fits by chance.
    pub few: f32,
    /// The question has no words, only files.
    pub is_wordless: bool,
}

/// What each signal counts, fitted on labelled questions. Another fit is another version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalWeights {
    pub version: u32,
    pub bias: f32,
    /// Of the root of it: the first words in common say more than the last.
    pub coverage: f32,
    pub cosine: f32,
    /// More for meaning where words are not shared.
    pub thin: f32,
    pub files: f32,
    pub names: f32,
    /// Against.
    pub crowd: f32,
    /// Against.
    pub unknown: f32,
    pub few: f32,
    /// In place of the bias where a question has only files.
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
    /// Log-odds.
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
    let stale = if uses.status == crate::learning::LearningStatus::Stale { 0.9f32.ln() } else { 0.0 };
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
