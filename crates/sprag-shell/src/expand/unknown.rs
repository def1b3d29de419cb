//! Unknown text inside known text. During evaluation, words and texts are plain strings in which four
//! private characters mark unknown parts. So a partly known text can be split, joined, piped and parsed like
//! any other. Only the result distinguishes words from holes.

use crate::Word;

/// Unknown text within one word.
pub(crate) const HOLE: char = '\u{E000}';
/// Any number of unknown words; always a whole word.
pub(crate) const MANY: char = '\u{E001}';
/// An unknown number: one word of digits.
pub(crate) const NUMBER: char = '\u{E002}';
/// The value of a variable whose name says that it is a secret.
pub(crate) const SECRET: char = '\u{E003}';

pub(crate) fn is_hole(c: char) -> bool {
    matches!(c, HOLE | MANY | NUMBER | SECRET)
}

/// Reports whether the name of an environment variable says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let parts = || name.split('_');
    let is_key = |part: &str| {
        matches!(
            part,
            "SECRET"
                | "SECRETS"
                | "TOKEN"
                | "PASSWORD"
                | "PASSWD"
                | "PASSPHRASE"
                | "APIKEY"
                | "CREDENTIALS"
                | "PAT"
        )
    };
    upper && (parts().any(is_key) || name.ends_with("_KEY") || name.ends_with("_PASS"))
}

/// Reports whether a text is a number, known or unknown.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.chars().all(|c| c.is_ascii_digit() || c == NUMBER)
}

/// Reports whether a text contains a part that may be anything.
pub(crate) fn is_open(text: &str) -> bool {
    text.contains([HOLE, MANY, SECRET])
}

pub(crate) fn is_known(text: &str) -> bool {
    !text.contains(is_hole)
}

/// Returns the last part of a path, which identifies a program.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(crate) fn word(text: &str) -> Word {
    if is_known(text) {
        return Word::Known(text.to_owned());
    }
    if text.len() == MANY.len_utf8() && text.starts_with(MANY) {
        return Word::Many;
    }
    let mut parts = Vec::new();
    let mut known = String::new();
    for c in text.chars() {
        if !is_hole(c) {
            known.push(c);
            continue;
        }
        if !known.is_empty() {
            parts.push(Some(std::mem::take(&mut known)));
        }
        if parts.last() != Some(&None) {
            parts.push(None);
        }
    }
    if !known.is_empty() {
        parts.push(Some(known));
    }
    Word::Partly(parts)
}

/// Replaces private marks in foreign text, so that it cannot fake a hole.
pub(crate) fn without_marks(text: &str) -> String {
    text.chars().map(|c| if is_hole(c) { '\u{FFFD}' } else { c }).collect()
}

/// Reports whether a character looks like a space, like nothing or like another letter.
pub(crate) fn is_odd(c: char) -> bool {
    matches!(c,
        '\u{A0}' | '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{1680}' | '\u{180E}'
        | '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}' | '\u{205F}'..='\u{206F}'
        | '\u{3000}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFFD}'
        // Greek, Cyrillic and full-width letters look like Latin ones.
        | '\u{370}'..='\u{52F}' | '\u{FF01}'..='\u{FF5E}')
}
