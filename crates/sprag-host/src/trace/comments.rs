//! Comments and docstrings on both sides of a change, for those to whom they are part of the behaviour
//! (`trace.docs_are_behaviour`). Read as a lexer reads them, no further: what is in a literal by mistake is the same
//! on both sides of a change that is proved.

use std::collections::BTreeMap;

use sprag_core::memory::redact;
use sprag_core::text::Text;
use sprag_core::trace::{Spot, Witness};
use sprag_syntax::Lang;

use super::judge::Side;

/// One comment: its words, however they are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment {
    line: u32,
    words: String,
}

/// The first comment that one side has and the other has not. One that was moved, to another file as well, is the
/// same.
pub fn difference(sides: &[Side<'_>]) -> Option<Witness> {
    let all = |of: fn(&Side<'_>) -> (Option<String>, Option<Vec<u8>>)| {
        let mut found = Vec::new();
        for side in sides {
            let (Some(path), Some(text)) = of(side) else { continue };
            let Some(lang) = Lang::of_path(&path) else { continue };
            found.extend(comments(lang, &text).into_iter().map(|comment| (path.clone(), comment)));
        }
        found
    };
    let before = all(|side| (side.path_before.map(str::to_owned), side.before.map(<[u8]>::to_vec)));
    let after = all(|side| (side.path_after.map(str::to_owned), side.after.map(<[u8]>::to_vec)));
    let gone = first_beyond(&before, &after);
    let new = first_beyond(&after, &before);
    let spot = |comment: &Comment| Spot { line: comment.line, text: redact::short(&comment.words) };
    let (path, _) = new.as_ref().or(gone.as_ref())?;
    Some(Witness {
        path: Text::from(path.as_str()),
        unit: None,
        before: gone.as_ref().map(|(_, comment)| spot(comment)),
        after: new.as_ref().map(|(_, comment)| spot(comment)),
    })
}

/// The first that is there more often than on the other side.
fn first_beyond(these: &[(String, Comment)], those: &[(String, Comment)]) -> Option<(String, Comment)> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, comment) in those {
        *left.entry(comment.words.as_str()).or_default() += 1;
    }
    let is_beyond = |comment: &Comment| match left.get_mut(comment.words.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let mut is_beyond = is_beyond;
    these.iter().find(|(_, comment)| is_beyond(comment)).cloned()
}

/// All comments of a source, one for each run of neighbouring lines that are nothing else.
fn comments(lang: Lang, text: &[u8]) -> Vec<Comment> {
    let text = String::from_utf8_lossy(text);
    let mut found: Vec<Comment> = Vec::new();
    let (mut rest, mut line) = (text.as_ref(), 1u32);
    // Where the last line comment ended, if nothing but blanks came since.
    let mut open: Option<u32> = None;
    while let Some(first) = rest.chars().next() {
        let token = token(lang, rest);
        let (length, words) = match token {
            Token::Comment { length, words } => (length, Some(words)),
            Token::Literal { length } => (length, None),
            Token::Other => (first.len_utf8(), None),
        };
        let (taken, after) = rest.split_at(length.clamp(1, rest.len()));
        match words {
            Some(words) if !words.is_empty() => match (open, found.last_mut()) {
                (Some(at), Some(last)) if at + 1 == line => {
                    last.words.push(' ');
                    last.words.push_str(&words);
                }
                _ => found.push(Comment { line, words }),
            },
            Some(_) => {}
            None if first.is_whitespace() => {}
            None => open = None,
        }
        line = line.saturating_add(u32::try_from(taken.matches('\n').count()).unwrap_or(u32::MAX));
        if matches!(token_kind(taken, lang), Kind::Line) {
            open = Some(line);
        }
        rest = after;
    }
    found
}

enum Token {
    Comment { length: usize, words: String },
    Literal { length: usize },
    Other,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Line,
    Other,
}

fn token_kind(taken: &str, lang: Lang) -> Kind {
    let mark = if lang == Lang::Python { "#" } else { "//" };
    if taken.starts_with(mark) { Kind::Line } else { Kind::Other }
}

fn token(lang: Lang, rest: &str) -> Token {
    let is_python = lang == Lang::Python;
    let upto = |end: &str, from: usize| {
        rest.get(from..).and_then(|inner| inner.find(end)).map_or(rest.len(), |at| from + at + end.len())
    };
    if is_python && rest.starts_with('#') || !is_python && rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return Token::Comment { length, words: plain(&rest[..length]) };
    }
    if !is_python && rest.starts_with("/*") {
        let length = if lang == Lang::Rust { nested(rest) } else { upto("*/", 2) };
        return Token::Comment { length, words: plain(&rest[..length]) };
    }
    // A text of several lines may be a docstring; one that is none does not change in what is proved.
    for quotes in ["\"\"\"", "'''"] {
        if is_python && rest.starts_with(quotes) {
            let length = upto(quotes, 3);
            return Token::Comment { length, words: plain(rest[..length].trim_matches(['"', '\''])) };
        }
    }
    if lang == Lang::Rust && rest.starts_with('r') {
        let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
        if rest[1 + hashes..].starts_with('"') {
            return Token::Literal { length: upto(&format!("\"{}", "#".repeat(hashes)), 2 + hashes) };
        }
    }
    match rest.as_bytes().first() {
        Some(b'"') => Token::Literal { length: quoted(rest, '"') },
        // A lifetime has no second quote.
        Some(b'\'') if lang == Lang::Rust => match rest.as_bytes().get(1..4) {
            Some([b'\\', ..]) => Token::Literal { length: quoted(rest, '\'') },
            Some([_, b'\'', _]) => Token::Literal { length: 3 },
            _ => Token::Other,
        },
        Some(b'\'') => Token::Literal { length: quoted(rest, '\'') },
        Some(b'`') if !is_python && lang != Lang::Rust && lang != Lang::Java => {
            Token::Literal { length: upto("`", 1) }
        }
        _ => Token::Other,
    }
}

/// To the closing quote, or to the end of the line: one that is missing swallows nothing.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn nested(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        let bytes = &rest.as_bytes()[at..];
        if bytes.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The words alone: how they are wrapped and marked is layout.
fn plain(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['/', '*', '#', '!']))
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(lang: Lang, text: &str) -> Vec<String> {
        comments(lang, text.as_bytes()).into_iter().map(|comment| comment.words).collect()
    }

    #[test]
    fn comments_are_told_from_literals() {
        let rust = "/// Adds.\n/// Two.\nfn a<'x>() { let s = \"// no\"; let c = '\"'; /* in /* side */ */ } // end\n\
                    let r = r#\"// \"no\"#; // yes\n";
        assert_eq!(words(Lang::Rust, rust), ["Adds. Two.", "in side", "end", "yes"]);
        let python = "\"\"\"Doc\nstring.\"\"\"\nx = '# no'  # yes\n";
        assert_eq!(words(Lang::Python, python), ["Doc string.", "yes"]);
        assert_eq!(words(Lang::Go, "s := `// no\n// no`\n// yes\n"), ["yes"]);
        assert_eq!(
            words(Lang::Java, "int a; /* one\n * two */ char c = '\\''; // it's\n"),
            ["one two", "it's"]
        );
    }

    #[test]
    fn a_comment_that_was_wrapped_anew_or_moved_is_the_same() {
        let side = |before: &'static str, after: &'static str| Side {
            path_before: Some("a.rs"),
            path_after: Some("a.rs"),
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let told = |before, after| difference(&[side(before, after)]);
        assert_eq!(told("// one two\n// three\nfn a() {}\n", "// one\n// two three\nfn a() {}\n"), None);
        assert_eq!(told("// one\nfn a() {}\n", "fn a() {}\n// one\n"), None);
        let witness = told("fn a() {} // one\n", "\nfn a() {} // two\n").unwrap();
        assert_eq!(witness.before.unwrap().text.as_str(), "one");
        assert_eq!(witness.after.unwrap().line, 2);
        assert!(told("// one\n", "").is_some() && told("", "// one\n").is_some());
    }

    proptest! {
        #[test]
        fn any_text_can_be_tried(text in "(//|/\\*|\\*/|\"|\"\"\"|'|`|r#|#|\\\\|\n| |é|a){0,60}") {
            for lang in [Lang::Rust, Lang::Python, Lang::Go, Lang::Java] {
                comments(lang, text.as_bytes());
            }
        }
    }
}
