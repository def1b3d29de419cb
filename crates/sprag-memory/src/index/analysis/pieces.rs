//! Splits text into word pieces, as in the training of the table: splits identifiers, lower-cases, removes
//! accents, then takes the longest known piece from the left repeatedly.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::index::analysis::table::{PiecePlace, Table};
use crate::index::analysis::unicode::{is_format, is_punctuation};

/// The limit on letters of a word, as in training.
const LONGEST: usize = 100;

/// Passes the number of every piece in order. Skips a word with an unknown part.
pub(crate) fn each(text: &str, table: &Table<'_>, mut take: impl FnMut(u32)) {
    let mut word = String::new();
    let mut known = Vec::new();
    each_word(text, &mut word, |word| {
        of_word(word, table, &mut known);
        for piece in known.iter() {
            take(*piece);
        }
    });
}

fn of_word(word: &str, table: &Table<'_>, known: &mut Vec<u32>) {
    known.clear();
    if word.chars().count() > LONGEST || !take_apart(word, table, known) {
        known.clear();
    }
}

fn take_apart(word: &str, table: &Table<'_>, known: &mut Vec<u32>) -> bool {
    let mut from = 0;
    while from < word.len() {
        let place = if from > 0 { PiecePlace::Inner } else { PiecePlace::Start };
        let ends = (from + 1..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
        let longest =
            ends.filter_map(|end| Some((end, table.find(place, &word.as_bytes()[from..end])?))).next();
        let Some((end, piece)) = longest else {
            return false;
        };
        known.push(piece);
        from = end;
    }
    true
}

/// Passes every word in lower case without accents. `word` is a buffer.
fn each_word(text: &str, word: &mut String, mut take: impl FnMut(&str)) {
    word.clear();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        if is_boundary(before, c, next) {
            give(word, &mut take);
        }
        before = c;
        match c {
            c if c.is_ascii_alphanumeric() => word.push(c.to_ascii_lowercase()),
            '\0' => {}
            c if c.is_ascii_control() && !c.is_ascii_whitespace() => {}
            c if c.is_ascii() || c.is_whitespace() || is_punctuation(c) => give(word, &mut take),
            c if is_format(c) || c.is_control() || c == '\u{fffd}' => {}
            c if is_ideograph(c) => {
                give(word, &mut take);
                word.push(c);
                give(word, &mut take);
            }
            c => word.extend(c.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase)),
        }
    }
    give(word, &mut take);
}

fn give(word: &mut String, take: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        take(word);
        word.clear();
    }
}

/// Reports whether a word ends before `c`: `camelCase` and `HTTPServer` are two words each.
fn is_boundary(before: char, c: char, next: char) -> bool {
    let rises = (before.is_ascii_lowercase() || before.is_ascii_digit()) && c.is_ascii_uppercase();
    rises || (before.is_ascii_uppercase() && c.is_ascii_uppercase() && next.is_ascii_lowercase())
}

/// Reports whether a character is a word of its own.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}
