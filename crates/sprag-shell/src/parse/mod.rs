//! From text to syntax tree. The parser is given only what it can take without recursing too deep,
//! running too long or failing on a number; the rest, and what it rejects, is split by our own
//! means, which is a doubt.

mod heredocs;
mod plain;
mod recover;
pub(crate) mod scan;

use brush_parser::ast::Program;
use brush_parser::{Parser, ParserOptions};

use super::DoubtKind;

/// Nested `case` without a last `;;` doubles the parser's time at each level.
const CASES: usize = 5;
/// Operators of one `[[ ]]` become a tree of that depth.
const TESTS: usize = 48;

pub(super) struct ParseResult {
    pub(super) program: Program,
    pub(super) doubt: Option<DoubtKind>,
}

/// Compound commands of one text, closed or not; more would be a strain if our scan were wrong.
const OPENED: usize = 1000;

/// Reads `text`, which may nest `depth` levels.
pub(crate) fn read(text: &str, depth: usize) -> ParseResult {
    if let Some(program) = plain::read(text) {
        return ParseResult { program, doubt: None };
    }
    let shape = scan::shape(text);
    if shape.depth > depth || shape.opened > OPENED || shape.cases > CASES || shape.tests > TESTS {
        return ParseResult { program: recover::split(text), doubt: Some(DoubtKind::Limit) };
    }
    if shape.wide_descriptor {
        return ParseResult { program: recover::split(text), doubt: Some(DoubtKind::Parse) };
    }
    let edited;
    let text = if shape.edits.is_empty() {
        text
    } else {
        edited = with_edits(text, shape.edits);
        &edited
    };
    let program = parse(text).or_else(|| {
        let retry = ["select", "((", "coproc"].iter().any(|word| text.contains(word));
        if !retry {
            return None;
        }
        parse(&without_gaps(&coproc_as_pipe(&select_as_for(text))))
    });
    match program {
        None => ParseResult { program: recover::split(text), doubt: Some(DoubtKind::Parse) },
        Some(program) if shape.heredocs == heredocs::count(&program) => ParseResult { program, doubt: None },
        // Two readings of the same text: what either of them sees counts.
        Some(mut program) => {
            program.complete_commands.extend(recover::split(text).complete_commands);
            ParseResult { program, doubt: Some(DoubtKind::Parse) }
        }
    }
}

/// The text with each character put in: in the stead of a blank, so that spans stay right, if there
/// is one.
fn with_edits(text: &str, mut edits: Vec<(usize, char)>) -> String {
    edits.sort_unstable();
    let mut out = String::with_capacity(text.len() + edits.len());
    let mut from = 0;
    for (at, put) in edits {
        let at = at.max(from);
        out.push_str(&text[from..at]);
        out.push(put);
        from = if put == '\n' && text[at..].starts_with([' ', '\t']) { at + 1 } else { at };
    }
    out.push_str(&text[from..]);
    out
}

/// `coproc { ( a ); }`: the parser takes the brace for a name. A pipe runs its parts in shells of
/// their own just as well.
fn coproc_as_pipe(text: &str) -> String {
    text.replace("coproc {", "    :| {")
}

/// `for ((i = 0;; i++))`: the parser takes the two semicolons for the end of a case.
fn without_gaps(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    let mut rest = text;
    while let Some(at) = rest.find("((") {
        let end = rest[at..].find("))").map_or(rest.len(), |length| at + length);
        out.push_str(&rest[..at]);
        out.push_str(&rest[at..end].replace(";;", "; ;"));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn parse(text: &str) -> Option<Program> {
    Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program().ok()
}

/// `select x in …` has the shape of `for x in …`, which the parser knows. Spans stay right, because
/// the missing letters become blanks.
fn select_as_for(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("select") {
        let (before, after) = (&rest[..at], &rest[at + 6..]);
        out.push_str(before);
        let starts = out
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | '{'));
        let ends = after.starts_with([' ', '\t']);
        out.push_str(if starts && ends { "for   " } else { "select" });
        rest = after;
    }
    out.push_str(rest);
    out
}
