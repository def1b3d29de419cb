//! Matches texts with `*` against words with holes. A hole is known only at run time, so the answer has three
//! values.

use serde::{Deserialize, Serialize};

use sprag_shell::Word;

/// How well a pattern fits, in order: `max` combines alternatives, `min` combines parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GlobFit {
    No,
    /// Fits for some content of the holes.
    Maybe,
    /// Fits for every content of the holes.
    Yes,
}

impl GlobFit {
    pub fn negated(self) -> GlobFit {
        match self {
            GlobFit::No => GlobFit::Yes,
            GlobFit::Maybe => GlobFit::Maybe,
            GlobFit::Yes => GlobFit::No,
        }
    }
}

impl From<bool> for GlobFit {
    fn from(fits: bool) -> GlobFit {
        if fits { GlobFit::Yes } else { GlobFit::No }
    }
}

/// A cache stores a glob as one text, which loads much faster than its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum WordGlob {
    /// Text without `*`; the most common case.
    Exact(String),
    Any,
    Signs(Vec<WordGlobChar>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordGlobChar {
    Char(char),
    /// Any text within one directory.
    Star,
    /// Any text.
    Stars,
}

/// One character of a word, or a hole: a part of unknown length and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    Char(char),
    Hole,
}

/// Stands for `WordGlobChar::Star` in a stored glob.
const STORED_STAR: char = '\u{1}';
/// Stands for `WordGlobChar::Stars` in a stored glob.
const STORED_STARS: char = '\u{2}';

impl From<WordGlob> for String {
    /// Writes the kind of the glob as the last letter.
    fn from(glob: WordGlob) -> String {
        match glob {
            WordGlob::Any => "*".to_owned(),
            WordGlob::Exact(text) => text + "=",
            WordGlob::Signs(signs) => {
                let letter = |sign| match sign {
                    WordGlobChar::Char(c) => c,
                    WordGlobChar::Star => STORED_STAR,
                    WordGlobChar::Stars => STORED_STARS,
                };
                signs.into_iter().map(letter).chain(['~']).collect()
            }
        }
    }
}

impl TryFrom<String> for WordGlob {
    type Error = &'static str;

    fn try_from(mut text: String) -> Result<WordGlob, &'static str> {
        let sign = |c| match c {
            STORED_STAR => WordGlobChar::Star,
            STORED_STARS => WordGlobChar::Stars,
            c => WordGlobChar::Char(c),
        };
        match text.pop() {
            Some('=') => Ok(WordGlob::Exact(text)),
            Some('~') => Ok(WordGlob::Signs(text.chars().map(sign).collect())),
            Some('*') => Ok(WordGlob::Any),
            _ => Err("not a stored glob"),
        }
    }
}

impl WordGlob {
    /// Parses the glob of a word: `*` matches any text.
    pub fn token(text: &str) -> WordGlob {
        WordGlob::signs(text, |stars| if stars == 0 { None } else { Some(WordGlobChar::Stars) })
    }

    /// Parses the glob of a path: `*` stays within one directory, `**` does not.
    pub fn path(text: &str) -> WordGlob {
        WordGlob::signs(text, |stars| match stars {
            0 => None,
            1 => Some(WordGlobChar::Star),
            _ => Some(WordGlobChar::Stars),
        })
    }

    fn signs(text: &str, sign: impl Fn(usize) -> Option<WordGlobChar>) -> WordGlob {
        if !text.contains('*') {
            return WordGlob::Exact(text.to_owned());
        }
        let mut signs = Vec::new();
        let mut stars = 0;
        for c in text.chars() {
            if c == '*' {
                stars += 1;
                continue;
            }
            signs.extend(sign(stars));
            stars = 0;
            signs.push(WordGlobChar::Char(c));
        }
        signs.extend(sign(stars));
        if signs == [WordGlobChar::Stars] { WordGlob::Any } else { WordGlob::Signs(signs) }
    }

    pub fn fits(&self, text: &str) -> bool {
        match self {
            WordGlob::Any => true,
            WordGlob::Exact(exact) => exact == text,
            WordGlob::Signs(signs) if signs.contains(&WordGlobChar::Star) => {
                run(signs, text.chars().map(Letter::Char), Holes::Closed)
            }
            WordGlob::Signs(signs) => is_match(signs, text),
        }
    }

    pub fn fit_word(&self, word: &Word) -> GlobFit {
        match word {
            Word::Known(text) => self.fits(text).into(),
            Word::Many => match self {
                WordGlob::Any => GlobFit::Yes,
                _ => GlobFit::Maybe,
            },
            Word::Partly(parts) => self.fit(&letters(parts)),
        }
    }

    pub fn fit(&self, word: &[Letter]) -> GlobFit {
        let owned: Vec<WordGlobChar>;
        let signs: &[WordGlobChar] = match self {
            WordGlob::Any => return GlobFit::Yes,
            WordGlob::Exact(text) => {
                owned = text.chars().map(WordGlobChar::Char).collect();
                &owned
            }
            WordGlob::Signs(signs) => signs,
        };
        // Comparing both ends excludes most words cheaply.
        if differs(signs.iter(), word.iter()) || differs(signs.iter().rev(), word.iter().rev()) {
            GlobFit::No
        } else if run(signs, word.iter().copied(), Holes::Closed) {
            GlobFit::Yes
        } else if !word.contains(&Letter::Hole) {
            GlobFit::No
        } else if run(signs, word.iter().copied(), Holes::Open) {
            GlobFit::Maybe
        } else {
            GlobFit::No
        }
    }
}

pub(crate) fn letters(parts: &[Option<String>]) -> Vec<Letter> {
    let mut letters = Vec::new();
    for part in parts {
        match part {
            Some(text) => letters.extend(text.chars().map(Letter::Char)),
            None => letters.push(Letter::Hole),
        }
    }
    letters
}

/// Matches known text if all stars are of the same kind. Then only the last star needs backtracking.
fn is_match(signs: &[WordGlobChar], text: &str) -> bool {
    let (mut at, mut rest) = (0, text.chars());
    let mut again: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let before = rest.clone();
        match (signs.get(at), rest.next()) {
            (Some(WordGlobChar::Star | WordGlobChar::Stars), _) => {
                at += 1;
                rest = before.clone();
                again = Some((at, before));
            }
            (Some(WordGlobChar::Char(want)), Some(c)) if *want == c => at += 1,
            (None, None) => return true,
            (_, None) => return false,
            (_, Some(_)) => match &mut again {
                None => return false,
                Some((star, from)) => {
                    from.next();
                    at = *star;
                    rest = from.clone();
                }
            },
        }
    }
}

/// Reports whether two ends differ before the first star or hole.
fn differs<'a>(
    mut signs: impl Iterator<Item = &'a WordGlobChar>,
    mut word: impl Iterator<Item = &'a Letter>,
) -> bool {
    loop {
        match (signs.next(), word.next()) {
            (Some(WordGlobChar::Char(want)), Some(Letter::Char(c))) if want == c => {}
            (Some(WordGlobChar::Char(_)), Some(Letter::Char(_)) | None) | (None, Some(Letter::Char(_))) => {
                return true;
            }
            (Some(WordGlobChar::Star | WordGlobChar::Stars), _) | (_, Some(Letter::Hole)) | (None, None) => {
                return false;
            }
        }
    }
}

/// Whether the content of holes may be chosen so that the word fits (`Open`), or every content must fit
/// (`Closed`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holes {
    Open,
    Closed,
}

/// Tracks all positions of the pattern at once, letter by letter. Without backtracking no input is slow.
fn run(signs: &[WordGlobChar], word: impl Iterator<Item = Letter>, holes: Holes) -> bool {
    let mut at = vec![false; signs.len() + 1];
    let mut next = vec![false; signs.len() + 1];
    at[0] = true;
    pass_stars(signs, &mut at);
    for letter in word {
        next.fill(false);
        for (i, sign) in signs.iter().enumerate().filter(|(i, _)| at[*i]) {
            match (sign, letter) {
                (WordGlobChar::Char(want), Letter::Char(c)) if *want == c => next[i + 1] = true,
                (WordGlobChar::Star, Letter::Char(c)) if c != '/' => next[i] = true,
                (WordGlobChar::Stars, _) => next[i] = true,
                _ => {}
            }
        }
        if letter == Letter::Hole
            && holes == Holes::Open
            && let Some(first) = at.iter().position(|at| *at)
        {
            next[first..].fill(true);
        }
        pass_stars(signs, &mut next);
        std::mem::swap(&mut at, &mut next);
        if !at.contains(&true) {
            return false;
        }
    }
    at[signs.len()]
}

fn pass_stars(signs: &[WordGlobChar], at: &mut [bool]) {
    for (i, sign) in signs.iter().enumerate() {
        if at[i] && !matches!(sign, WordGlobChar::Char(_)) {
            at[i + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partly(text: &str) -> Word {
        // In this test `?` is a hole.
        let parts = text.split('?').map(|part| Some(part.to_owned()));
        let mut with_holes = Vec::new();
        for (i, part) in parts.enumerate() {
            if i > 0 {
                with_holes.push(None);
            }
            with_holes.push(part);
        }
        Word::Partly(with_holes)
    }

    #[test]
    fn a_star_in_a_token_is_anything() {
        for (glob, text, fits) in [
            ("close", "close", true),
            ("close", "closed", false),
            ("close*", "closed", true),
            ("close*", "close", true),
            ("*.rs", "src/a.rs", true),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c--b", false),
            ("*", "", true),
            ("ü*", "übel", true),
            ("*aab", "aaaab", true),
            ("*a*b*", "xbxa", false),
            ("a*a", "a", false),
            ("**x", "yx", true),
        ] {
            assert_eq!(WordGlob::token(glob).fits(text), fits, "{glob} {text}");
        }
    }

    #[test]
    fn a_star_in_a_path_stays_in_its_directory() {
        for (glob, text, fits) in [
            ("src/*", "src/a", true),
            ("src/*", "src/a/b", false),
            ("src/**", "src/a/b", true),
            ("**/a", "x/y/a", true),
            ("*", "a", true),
            ("*", "a/b", false),
        ] {
            assert_eq!(WordGlob::path(glob).fits(text), fits, "{glob} {text}");
        }
    }

    #[test]
    fn a_hole_may_be_anything() {
        for (glob, word, fit) in [
            ("issue", "?", GlobFit::Maybe),
            ("issue", "i?e", GlobFit::Maybe),
            ("issue", "x?", GlobFit::No),
            ("i*", "i?", GlobFit::Yes),
            ("i*", "?", GlobFit::Maybe),
            ("*", "?", GlobFit::Yes),
            ("*.sh", "?.sh", GlobFit::Yes),
            ("*.sh", "?.py", GlobFit::No),
        ] {
            assert_eq!(WordGlob::token(glob).fit_word(&partly(word)), fit, "{glob} {word}");
        }
        assert_eq!(WordGlob::path("src/*").fit_word(&partly("src/?")), GlobFit::Maybe, "it may hold a slash");
        assert_eq!(WordGlob::path("src/**").fit_word(&partly("src/?")), GlobFit::Yes);
        assert_eq!(WordGlob::token("x").fit_word(&Word::Many), GlobFit::Maybe);
    }
}
