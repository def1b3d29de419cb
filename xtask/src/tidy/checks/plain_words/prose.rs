//! Prose of the repository: comments, messages, help and documents as paragraphs, their code masked.

use crate::tidy::source::{Place, Source, Token};
use crate::tidy::tree::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Comment,
    /// The first paragraph of the comment of a function.
    FunctionDoc,
    Message,
}

#[derive(Debug)]
pub struct Paragraph {
    pub file: String,
    pub kind: Kind,
    /// The text as people read it, its lines joined.
    pub raw: String,
    /// The same text with an `x` for each byte of code and of quotations.
    pub text: String,
    /// Pairs of an offset in the text and the line of the file that starts there.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    pub fn line_at(&self, offset: usize) -> usize {
        let before = self.lines.iter().rev().find(|(start, _)| *start <= offset);
        before.map_or(1, |(_, line)| *line)
    }
}

pub fn paragraphs(tree: &Tree) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = tree.rust.iter().flat_map(of_source).collect();
    for (path, text) in &tree.texts {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let lines: Vec<(usize, &str)> = if path.ends_with(".md") && !path.contains("/tests/") {
            lines
                .flat_map(|(at, line)| [Some((at, line)), front_matter(line).then_some((at, ""))])
                .flatten()
                .collect()
        } else if path.ends_with(".json") && path.starts_with("plugin/") {
            lines.filter_map(|(at, line)| Some((at, line.split_once("\"description\": ")?.1))).collect()
        } else if [".toml", ".gitignore", "/run"].iter().any(|ending| path.ends_with(ending)) {
            hash_comments(lines)
        } else {
            continue;
        };
        split(path, Kind::Comment, &lines, &mut found);
    }
    found
}

/// Reports whether a line of a document is a key of its front matter.
fn front_matter(line: &str) -> bool {
    line == "---" || ["name: ", "description: ", "tools: "].iter().any(|key| line.starts_with(key))
}

/// Keeps the comments of a configuration; other lines end a paragraph.
fn hash_comments<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let comment = |line: &'a str| {
        let text = line.trim_start().strip_prefix('#')?.trim_start_matches(['#', '!']).trim();
        let is_setting = text.starts_with('[')
            || text.split(" = ").next().is_some_and(|key| key != text && !key.contains(' '));
        (!is_setting).then_some(text)
    };
    lines.map(|(at, line)| (at, comment(line).unwrap_or_default())).collect()
}

fn of_source(source: &Source) -> Vec<Paragraph> {
    let mut found = Vec::new();
    for comment in comments(source) {
        let kind = if is_doc_of_function(source, &comment) { Kind::FunctionDoc } else { Kind::Comment };
        let first = found.len();
        split(&source.path, Kind::Comment, &comment.lines, &mut found);
        if let Some(paragraph) = found.get_mut(first) {
            paragraph.kind = kind;
        }
    }
    let has_messages = is_message_file(&source.path);
    let has_sections = source.path.starts_with("crates/") && !source.find("SettingSection").is_empty();
    let literals = source.tokens.iter().filter(|token| {
        (has_messages || has_sections) && token.place == Place::Product && is_literal(source, token)
    });
    for token in literals {
        let text = token.text.trim_start_matches(['r', 'b', '#']).trim_end_matches('#').trim_matches('"');
        let lines = text.lines().enumerate().map(|(at, line)| (token.line + at, line.trim_end_matches('\\')));
        if has_sections && text.lines().count() > 1 {
            split(&source.path, Kind::Comment, &hash_comments(lines), &mut found);
        } else if has_messages && is_sentence(text) {
            let parts = lines.flat_map(|(at, line)| {
                line.split("\\n").enumerate().flat_map(move |(index, part)| {
                    let is_next = index > 0;
                    is_next.then_some((at, "")).into_iter().chain([(at, part)])
                })
            });
            split(&source.path, Kind::Message, &parts.collect::<Vec<_>>(), &mut found);
        }
    }
    found
}

/// Reports whether people read the strings of a file.
fn is_message_file(path: &str) -> bool {
    let is_of_name = ["/messages.rs", "/sentences.rs", "/history.rs"].iter().any(|name| path.ends_with(name));
    path.starts_with("crates/sprag/src/failure/") || (path.starts_with("crates/") && is_of_name)
}

/// Reports whether a literal has several words and is not a command line.
fn is_sentence(text: &str) -> bool {
    let words =
        text.split_whitespace().filter(|word| word.chars().all(|c| c.is_alphabetic() || "',;:.".contains(c)));
    let is_command = ["sprag ", "git ", "cargo ", "tail "].iter().any(|program| text.starts_with(program));
    words.count() >= 3 && !is_command
}

/// Reports whether a token is a string literal. The parser also makes such a token of a doc comment.
fn is_literal(source: &Source, token: &Token) -> bool {
    let is_quoted = token.text.contains('"') || (token.text.len() > 1 && token.text.starts_with('\''));
    is_quoted && !source.text[token.bytes.start..].starts_with('/')
}

/// A block of comment lines of one form, directly below each other.
struct Comment<'a> {
    marker: &'static str,
    /// Whether no code stands before it.
    is_alone: bool,
    lines: Vec<(usize, &'a str)>,
    end: usize,
}

fn comments(source: &Source) -> Vec<Comment<'_>> {
    let text = &source.text;
    let mut found: Vec<Comment<'_>> = Vec::new();
    let mut literals = source.tokens.iter().filter(|token| is_literal(source, token)).peekable();
    let (mut at, mut line) = (0, 1);
    loop {
        while literals.next_if(|token| token.bytes.start < at).is_some() {}
        let code_end = literals.peek().map_or(text.len(), |token| token.bytes.start);
        let Some(start) = text[at..code_end].find("//").map(|offset| at + offset) else {
            let Some(literal) = literals.next() else { return found };
            line += text[at..literal.bytes.end].matches('\n').count();
            at = literal.bytes.end;
            continue;
        };
        line += text[at..start].matches('\n').count();
        at = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let comment = &text[start..at];
        let marker =
            ["///", "//!", "//"].into_iter().find(|marker| comment.starts_with(marker)).unwrap_or("//");
        let body = (line, comment[marker.len()..].trim());
        let is_alone = text[..start].trim_end_matches([' ', '\t']).ends_with('\n');
        match found.last_mut() {
            Some(last)
                if is_alone
                    && last.is_alone
                    && last.marker == marker
                    && last.lines[last.lines.len() - 1].0 + 1 == line =>
            {
                last.lines.push(body);
                last.end = at;
            }
            _ => found.push(Comment { marker, is_alone, lines: vec![body], end: at }),
        }
    }
}

fn is_doc_of_function(source: &Source, comment: &Comment<'_>) -> bool {
    let mut rest = &source.tokens[source.tokens.partition_point(|token| token.bytes.start < comment.end)..];
    let is_product = rest.first().is_some_and(|token| token.place == Place::Product);
    let mut depth = 0;
    while let [token, after @ ..] = rest {
        match token.text.as_str() {
            "[" | "(" => depth += 1,
            "]" | ")" => depth -= 1,
            "fn" if depth == 0 => return is_product && comment.marker == "///",
            "#" | "pub" | "async" | "const" | "unsafe" | "extern" => {}
            _ if depth > 0 => {}
            _ => return false,
        }
        rest = after;
    }
    false
}

/// Splits lines into paragraphs. List items, headings and table cells are separate paragraphs.
fn split(file: &str, kind: Kind, lines: &[(usize, &str)], found: &mut Vec<Paragraph>) {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut is_code = false;
    for (at, line) in lines.iter().map(|(at, line)| (*at, line.trim())).chain([(0, "")]) {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = ["- ", "* ", "> ", "+ "].iter().any(|mark| line.starts_with(mark))
            || (item != line && item.starts_with(". "));
        let is_alone = line.starts_with(['#', '|']);
        if (line.is_empty() || is_code || is_fence || is_item || is_alone) && !open.is_empty() {
            found.push(paragraph(file, kind, &open));
            open.clear();
        }
        if line.is_empty() || is_code || is_fence {
            continue;
        }
        let text = line.trim_start_matches(['#', '-', '*', '>', '+', ' ']);
        let text = if is_item && text == line { item.trim_start_matches(". ") } else { text };
        if is_alone {
            let cells = if line.starts_with('|') { line.split(" | ").collect() } else { vec![text] };
            found.extend(
                cells.iter().map(|cell| paragraph(file, kind, &[(at, cell.trim_matches(['|', ' ']))])),
            );
        } else {
            open.push((at, text));
        }
    }
}

fn paragraph(file: &str, kind: Kind, lines: &[(usize, &str)]) -> Paragraph {
    let (mut raw, mut starts) = (String::new(), Vec::new());
    for (at, line) in lines {
        starts.push((raw.len(), *at));
        raw.push_str(line);
        raw.push(' ');
    }
    raw.truncate(raw.trim_end().len());
    let mut text = mask(&raw, "`", "`");
    for (open, close) in [("](", ")"), ("<", ">"), ("\\\"", "\\\""), ("\"", "\"")] {
        text = mask(&text, open, close);
    }
    // Bold text may end a sentence.
    text = text.replace("**", "  ");
    if kind == Kind::Message {
        text = mask(&text, "{", "}");
    }
    Paragraph { file: file.to_owned(), kind, raw, text, lines: starts }
}

/// Writes an `x` for each byte between two marks, for each pair of marks.
fn mask(text: &str, open: &str, close: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open)
        && let Some((inside, behind)) = after.split_once(close)
    {
        masked.extend([before, open, &"x".repeat(inside.len()), close]);
        rest = behind;
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Vec<(usize, Kind, String)> {
        let found = paragraphs(&Tree::of(&[(path, text)]));
        found.into_iter().map(|paragraph| (paragraph.line_at(0), paragraph.kind, paragraph.text)).collect()
    }

    #[test]
    fn comments_are_joined_and_strings_are_not_comments() {
        let text = "//! Of a file.\n\nfn f() { g(\"// no\"); } // behind\n// one\n// two\n\n/// Doc `a b`\n/// more.\n///\n/// Next.\n#[must_use]\npub(crate) fn g() {}\n/// Noun\nstruct S;\n";
        use Kind::{Comment, FunctionDoc};
        let expected = [
            (1, Comment, "Of a file."),
            (3, Comment, "behind"),
            (4, Comment, "one two"),
            (7, FunctionDoc, "Doc `xxx` more."),
            (10, Comment, "Next."),
            (13, Comment, "Noun"),
        ];
        let found = read("crates/x/src/a.rs", text);
        let found: Vec<_> = found.iter().map(|(line, kind, text)| (*line, *kind, text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn messages_are_sentences_of_product_code() {
        let text = "fn f() { a(\"the plan `{x}` is gone, \\\n   and more\"); b(\"no_plan\"); c(\"sprag run the plan now\"); }\n#[cfg(test)]\nmod tests { fn f() { a(\"text of a test\"); } }";
        assert_eq!(
            read("crates/x/src/messages.rs", text),
            [(1, Kind::Message, "the plan `xxx` is gone, and more".to_owned())]
        );
        assert_eq!(read("crates/x/src/other.rs", text), []);
    }

    #[test]
    fn documents_have_items_cells_and_code() {
        let text = "# Head\n\nOne\ntwo [link](a b).\n- item\n  goes here\n1. first\n\n```sh\ncode\n```\n| a | b c |\n";
        let found: Vec<String> = read("docs/a.md", text).into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(found, ["Head", "One two [link](xxx).", "item goes here", "first", "a", "b c"]);
        let found = read("x.toml", "# Why it\n# is so\nkey = 1 # behind\n# key = 2\n");
        assert_eq!(found, [(1, Kind::Comment, "Why it is so".to_owned())]);
        let section = "const S: SettingSection = SettingSection { toml: \"\n# How many\nmost = 3\n\" };";
        assert_eq!(read("crates/x/src/a.rs", section), [(2, Kind::Comment, "How many".to_owned())]);
    }
}
