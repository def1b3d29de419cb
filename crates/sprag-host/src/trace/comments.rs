//! Compares comments and docstrings on both sides of a change, if they count as behaviour
//! (`trace.docs_are_behaviour`). The lexer is simple: a misread literal is the same on both sides of a proved
//! change.

use std::collections::BTreeMap;

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_syntax::Lang;
use sprag_trace::{BehaviourWitness, FilePosition};

use super::classify::FileSides;

/// The words of one comment, in any layout.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment {
    line: u32,
    words: String,
}

/// Returns the first comment that only one side has. A moved comment counts as the same, even in another
/// file.
pub(crate) fn difference(sides: &[FileSides<'_>]) -> Option<BehaviourWitness> {
    let before = all(sides.iter().map(|side| (side.path_before, side.before)));
    let after = all(sides.iter().map(|side| (side.path_after, side.after)));
    let gone = first_beyond(&before, &after);
    let new = first_beyond(&after, &before);
    let spot = |comment: &Comment| FilePosition { line: comment.line, text: redact::short(&comment.words) };
    let (path, _) = new.as_ref().or(gone.as_ref())?;
    Some(BehaviourWitness {
        path: Text::from(path.as_str()),
        unit: None,
        before: gone.as_ref().map(|(_, comment)| spot(comment)),
        after: new.as_ref().map(|(_, comment)| spot(comment)),
    })
}

/// Returns the comments of all files of one side, with their paths.
fn all<'a>(files: impl Iterator<Item = (Option<&'a str>, Option<&'a [u8]>)>) -> Vec<(String, Comment)> {
    let mut found = Vec::new();
    for (path, text) in files {
        let (Some(path), Some(text)) = (path, text) else { continue };
        let Some(lang) = Lang::of_path(path) else { continue };
        found.extend(comments(lang, text).into_iter().map(|comment| (path.to_owned(), comment)));
    }
    found
}

/// Returns the first comment that occurs more often than on the other side.
fn first_beyond(these: &[(String, Comment)], those: &[(String, Comment)]) -> Option<(String, Comment)> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, comment) in those {
        *left.entry(comment.words.as_str()).or_default() += 1;
    }
    let mut is_beyond = |comment: &Comment| match left.get_mut(comment.words.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().find(|(_, comment)| is_beyond(comment)).cloned()
}

/// Returns all comments of a source. Neighbouring comment lines form one comment.
fn comments(lang: Lang, text: &[u8]) -> Vec<Comment> {
    let text = String::from_utf8_lossy(text);
    let mut found: Vec<Comment> = Vec::new();
    let (mut rest, mut line) = (text.as_ref(), 1u32);
    // Line of the last line comment, if only blanks followed.
    let mut open: Option<u32> = None;
    while let Some(first) = rest.chars().next() {
        let token = token(lang, rest);
        let length = match token {
            CommentToken::Line(length) | CommentToken::Block(length) | CommentToken::Literal(length) => {
                length
            }
            CommentToken::Other => first.len_utf8(),
        };
        let (taken, after) = rest.split_at(length.min(rest.len()));
        match token {
            CommentToken::Line(_) | CommentToken::Block(_) => {
                let words = plain(taken);
                match found.last_mut().filter(|_| open.is_some_and(|at| at + 1 == line)) {
                    Some(last) => {
                        let blank = if last.words.is_empty() || words.is_empty() { "" } else { " " };
                        last.words.extend([blank, &words]);
                    }
                    None => found.push(Comment { line, words }),
                }
                open = matches!(token, CommentToken::Line(_)).then_some(line);
            }
            CommentToken::Other if first.is_whitespace() => {}
            CommentToken::Literal(_) | CommentToken::Other => open = None,
        }
        line = line.saturating_add(u32::try_from(taken.matches('\n').count()).unwrap_or(u32::MAX));
        rest = after;
    }
    found.retain(|comment| !comment.words.is_empty());
    found
}

/// Kind of the next token, with its length.
enum CommentToken {
    Line(usize),
    /// A block comment or a multi-line text, which may be a docstring. Other texts do not change in a proved
    /// change.
    Block(usize),
    Literal(usize),
    Other,
}

fn token(lang: Lang, rest: &str) -> CommentToken {
    let is_python = lang == Lang::Python;
    let upto = |end: &str, from: usize| {
        rest.get(from..).and_then(|inner| inner.find(end)).map_or(rest.len(), |at| from + at + end.len())
    };
    if is_python && rest.starts_with('#') || !is_python && rest.starts_with("//") {
        return CommentToken::Line(rest.find('\n').unwrap_or(rest.len()));
    }
    if !is_python && rest.starts_with("/*") {
        return CommentToken::Block(if lang == Lang::Rust { nested(rest) } else { upto("*/", 2) });
    }
    for quotes in ["\"\"\"", "'''"] {
        if is_python && rest.starts_with(quotes) {
            return CommentToken::Block(upto(quotes, 3));
        }
    }
    if lang == Lang::Rust && rest.starts_with('r') {
        let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
        if rest[1 + hashes..].starts_with('"') {
            return CommentToken::Literal(upto(&format!("\"{}", "#".repeat(hashes)), 2 + hashes));
        }
    }
    match rest.as_bytes().first() {
        Some(b'"') => CommentToken::Literal(quoted(rest, '"')),
        // A lifetime has no second quote.
        Some(b'\'') if lang == Lang::Rust => match rest.as_bytes().get(1..4) {
            Some([b'\\', ..]) => CommentToken::Literal(quoted(rest, '\'')),
            Some([_, b'\'', _]) => CommentToken::Literal(3),
            _ => CommentToken::Other,
        },
        Some(b'\'') => CommentToken::Literal(quoted(rest, '\'')),
        Some(b'`') if !is_python && lang != Lang::Rust && lang != Lang::Java => {
            CommentToken::Literal(upto("`", 1))
        }
        _ => CommentToken::Other,
    }
}

/// Returns the length up to the closing quote, or to the end of the line if it is missing.
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

/// Returns the words alone, without layout and comment marks.
fn plain(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['/', '*', '#', '!', '"', '\'']))
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
        let side = |before: &'static str, after: &'static str| FileSides {
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
