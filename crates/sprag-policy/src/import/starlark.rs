//! Parser for the part of Starlark that a list of literal calls needs. It skips any other statement (names,
//! functions, operators) as a whole.

use crate::import::{UnreadableText, line_at};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StarlarkStatement {
    pub line: usize,
    pub text: String,
    /// `None` if the statement is not a call with literal arguments.
    pub call: Option<StarlarkCall>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StarlarkCall {
    pub name: String,
    /// Values with their argument names.
    pub arguments: Vec<(Option<String>, Value)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Value>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StarlarkToken {
    Name(String),
    Text(String),
    /// A bracket, a comma or an operator.
    Sign(char),
    /// The end of a line outside brackets.
    Newline,
    /// A string with parts that only Starlark can evaluate.
    Unread,
}

struct PlacedToken {
    token: StarlarkToken,
    /// Byte offset.
    at: usize,
    /// Whether this is the first token of an indented line, which is part of a block.
    is_indented: bool,
}

/// Maximum depth of nested lists. Rules have two.
const DEEPEST: usize = 8;
/// Maximum number of statements of one file.
const MOST: usize = 20_000;
/// Maximum number of characters of a statement in a message: its first line may be the whole file.
const SHOWN: usize = 300;

pub(crate) fn statements(text: &str) -> Result<Vec<StarlarkStatement>, UnreadableText> {
    let tokens = tokens(text)?;
    let mut statements: Vec<StarlarkStatement> = Vec::new();
    let mut rest = tokens.as_slice();
    // Count each line once, regardless of the number of statements.
    let (mut line, mut counted) = (1, 0);
    while let Some(first) = rest.first() {
        if first.token == StarlarkToken::Newline || first.token == StarlarkToken::Sign(';') {
            rest = &rest[1..];
            continue;
        }
        let end = rest
            .iter()
            .position(|placed| matches!(placed.token, StarlarkToken::Newline | StarlarkToken::Sign(';')));
        let (statement, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        // The lines of a block are part of the statement that opened it.
        if first.is_indented && !statements.is_empty() {
            continue;
        }
        line += line_at(&text[counted..], first.at - counted) - 1;
        counted = first.at;
        if statements.len() >= MOST {
            return Err(UnreadableText { line, what: format!("more than {MOST} statements") });
        }
        let shown: String = text[first.at..].chars().take_while(|c| *c != '\n').take(SHOWN).collect();
        statements.push(StarlarkStatement {
            line,
            text: shown.trim_end().to_owned(),
            call: if first.is_indented { None } else { call(statement) },
        });
    }
    Ok(statements)
}

fn call(tokens: &[PlacedToken]) -> Option<StarlarkCall> {
    let mut tokens = tokens.iter().map(|placed| &placed.token).peekable();
    let Some(StarlarkToken::Name(name)) = tokens.next() else {
        return None;
    };
    (tokens.next()? == &StarlarkToken::Sign('(')).then_some(())?;
    let mut arguments = Vec::new();
    loop {
        let argument = match tokens.next()? {
            StarlarkToken::Sign(')') => break,
            StarlarkToken::Name(name) => {
                (tokens.next()? == &StarlarkToken::Sign('=')).then_some(())?;
                (Some(name.clone()), value(tokens.next()?, &mut tokens, 0)?)
            }
            first => (None, value(first, &mut tokens, 0)?),
        };
        arguments.push(argument);
        match tokens.next()? {
            StarlarkToken::Sign(',') => {}
            StarlarkToken::Sign(')') => break,
            _ => return None,
        }
    }
    tokens.next().is_none().then(|| StarlarkCall { name: name.clone(), arguments })
}

fn value<'t>(
    first: &StarlarkToken,
    rest: &mut impl Iterator<Item = &'t StarlarkToken>,
    depth: usize,
) -> Option<Value> {
    match first {
        StarlarkToken::Text(text) => Some(Value::Text(text.clone())),
        StarlarkToken::Sign('[') if depth < DEEPEST => {
            let mut items = Vec::new();
            loop {
                match rest.next()? {
                    StarlarkToken::Sign(']') => break,
                    item => items.push(value(item, rest, depth + 1)?),
                }
                match rest.next()? {
                    StarlarkToken::Sign(',') => {}
                    StarlarkToken::Sign(']') => break,
                    _ => return None,
                }
            }
            Some(Value::List(items))
        }
        StarlarkToken::Sign(_) | StarlarkToken::Name(_) | StarlarkToken::Newline | StarlarkToken::Unread => {
            None
        }
    }
}

fn tokens(text: &str) -> Result<Vec<PlacedToken>, UnreadableText> {
    let mut tokens: Vec<PlacedToken> = Vec::new();
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut at = 0;
    let (mut line_start, mut is_first) = (0, true);
    let broken = |at: usize, what: String| UnreadableText { line: line_at(text, at), what };
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        let token = match c {
            '\n' => {
                (line_start, is_first) = (at, true);
                if open.is_empty() { StarlarkToken::Newline } else { continue }
            }
            '\u{feff}' if start == 0 => {
                line_start = at;
                continue;
            }
            _ if c.is_whitespace() => continue,
            '#' => {
                at = text[at..].find('\n').map_or(text.len(), |end| at + end);
                continue;
            }
            // A line continuation.
            '\\' if text[at..].starts_with('\n') => {
                at += 1;
                continue;
            }
            '"' | '\'' => {
                let (token, end) = quoted(text, start, Escapes::Read)
                    .ok_or_else(|| broken(start, "the string that starts here is not closed".to_owned()))?;
                at = end;
                token
            }
            _ if c.is_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                at = text[at..].find(|c| !is_part(c)).map_or(text.len(), |end| at + end);
                let name = &text[start..at];
                match (name, text[at..].chars().next()) {
                    ("r" | "R", Some('"' | '\'')) => {
                        let (token, end) = quoted(text, at, Escapes::Kept).ok_or_else(|| {
                            broken(start, "the string that starts here is not closed".to_owned())
                        })?;
                        at = end;
                        token
                    }
                    _ => StarlarkToken::Name(name.to_owned()),
                }
            }
            '(' | '[' | '{' => {
                open.push((c, start));
                StarlarkToken::Sign(c)
            }
            ')' | ']' | '}' => match (open.pop(), c) {
                (Some(('(', _)), ')') | (Some(('[', _)), ']') | (Some(('{', _)), '}') => {
                    StarlarkToken::Sign(c)
                }
                (Some((opened, place)), _) => {
                    let line = line_at(text, place);
                    return Err(broken(start, format!("`{c}` does not close the `{opened}` of line {line}")));
                }
                (None, _) => return Err(broken(start, format!("`{c}` has no opening bracket"))),
            },
            _ => StarlarkToken::Sign(c),
        };
        let is_indented = is_first && start > line_start;
        is_first = token == StarlarkToken::Newline;
        tokens.push(PlacedToken { token, at: start, is_indented });
    }
    match open.pop() {
        Some((opened, place)) => Err(broken(place, format!("this `{opened}` is not closed"))),
        None => Ok(tokens),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Read,
    Kept,
}

/// Reads the string whose first quotation mark is at `start`; returns the token and its end.
fn quoted(text: &str, start: usize, escapes: Escapes) -> Option<(StarlarkToken, usize)> {
    let mark = text[start..].chars().next()?;
    let three: String = [mark; 3].iter().collect();
    let is_long = text[start..].starts_with(&three);
    let close = if is_long { three.as_str() } else { &three[..1] };
    let mut at = start + close.len();
    let mut read = String::new();
    let mut is_read = true;
    loop {
        if text[at..].starts_with(close) {
            let token = if is_read { StarlarkToken::Text(read) } else { StarlarkToken::Unread };
            return Some((token, at + close.len()));
        }
        let c = text[at..].chars().next()?;
        at += c.len_utf8();
        match c {
            '\n' if !is_long => return None,
            '\\' => {
                let escaped = text[at..].chars().next()?;
                at += escaped.len_utf8();
                match (escapes, escaped) {
                    (Escapes::Kept, _) => read.extend([c, escaped]),
                    (Escapes::Read, 'n') => read.push('\n'),
                    (Escapes::Read, 't') => read.push('\t'),
                    (Escapes::Read, 'r') => read.push('\r'),
                    (Escapes::Read, '\\' | '\'' | '"') => read.push(escaped),
                    (Escapes::Read, '\n') => {}
                    (Escapes::Read, _) => is_read = false,
                }
            }
            c => read.push(c),
        }
    }
}
