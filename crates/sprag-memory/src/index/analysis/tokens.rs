//! Splits text into terms, for the index and for queries. Words are stemmed, identifiers are split into
//! words, and common words are skipped on both sides.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The limit on letters of a term. Longer words are data.
const LONGEST: usize = 40;

/// Passes every term of a text in order.
pub fn terms(text: &str, mut take: impl FnMut(&str)) {
    each_word(text, |word| word_terms(word, &mut take));
}

fn word_terms(word: &str, take: &mut impl FnMut(&str)) {
    if !is_left_out(word) {
        each_part(word, |part| part_terms(part, take));
    }
}

/// Reports whether a word is too common to index.
pub fn is_left_out(word: &str) -> bool {
    is_common(&word.to_lowercase())
}

/// Passes the terms of a part of a word, see [`each_word`] and [`each_part`].
pub fn part_terms(part: &str, take: &mut impl FnMut(&str)) {
    give_stems(&Stemmer::create(Algorithm::English), part, take);
}

/// Returns the terms of a query with their counts, in order of the first occurrence.
pub fn query_terms(text: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = Vec::new();
    terms(text, |term| match found.iter_mut().find(|(known, _)| known == term) {
        Some((_, count)) => *count += 1,
        None => found.push((term.to_owned(), 1)),
    });
    found
}

/// Returns the stem of a plain word in lower case.
pub fn stem(word: &str) -> String {
    Stemmer::create(Algorithm::English).stem(word).into_owned()
}

/// Passes every name of a text: an identifier with several parts, or a number with letters. Names are whole
/// and in lower case, because a query with such a name means exactly that name.
pub fn names(text: &str, mut take: impl FnMut(&str)) {
    each_word(text, |word| {
        if let Some(name) = name(word) {
            take(&name);
        }
    });
}

/// Returns the name that a word is, if any.
pub fn name(word: &str) -> Option<String> {
    let is_name = is_compound(word) && word.chars().count() <= LONGEST;
    is_name.then(|| word.trim_matches('_').to_lowercase())
}

fn is_compound(word: &str) -> bool {
    let mut parts = 0;
    each_part(word, |_| parts += 1);
    parts > 1 && word.chars().any(char::is_alphabetic)
}

/// Passes sequences of letters, digits and underscores. An apostrophe inside a word does not end it: `don't`
/// is one word.
pub fn each_word<'t>(text: &'t str, mut take: impl FnMut(&'t str)) {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    for run in text.split(|c: char| !is_inside(c) && !matches!(c, '\'' | '\u{2019}')) {
        for word in possessive(run).split(['\'', '\u{2019}']) {
            if word.chars().any(char::is_alphanumeric) {
                take(word);
            }
        }
    }
}

/// Removes an ending after an apostrophe, which is not a word.
fn possessive(run: &str) -> &str {
    const ENDINGS: [&str; 8] = ["'s", "'t", "'re", "'ve", "'ll", "'d", "'m", "'S"];
    let is_curly = run.contains('\u{2019}');
    let plain = if is_curly { Cow::Owned(run.replace('\u{2019}', "'")) } else { Cow::Borrowed(run) };
    let ending = ENDINGS.iter().find(|ending| plain.ends_with(**ending));
    let cut = match (ending, is_curly) {
        // The typographic mark is two bytes longer than the plain one.
        (Some(ending), true) => ending.len() + 2,
        (Some(ending), false) => ending.len(),
        (None, _) => 0,
    };
    run.get(..run.len() - cut).unwrap_or(run)
}

/// Passes the parts of an identifier: `HTTPServer_v2` is `HTTP`, `Server`, `v`, `2`.
pub fn each_part<'w>(word: &'w str, mut take: impl FnMut(&'w str)) {
    for piece in word.split('_').filter(|piece| !piece.is_empty()) {
        let mut from = 0;
        let mut before: Option<char> = None;
        let mut chars = piece.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if before.is_some_and(|before| is_boundary(before, c, next)) {
                take(&piece[from..at]);
                from = at;
            }
            before = Some(c);
        }
        take(&piece[from..]);
    }
}

/// Reports whether a part ends before `c`: between lower and upper case, before the last of several capitals
/// if lower case follows, and between letters and digits.
fn is_boundary(before: char, c: char, next: Option<char>) -> bool {
    let rises = !before.is_uppercase() && before.is_alphabetic() && c.is_uppercase();
    let begins_word = before.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase);
    rises || begins_word || before.is_numeric() != c.is_numeric()
}

fn give_stems(stemmer: &Stemmer, part: &str, take: &mut impl FnMut(&str)) {
    if part.is_ascii() {
        if part.len() <= LONGEST {
            let lower = part.to_ascii_lowercase();
            take(&stemmer.stem(&lower));
        }
        return;
    }
    let plain = folded(part);
    let mut rest = plain.as_str();
    // Scripts without spaces have no word boundaries, so pairs of characters serve as terms.
    while let Some(at) = rest.find(is_unspaced) {
        give_word(stemmer, &rest[..at], take);
        let end = rest[at..].find(|c| !is_unspaced(c)).map_or(rest.len(), |length| at + length);
        give_pairs(&rest[at..end], take);
        rest = &rest[end..];
    }
    give_word(stemmer, rest, take);
}

fn give_word(stemmer: &Stemmer, word: &str, take: &mut impl FnMut(&str)) {
    if !word.is_empty() && word.chars().count() <= LONGEST {
        take(&stemmer.stem(word));
    }
}

fn give_pairs(run: &str, take: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() == 2 {
        take(run);
    }
    starts.windows(3).for_each(|pair| take(&run[pair[0]..pair[2]]));
}

/// Returns a text in lower case without accents.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)).collect()
}

fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// Common words, sorted.
const COMMON: [&str; 127] = [
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "aren",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "cannot",
    "could",
    "couldn",
    "did",
    "didn",
    "do",
    "does",
    "doesn",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "isn",
    "it",
    "its",
    "itself",
    "just",
    "me",
    "more",
    "most",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "same",
    "she",
    "should",
    "shouldn",
    "so",
    "some",
    "such",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "wasn",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
];

fn is_common(word: &str) -> bool {
    const MORE: [&str; 8] = ["with", "won", "would", "wouldn", "you", "your", "yours", "yourself"];
    COMMON.binary_search(&word).is_ok() || MORE.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        terms(text, |term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn words_are_stemmed_and_common_ones_left_out() {
        assert_eq!(of("The retries of failing uploads"), ["retri", "fail", "upload"]);
        assert_eq!(of("don't, isn't; what's the users' cache's key?"), ["user", "cach", "key"]);
        assert_eq!(of("it’s Jane’s"), ["jane"]);
        assert_eq!(of(" \n--- ?! "), [""; 0]);
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn identifiers_are_taken_apart() {
        assert_eq!(of("parse_header"), ["pars", "header"]);
        assert_eq!(of("HTTPServerError"), ["http", "server", "error"]);
        assert_eq!(of("src/gates/mod.rs"), ["src", "gate", "mod", "rs"]);
        assert_eq!(of("utf8 v2 ipv6Addr __init__"), ["utf", "8", "v", "2", "ipv", "6", "addr", "init"]);
    }

    #[test]
    fn a_script_without_spaces_is_found_by_pairs() {
        assert_eq!(of("缓存失效"), ["缓存", "存失", "失效"]);
        assert_eq!(of("鍵 cache缓存"), ["鍵", "cach", "缓存"]);
    }

    #[test]
    fn accents_do_not_matter() {
        assert_eq!(of("Café déjà"), ["cafe", "deja"]);
        assert_eq!(of("ÜBERGRÖSSE"), of("übergrösse"));
    }

    #[test]
    fn names_are_whole() {
        let mut found = Vec::new();
        names("use OrderRepo::find_open for EL1, not plain Words or _x", |name| found.push(name.to_owned()));
        assert_eq!(found, ["orderrepo", "find_open", "el1"]);
    }

    #[test]
    fn what_is_too_long_is_no_word() {
        assert_eq!(of(&"x".repeat(41)), [""; 0]);
        assert_eq!(of(&"x".repeat(40)).len(), 1);
    }

    #[test]
    fn a_question_counts_what_it_repeats() {
        let terms = query_terms("parallel languages; languages for parallel computation");
        assert_eq!(terms, [("parallel".into(), 2), ("languag".into(), 2), ("comput".into(), 1)]);
    }
}
