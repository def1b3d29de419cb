//! Measures rankings and duplicate scores against labelled data. It uses standard metrics with confidence
//! intervals, so that noise does not pass for a difference.

use std::collections::HashSet;

/// The metrics of one query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rank {
    pub recall_5: f64,
    pub recall_10: f64,
    pub reciprocal: f64,
    pub ndcg_10: f64,
}

impl Rank {
    /// Computes the metrics. `ranked` starts with the best; repeated ids count once. `None`: the key is
    /// empty.
    pub fn measure(ranked: &[String], key: &HashSet<String>) -> Option<Rank> {
        if key.is_empty() {
            return None;
        }
        let mut seen = HashSet::new();
        let top: Vec<bool> = ranked
            .iter()
            .filter(|id| seen.insert(id.as_str()))
            .take(10)
            .map(|id| key.contains(id.as_str()))
            .collect();
        let discount = |at: usize| 1.0 / ((at + 2) as f64).log2();
        let hits = |most: usize| top.iter().take(most).filter(|hit| **hit).count() as f64;
        let gain: f64 = top.iter().enumerate().filter(|(_, hit)| **hit).map(|(at, _)| discount(at)).sum();
        let ideal: f64 = (0..key.len().min(10)).map(discount).sum();
        let first = top.iter().position(|hit| *hit);
        Some(Rank {
            recall_5: hits(5) / key.len() as f64,
            recall_10: hits(10) / key.len() as f64,
            reciprocal: first.map_or(0.0, |at| 1.0 / (at + 1) as f64),
            ndcg_10: gain / ideal,
        })
    }
}

pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the 95% interval of the mean, from `rounds` bootstrap samples with a fixed seed.
pub fn interval(values: &[f64], rounds: usize) -> (f64, f64) {
    if values.is_empty() || rounds == 0 {
        return (0.0, 0.0);
    }
    let mut random = Random(7);
    let mut means: Vec<f64> = (0..rounds)
        .map(|_| {
            let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((share * rounds as f64) as usize).min(rounds - 1)];
    (at(0.025), at(0.975))
}

/// A small seeded generator for sampling.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % end as u64) as usize
    }
}

/// The power of a score to separate equal pairs from others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Separation {
    pub auc: f64,
    /// The largest recall at a precision of at least 90%, or 95%.
    pub recall_at_90: f64,
    pub recall_at_95: f64,
}

/// With fewer pairs than this, precision has no meaning.
const LEAST: usize = 20;

impl Separation {
    /// Computes the metrics from pairs of a score and whether both sides are the same. `None`: one of the two
    /// classes is missing.
    pub fn measure(mut pairs: Vec<(f64, bool)>) -> Option<Separation> {
        let same = pairs.iter().filter(|(_, same)| *same).count();
        let other = pairs.len() - same;
        if same == 0 || other == 0 {
            return None;
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found = Separation::default();
        let (mut right, mut wrong) = (0, 0);
        // Pairs with equal scores count as one group, because their order is random.
        for tied in pairs.chunk_by(|a, b| a.0 == b.0) {
            let more = tied.iter().filter(|(_, same)| *same).count();
            let others = tied.len() - more;
            found.auc += others as f64 * (right as f64 + more as f64 / 2.0);
            right += more;
            wrong += others;
            let precision = right as f64 / (right + wrong) as f64;
            let recall = right as f64 / same as f64;
            if right + wrong >= LEAST {
                found.recall_at_90 = if precision >= 0.90 { recall } else { found.recall_at_90 };
                found.recall_at_95 = if precision >= 0.95 { recall } else { found.recall_at_95 };
            }
        }
        found.auc /= same as f64 * other as f64;
        Some(found)
    }
}

/// Returns precision and recall if every score from `least` on counts as the same.
pub fn at_threshold(pairs: &[(f64, bool)], least: f64) -> (Option<f64>, f64) {
    let same = pairs.iter().filter(|(_, same)| *same).count();
    let taken = pairs.iter().filter(|(score, _)| *score >= least).count();
    let right = pairs.iter().filter(|(score, same)| *score >= least && *same).count();
    let precision = (taken > 0).then(|| right as f64 / taken as f64);
    (precision, if same == 0 { 0.0 } else { right as f64 / same as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(ranked: &[&str], key: &[&str]) -> Rank {
        let ranked: Vec<String> = ranked.iter().map(ToString::to_string).collect();
        Rank::measure(&ranked, &key.iter().map(ToString::to_string).collect()).unwrap()
    }

    #[test]
    fn a_ranking_is_measured_as_everybody_does() {
        let found = rank(&["x", "a", "a", "y", "b"], &["a", "b", "c"]);
        assert_eq!((found.recall_5, found.reciprocal), (2.0 / 3.0, 0.5));
        let gain = 1.0 / 3f64.log2() + 1.0 / 5f64.log2();
        let ideal = 1.0 + 1.0 / 3f64.log2() + 0.5;
        assert!((found.ndcg_10 - gain / ideal).abs() < 1e-12, "{found:?}");
        assert_eq!(rank(&[], &["a"]), Rank::default());
        assert_eq!(Rank::measure(&["a".to_owned()], &HashSet::new()), None);
    }

    #[test]
    fn a_tie_is_half_right() {
        let all_same = vec![(0.5, true), (0.5, false)];
        assert_eq!(Separation::measure(all_same).unwrap().auc, 0.5);
        assert_eq!(Separation::measure(vec![(0.9, true), (0.1, false)]).unwrap().auc, 1.0);
        assert_eq!(Separation::measure(vec![(0.9, true)]), None);
    }

    #[test]
    fn precision_is_quoted_only_of_enough_pairs() {
        let mut pairs: Vec<(f64, bool)> = (0..40).map(|at| (1.0 - f64::from(at) / 100.0, at < 30)).collect();
        pairs[5].1 = false;
        let found = Separation::measure(pairs.clone()).unwrap();
        assert!((found.recall_at_95 - 1.0).abs() < 0.04, "{found:?}");
        assert_eq!(Separation::measure(pairs[..10].to_vec()).unwrap().recall_at_90, 0.0);
        assert_eq!(at_threshold(&pairs, 2.0), (None, 0.0));
    }

    #[test]
    fn the_same_values_have_the_same_interval() {
        let values: Vec<f64> = (0..100).map(|at| f64::from(at % 2)).collect();
        let (low, high) = interval(&values, 500);
        assert_eq!((low, high), interval(&values, 500));
        assert!((0.35..0.5).contains(&low) && (0.5..0.65).contains(&high), "{low} {high}");
    }
}
