//! How much two statements say the same: the mean of how many words and how many runs of three characters
//! they share. A number, a name in code, a path or a `not` that only one of them has is a guard: whatever
//! the score, they may mean the opposite.

use std::collections::BTreeSet;

use sprag_core::memory::propose::Likeness;

pub struct Said {
    words: BTreeSet<String>,
    runs: BTreeSet<[char; 3]>,
    guards: BTreeSet<String>,
}

impl Said {
    pub fn of(text: &str) -> Said {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
        let spaced: Vec<char> = format!(" {} ", words.join(" ")).chars().collect();
        Said {
            guards: words.iter().filter(|word| is_guard(word)).map(|word| (*word).to_owned()).collect(),
            runs: spaced.windows(3).map(|run| [run[0], run[1], run[2]]).collect(),
            words: words
                .iter()
                .filter(|word| !SMALL.contains(word))
                .map(|word| stem(word).to_owned())
                .collect(),
        }
    }

    /// Words both have, to find what is worth comparing.
    pub fn shared(&self, other: &Said) -> usize {
        self.words.intersection(&other.words).count()
    }
}

pub fn score(a: &Said, b: &Said) -> f32 {
    (jaccard(&a.words, &b.words) + jaccard(&a.runs, &b.runs)) / 2.0
}

/// `None`: they have little in common.
pub fn likeness(a: &Said, b: &Said) -> Option<(f32, Likeness)> {
    let score = score(a, b);
    Likeness::of(score, a.guards != b.guards).map(|likeness| (score, likeness))
}

fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> f32 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f32 / all as f32 }
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-".contains(c)).trim_matches('-')
}

/// Words that carry no meaning of their own.
const SMALL: &[&str] =
    &["a", "an", "the", "of", "to", "in", "is", "are", "it", "and", "or", "on", "at", "be", "by", "for"];

fn is_guard(word: &str) -> bool {
    const NEGATIONS: &[&str] = &[
        "not", "no", "never", "without", "cannot", "don't", "doesn't", "isn't", "can't", "won't", "unless",
        "before", "after",
    ];
    word.chars().any(|c| c.is_ascii_digit())
        || word.contains(['/', '_', '.', ':'])
        || NEGATIONS.contains(&word)
}

fn stem(word: &str) -> &str {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3);
    ["ing", "ed", "es", "s"].iter().find_map(|ending| cut(ending)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(a: &str, b: &str) -> Option<Likeness> {
        likeness(&Said::of(a), &Said::of(b)).map(|(_, likeness)| likeness)
    }

    #[test]
    fn the_same_words_are_the_same_and_a_guard_is_in_the_way() {
        assert_eq!(
            compared("the parser drops the last line", "The parser drops last lines."),
            Some(Likeness::Same)
        );
        assert_eq!(
            compared("the timeout is 30 seconds", "the timeout is 20 seconds"),
            Some(Likeness::Guarded)
        );
        assert_eq!(
            compared("do run the linter on main", "do not run the linter on main"),
            Some(Likeness::Guarded)
        );
        assert_eq!(compared("the parser drops the last line", "invoices are numbered per tenant"), None);
    }
}
