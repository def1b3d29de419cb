//! Scores how specific a statement is to this project. "Write clean code" is true everywhere and helps
//! nowhere; a statement that names a file, an identifier, a version or a number is useful. A name counts in
//! full only if it exists, because technical words are easy to invent.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::learning::Candidate;

/// Statements below this score fit any project.
pub const REJECTED: f32 = 1.5;
/// Statements below this score lose confidence.
pub const LOWERED: f32 = 3.0;
const MOST: f32 = 5.0;

/// The weights of a name that exists, of a word that looks like a name, and of an uncommon word.
const THERE: f32 = 1.0;
const LOOKS: f32 = 0.4;
const UNCOMMON: f32 = 0.15;
/// The weight of an uncommon tag that does not exist as a name.
const UNCOMMON_TAG: f32 = 0.2;
/// Each further name counts less by this factor.
const FADING: f32 = 0.85;
/// The least number of words for the density, so that one name does not dominate a short statement.
const WORDS_LEAST: usize = 30;
/// The limit on names to look up.
const ASKED: usize = 200;

/// Returns a score from 0 (fits any project) to 5. `known` holds the [`names`] that exist.
pub fn specificity(candidate: &Candidate, known: &BTreeSet<String>) -> f32 {
    let text = format!("{}\n{}", candidate.summary, candidate.detail);
    if !is_spaced(&text) {
        // Text without spaces has no separable words, so it gets a neutral score.
        return LOWERED;
    }
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let per_hundred = 100.0 / words.max(WORDS_LEAST) as f32;
    let mut weights: Vec<f32> = entities(&text).iter().map(|entity| entity.weight(known)).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let mut fading = 1.0;
    let mut sum = 0.0;
    for weight in weights {
        sum += weight * fading;
        fading *= FADING;
    }
    let tags: f32 = candidate.tags.iter().map(|tag| tag_weight(tag.as_str(), known)).sum();
    let tags = tags / candidate.tags.len().max(1) as f32;
    let generic = generic_phrases(&text) as f32 * per_hundred;
    (0.4 * sum * per_hundred + 2.0 * tags + 0.2 * (MOST - (1.5 * generic).min(MOST))).clamp(0.0, MOST)
}

/// Returns the names to look up: paths, identifiers and words that could be file names.
pub fn names(candidate: &Candidate) -> BTreeSet<String> {
    let text = format!("{}\n{}", candidate.summary, candidate.detail);
    let tags = candidate.tags.iter().map(|tag| tag.as_str().to_lowercase());
    let named =
        entities(&text).into_iter().filter(|entity| entity.sort != Sort::Quantity).map(|entity| entity.name);
    named.chain(tags).take(ASKED).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NamedEntity {
    /// The name in lower case.
    name: String,
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Quantity,
    Name,
    Word,
}

impl NamedEntity {
    fn weight(&self, known: &BTreeSet<String>) -> f32 {
        match self.sort {
            Sort::Quantity => THERE,
            Sort::Name | Sort::Word if known.contains(&self.name) => THERE,
            Sort::Name => LOOKS,
            Sort::Word => UNCOMMON,
        }
    }
}

fn entities(text: &str) -> BTreeSet<NamedEntity> {
    let mut found = BTreeSet::new();
    let mut last = None;
    for (raw, is_code) in pieces(text) {
        let word = raw.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-.$@~#*".contains(c));
        let word = word.trim_end_matches(['.', '-', ',']).trim_matches('*');
        let before = last.replace(raw);
        let name = word.to_lowercase();
        if !name.chars().any(char::is_alphanumeric) {
            continue;
        }
        let sort = if is_quantity(word) {
            Sort::Quantity
        } else if looks_like_name(word, before) || (is_code && !is_common(&name)) {
            Sort::Name
        } else if name.chars().count() >= 4
            && !is_common(&name)
            && name.chars().all(|c| c.is_alphabetic() || c == '-')
        {
            Sort::Word
        } else {
            continue;
        };
        let name = if sort == Sort::Word { stem(&name).to_owned() } else { name };
        // Another spelling of the same name does not count twice.
        if !found.iter().any(|known: &NamedEntity| known.name == name) {
            found.insert(NamedEntity { name, sort });
        }
    }
    found
}

/// Returns the words of a text, and whether each is inside inline code.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split('`')
        .enumerate()
        .flat_map(|(at, part)| part.split_whitespace().map(move |word| (word, at % 2 == 1)))
}

/// Reports whether a word is a number, also with a unit or in a version: `30s`, `v1.2.3`, `8080`, `#412`,
/// `50%`.
fn is_quantity(word: &str) -> bool {
    let digits = word.trim_start_matches(['v', 'V', '#', '~', '$', '>', '<', '=', '-']);
    let count = digits.chars().take_while(|c| c.is_ascii_digit() || ".,:-_x".contains(*c)).count();
    let unit = digits.chars().skip(count);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && unit.clone().count() <= 4
        && unit.into_iter().all(|c| c.is_alphabetic() || c == '%')
}

fn looks_like_name(word: &str, before: Option<&str>) -> bool {
    let starts_sentence = before.is_none_or(|word| word.ends_with(['.', '!', '?', ':']));
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let has_letter = inner.chars().any(char::is_alphabetic);
    let chars: Vec<char> = inner.chars().collect();
    let is_camel = chars.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let is_upper = chars.len() >= 2 && chars.iter().all(|c| c.is_uppercase() || c.is_ascii_digit());
    let is_joined = inner.contains(['_', '/', '.', '@', '=', ':', '(', '\\', '+']) && has_letter;
    let is_flag =
        word.starts_with("--") || word.starts_with('$') || word.starts_with('@') || word.starts_with("./");
    let is_proper = chars.first().is_some_and(|c| c.is_uppercase()) && !starts_sentence && chars.len() >= 3;
    has_letter
        && (is_camel
            || is_upper
            || (is_joined && !is_slashed_words(inner))
            || is_flag
            || (is_proper && !is_common(&inner.to_lowercase())))
}

/// Reports whether a word is two common words with a slash, such as `and/or`, and not a path.
fn is_slashed_words(word: &str) -> bool {
    word.contains('/')
        && !word.contains(['.', '_'])
        && word.split('/').all(|part| is_common(&part.to_lowercase()))
}

fn tag_weight(tag: &str, known: &BTreeSet<String>) -> f32 {
    let name = tag.to_lowercase();
    let parts = || name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    if parts().all(is_common) {
        return 0.0;
    }
    match known.contains(&name) || is_quantity(tag) {
        true => THERE,
        false if name.contains(['/', '.', '_', ':']) => LOOKS,
        false => UNCOMMON_TAG,
    }
}

static COMMON: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| include_str!("common.txt").split_whitespace().map(stem).collect());

/// Reports whether a word occurs in every project.
fn is_common(word: &str) -> bool {
    word.split('-').filter(|part| !part.is_empty()).all(|part| COMMON.contains(stem(part)))
}

/// Removes common English endings. It is coarse, but the same on both sides of a comparison.
fn stem(word: &str) -> &str {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3);
    ["ingly", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "er", "ers", "s", "e", "y"]
        .iter()
        .find_map(|ending| cut(ending))
        .unwrap_or(word)
}

/// Phrases without content.
const GENERIC: &[&str] = &[
    "best practice",
    "clean code",
    "code quality",
    "high quality",
    "good code",
    "quality code",
    "be careful",
    "pay attention",
    "is important",
    "are important",
    "important to",
    "is essential",
    "is crucial",
    "is key",
    "well tested",
    "well-tested",
    "test your",
    "test everything",
    "test thoroughly",
    "tests are good",
    "keep it simple",
    "easy to read",
    "easier to read",
    "easy to maintain",
    "easier to maintain",
    "easier to understand",
    "maintainable code",
    "readable code",
    "follow the conventions",
    "follow conventions",
    "follow existing patterns",
    "existing patterns",
    "read the docs",
    "read the documentation",
    "read the code",
    "double check",
    "double-check",
    "think before",
    "take your time",
    "step by step",
    "about the codebase",
    "the codebase before",
    "understand the code",
    "understanding the code",
    "various things",
    "many things",
    "and so on",
    "in general",
    "as needed",
    "when necessary",
    "good idea",
    "good practice",
    "communicate clearly",
    "edge cases",
    "handle errors",
    "error handling is",
    "saves time",
    "save time",
    "in the long run",
    "over time",
    "write tests",
    "commit often",
    "small commits",
    "meaningful names",
    "don't repeat yourself",
];

fn generic_phrases(text: &str) -> usize {
    let text: String = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    GENERIC.iter().map(|phrase| text.matches(phrase).count()).sum()
}

/// Reports whether the script puts spaces between words. Chinese and Japanese do not.
fn is_spaced(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let unspaced = text
        .chars()
        .filter(|c| matches!(*c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{e00}'..='\u{e7f}'));
    unspaced.count() * 3 < letters.max(1)
}

#[cfg(test)]
mod tests;
