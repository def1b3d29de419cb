//! A Rust file as tokens, each with its line and whether it is test code. Checks search for short sequences
//! of tokens, so that comments, strings and layout cannot mislead them.

use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, Group, LineColumn, Spacing, Span, TokenStream, TokenTree};

/// A parsed file; a clone shares the text and the tokens.
#[derive(Clone)]
pub struct Source {
    pub path: String,
    pub text: Rc<str>,
    pub lines: usize,
    pub tokens: Rc<[Token]>,
    /// Whether the file is not valid Rust.
    pub is_broken: bool,
}

#[derive(Debug)]
pub struct Token {
    pub text: String,
    pub line: usize,
    pub place: Place,
    /// The byte range in the file.
    pub bytes: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Product,
    Test,
}

/// A path in the code, with expanded `use` trees: `use std::{fs, io}` gives two.
pub struct Named {
    pub segments: Vec<String>,
    pub line: usize,
    pub place: Place,
}

impl Source {
    pub fn parse(path: &str, text: &str) -> Source {
        let parsed = TokenStream::from_str(text);
        let is_broken = parsed.is_err();
        let mut tokens = Vec::new();
        let starts = LineStarts::new(text);
        flatten(parsed.unwrap_or_default(), place_of(path), &starts, &mut tokens);
        Source {
            path: path.to_owned(),
            text: text.into(),
            lines: text.lines().count(),
            tokens: tokens.into(),
            is_broken,
        }
    }

    /// Returns the rest of the tokens from each match of `pattern`, whose tokens are separated by spaces.
    pub fn find<'a>(&'a self, pattern: &str) -> Vec<&'a [Token]> {
        let words: Vec<&str> = pattern.split(' ').collect();
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            // Most tokens differ from the first word, so the loop compares only that word first.
            if token.text == words[0] {
                let rest = &self.tokens[at..];
                let is_same = rest.iter().zip(&words).all(|(token, word)| token.text == *word);
                if is_same && rest.len() >= words.len() {
                    found.push(rest);
                }
            }
        }
        found
    }

    pub fn paths(&self) -> Vec<Named> {
        let mut found = Vec::new();
        let mut rest = &self.tokens[..];
        while let [first, after @ ..] = rest {
            if first.text == "use" {
                let end = after.iter().position(|token| token.text == ";").unwrap_or(after.len());
                imports(&after[..end], &mut found);
                rest = &after[end..];
            } else if is_name(&first.text) {
                let length = path_length(rest);
                let segments = rest[..length].iter().step_by(2).map(|token| token.text.clone()).collect();
                found.push(Named { segments, line: first.line, place: first.place });
                rest = &rest[length..];
            } else {
                rest = after;
            }
        }
        found
    }
}

impl Named {
    /// Reports whether these segments occur consecutively in the path.
    pub fn has(&self, wanted: &[&str]) -> bool {
        self.segments.windows(wanted.len()).any(|window| window == wanted)
    }
}

/// Reports whether a path is test code, by the names that Cargo and this repository use.
fn place_of(path: &str) -> Place {
    let is_test =
        path.split('/').any(|part| matches!(part, "tests" | "tests.rs") || part.ends_with("_tests.rs"));
    if is_test { Place::Test } else { Place::Product }
}

/// The starts of lines in a text. A span has its line at once, and its bytes only after a search.
struct LineStarts<'a> {
    lines: Vec<(usize, &'a str)>,
}

impl<'a> LineStarts<'a> {
    fn new(text: &'a str) -> LineStarts<'a> {
        let lines = text.split_inclusive('\n').scan(0, |start, line| {
            let at = *start;
            *start += line.len();
            Some((at, line))
        });
        LineStarts { lines: lines.collect() }
    }

    /// Returns the line of a span and its first byte.
    fn find(&self, span: Span) -> (usize, usize) {
        let LineColumn { line, column } = span.start();
        let Some((start, text)) = self.lines.get(line - 1) else { return (line, 0) };
        let is_narrow = text.get(..column).is_some_and(str::is_ascii);
        let bytes =
            if is_narrow { column } else { text.chars().take(column).map(char::len_utf8).sum::<usize>() };
        (line, start + bytes)
    }
}

fn flatten(stream: TokenStream, mut place: Place, starts: &LineStarts<'_>, out: &mut Vec<Token>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut item_end = 0;
    for (at, tree) in trees.iter().enumerate() {
        match attribute(&trees[at..]) {
            Some(Attribute::OfFile(content)) if is_for_tests(content) => place = Place::Test,
            Some(Attribute::OfItem(content)) if is_for_tests(content) => {
                item_end = item_end.max(at + item_length(&trees[at..]));
            }
            _ => {}
        }
        let here = if at < item_end { Place::Test } else { place };
        let mut push = |text: String, span: Span| {
            let (line, start) = starts.find(span);
            let bytes = start..start + text.len();
            out.push(Token { text, line, place: here, bytes });
        };
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = brackets(group);
                push(open.to_owned(), group.span_open());
                flatten(group.stream(), here, starts, out);
                let (line, start) = starts.find(group.span_close());
                let bytes = start..start + close.len();
                out.push(Token { text: close.to_owned(), line, place: here, bytes });
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                if at > 0
                    && matches!(&trees[at - 1], TokenTree::Punct(before) if before.as_char() == ':' && before.spacing() == Spacing::Joint)
                {
                    continue;
                }
                let is_double = punct.spacing() == Spacing::Joint;
                push(if is_double { "::" } else { ":" }.to_owned(), punct.span());
            }
            other => push(other.to_string(), other.span()),
        }
    }
}

enum Attribute<'a> {
    /// `#![..]`
    OfFile(&'a Group),
    /// `#[..]`
    OfItem(&'a Group),
}

fn attribute(trees: &[TokenTree]) -> Option<Attribute<'_>> {
    match trees {
        [TokenTree::Punct(hash), TokenTree::Group(content), ..] if hash.as_char() == '#' => {
            Some(Attribute::OfItem(content))
        }
        [TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(content), ..]
            if hash.as_char() == '#' && bang.as_char() == '!' =>
        {
            Some(Attribute::OfFile(content))
        }
        _ => None,
    }
}

/// Reports whether an attribute is `test`, or `cfg(test)` alone or among other conditions.
fn is_for_tests(content: &Group) -> bool {
    let text: String = content.stream().to_string().split_whitespace().collect();
    let Some(condition) = text.strip_prefix("cfg(") else {
        return text == "test";
    };
    let mut words = condition.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "test") && !condition.contains("not(test")
}

/// Returns the length of an item, from its first attribute to the end of its body or its semicolon.
fn item_length(trees: &[TokenTree]) -> usize {
    let ends = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    };
    trees.iter().position(ends).map_or(trees.len(), |at| at + 1)
}

fn brackets(group: &Group) -> (&'static str, &'static str) {
    match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the number of tokens of the path at the start of `tokens`.
fn path_length(tokens: &[Token]) -> usize {
    let mut length = 1;
    while let Some([colons, name]) = tokens.get(length..length + 2) {
        if colons.text != "::" || !is_name(&name.text) {
            break;
        }
        length += 2;
    }
    length
}

/// Expands the tree of one `use`.
fn imports(tree: &[Token], out: &mut Vec<Named>) {
    let mut path: Vec<String> = Vec::new();
    let mut outer: Vec<usize> = Vec::new();
    let mut is_alias = false;
    for token in tree {
        match token.text.as_str() {
            "{" => outer.push(path.len()),
            "," => path.truncate(outer.last().copied().unwrap_or_default()),
            "}" => path.truncate(outer.pop().unwrap_or_default()),
            "as" => is_alias = true,
            _ if is_alias => is_alias = false,
            name if is_name(name) => {
                path.push(name.to_owned());
                out.push(Named { segments: path.clone(), line: token.line, place: token.place });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pattern: &str) -> Vec<(usize, Place)> {
        let source = Source::parse("src/a.rs", text);
        source.find(pattern).iter().map(|rest| (rest[0].line, rest[0].place)).collect()
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        let text = "// x.unwrap()\n/* y.unwrap() */\n/// z.unwrap()\nfn f() { s(\".unwrap()\"); r#\".unwrap()\"#; }\n";
        assert_eq!(found(text, ". unwrap ( )"), []);
        assert_eq!(found("fn f() {\n  x\n    . unwrap(\n  ) }", ". unwrap ( )"), [(3, Place::Product)]);
    }

    #[test]
    fn test_code_is_told_apart() {
        let text = "\
fn product() { a!(); }
#[cfg(test)]
#[path = \"x.rs\"]
mod tests { fn f() { a!(); } }
fn again() { a!(); }
#[cfg(test)]
use x::y;
#[test] fn t() { a!(); }
#[cfg(not(test))] fn n() { a!(); }
#[cfg(all(test, unix))] fn u() { a!(); }
";
        use crate::tidy::source::Place::*;
        assert_eq!(
            found(text, "a !"),
            [(1, Product), (4, Test), (5, Product), (8, Test), (9, Product), (10, Test)]
        );
        assert_eq!(found("#![cfg(test)]\nfn f() { a!(); }", "a !"), [(2, Test)]);
        let by_name = |path: &str| Source::parse(path, "a!();").tokens[0].place;
        assert_eq!(by_name("crates/x/tests/it/a.rs"), Test);
        assert_eq!(by_name("crates/x/src/journal/tests.rs"), Test);
        assert_eq!(by_name("crates/x/src/latest.rs"), Product);
    }

    #[test]
    fn paths_are_written_out() {
        let text = "use std::{fs::{self, File}, io as stdio, time::*};\nfn f() { std::env::var(\"x\"); Instant::now(); }";
        let source = Source::parse("src/a.rs", text);
        let paths = source.paths();
        let names = |wanted: &[&str]| paths.iter().filter(|path| path.has(wanted)).count();
        assert!(names(&["std", "fs"]) > 0);
        assert!(names(&["std", "fs", "File"]) == 1);
        assert!(names(&["std", "io"]) == 1);
        assert!(names(&["std", "env"]) == 1);
        assert!(names(&["Instant", "now"]) == 1);
        assert_eq!(names(&["fs", "io"]) + names(&["stdio"]) + names(&["std", "process"]), 0);
    }

    #[test]
    fn what_is_no_rust_is_told() {
        assert!(Source::parse("src/a.rs", "fn f( {").is_broken);
        assert!(!Source::parse("src/a.rs", "fn f<'a>(x: &'a str) -> char { 'a' }").is_broken);
    }
}
