//! How much a statement is about this project, as opposed to any. "Write clean code" is true everywhere
//! and helps nowhere; what names a file, an identifier, a version or a number can be acted on. A name
//! counts in full only if it is there: words that merely look technical are easy to come by.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::learning::Candidate;

/// Below this a statement could be about anything.
pub const REJECTED: f32 = 1.5;
/// Below this it is not that sure to be of use.
pub const LOWERED: f32 = 3.0;
const MOST: f32 = 5.0;

/// What a name counts that is there, one that only looks like a name, and a word that is just not a
/// common one.
const THERE: f32 = 1.0;
const LOOKS: f32 = 0.4;
const UNCOMMON: f32 = 0.15;
/// A tag that is no common word, where nothing here is called so.
const UNCOMMON_TAG: f32 = 0.2;
/// Each further name tells less than the one before.
const FADING: f32 = 0.85;
/// One name makes a short statement no denser than this.
const WORDS_LEAST: usize = 30;
/// Names that are asked about, at most.
const ASKED: usize = 200;

/// From 0, which can be said of any project, to 5. `known` are those of [`names`] that are there.
pub fn specificity(candidate: &Candidate, known: &BTreeSet<String>) -> f32 {
    let text = format!("{}\n{}", candidate.summary, candidate.detail);
    if !is_spaced(&text) {
        // Words cannot be told apart here, so they are not held against anyone.
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

/// What a candidate names, to be looked for: paths, identifiers and words that could be names of files.
pub fn names(candidate: &Candidate) -> BTreeSet<String> {
    let text = format!("{}\n{}", candidate.summary, candidate.detail);
    let tags = candidate.tags.iter().map(|tag| tag.as_str().to_lowercase());
    let named =
        entities(&text).into_iter().filter(|entity| entity.sort != Sort::Quantity).map(|entity| entity.name);
    named.chain(tags).take(ASKED).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NamedEntity {
    /// In lower case.
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
        // The same thing in another spelling is no second one.
        if !found.iter().any(|known: &NamedEntity| known.name == name) {
            found.insert(NamedEntity { name, sort });
        }
    }
    found
}

/// The words of a text, and whether each stands in a quotation of code.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split('`')
        .enumerate()
        .flat_map(|(at, part)| part.split_whitespace().map(move |word| (word, at % 2 == 1)))
}

/// A number, with a unit or as part of a version: `30s`, `v1.2.3`, `8080`, `#412`, `50%`.
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

/// `and/or`, `read/write`: words with a slash between them are no path.
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

/// A word that is said of every project.
fn is_common(word: &str) -> bool {
    word.split('-').filter(|part| !part.is_empty()).all(|part| COMMON.contains(stem(part)))
}

/// Without the usual English endings. Coarse: both sides of a comparison go through it.
fn stem(word: &str) -> &str {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3);
    ["ingly", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "er", "ers", "s", "e", "y"]
        .iter()
        .find_map(|ending| cut(ending))
        .unwrap_or(word)
}

/// Sentences everybody has heard.
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

/// Whether words have blanks between them, as in most scripts but not in Chinese or Japanese.
fn is_spaced(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let unspaced = text
        .chars()
        .filter(|c| matches!(*c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{e00}'..='\u{e7f}'));
    unspaced.count() * 3 < letters.max(1)
}

#[cfg(test)]
mod tests;
