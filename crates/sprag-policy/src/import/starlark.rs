//! As much of Starlark as a list of literal calls needs. What is more than that (names, functions,
//! operators) is a statement that is passed over whole, by its lines.

use crate::import::{Broken, line_at};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub line: usize,
    pub text: String,
    /// `None`: it is more than a call with literal arguments.
    pub call: Option<Call>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// With the names they are given by.
    pub arguments: Vec<(Option<String>, Value)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<Value>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    /// A bracket, a comma, an operator.
    Sign(char),
    /// The end of a line outside of brackets.
    Newline,
    /// A text with what only Starlark itself knows to read.
    Unread,
}

struct Placed {
    token: Token,
    /// Byte offset.
    at: usize,
    /// It is the first of its line and stands behind blanks: part of a block.
    is_indented: bool,
}

/// Lists in lists. Rules have two.
const DEEPEST: usize = 8;
/// Statements of one file.
const MOST: usize = 20_000;
/// Characters of a statement that are told: its first line may be the whole file.
const SHOWN: usize = 300;

pub fn statements(text: &str) -> Result<Vec<Statement>, Broken> {
    let tokens = tokens(text)?;
    let mut statements: Vec<Statement> = Vec::new();
    let mut rest = tokens.as_slice();
    // Lines are counted once, however many statements there are.
    let (mut line, mut counted) = (1, 0);
    while let Some(first) = rest.first() {
        if first.token == Token::Newline || first.token == Token::Sign(';') {
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(|placed| matches!(placed.token, Token::Newline | Token::Sign(';')));
        let (statement, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        // The lines of a block are part of the statement that opened it.
        if first.is_indented && !statements.is_empty() {
            continue;
        }
        line += line_at(&text[counted..], first.at - counted) - 1;
        counted = first.at;
        if statements.len() >= MOST {
            return Err(Broken { line, what: format!("there are more than {MOST} statements") });
        }
        let shown: String = text[first.at..].chars().take_while(|c| *c != '\n').take(SHOWN).collect();
        statements.push(Statement {
            line,
            text: shown.trim_end().to_owned(),
            call: if first.is_indented { None } else { call(statement) },
        });
    }
    Ok(statements)
}

fn call(tokens: &[Placed]) -> Option<Call> {
    let mut tokens = tokens.iter().map(|placed| &placed.token).peekable();
    let Some(Token::Name(name)) = tokens.next() else {
        return None;
    };
    (tokens.next()? == &Token::Sign('(')).then_some(())?;
    let mut arguments = Vec::new();
    loop {
        let argument = match tokens.next()? {
            Token::Sign(')') => break,
            Token::Name(name) => {
                (tokens.next()? == &Token::Sign('=')).then_some(())?;
                (Some(name.clone()), value(tokens.next()?, &mut tokens, 0)?)
            }
            first => (None, value(first, &mut tokens, 0)?),
        };
        arguments.push(argument);
        match tokens.next()? {
            Token::Sign(',') => {}
            Token::Sign(')') => break,
            _ => return None,
        }
    }
    tokens.next().is_none().then(|| Call { name: name.clone(), arguments })
}

fn value<'t>(first: &Token, rest: &mut impl Iterator<Item = &'t Token>, depth: usize) -> Option<Value> {
    match first {
        Token::Text(text) => Some(Value::Text(text.clone())),
        Token::Sign('[') if depth < DEEPEST => {
            let mut items = Vec::new();
            loop {
                match rest.next()? {
                    Token::Sign(']') => break,
                    item => items.push(value(item, rest, depth + 1)?),
                }
                match rest.next()? {
                    Token::Sign(',') => {}
                    Token::Sign(']') => break,
                    _ => return None,
                }
            }
            Some(Value::List(items))
        }
        Token::Sign(_) | Token::Name(_) | Token::Newline | Token::Unread => None,
    }
}

fn tokens(text: &str) -> Result<Vec<Placed>, Broken> {
    let mut tokens: Vec<Placed> = Vec::new();
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut at = 0;
    let (mut line_start, mut is_first) = (0, true);
    let broken = |at: usize, what: String| Broken { line: line_at(text, at), what };
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        let token = match c {
            '\n' => {
                (line_start, is_first) = (at, true);
                match open.is_empty() {
                    true => Token::Newline,
                    false => continue,
                }
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
            // A line that goes on.
            '\\' if text[at..].starts_with('\n') => {
                at += 1;
                continue;
            }
            '"' | '\'' => {
                let (token, end) = quoted(text, start, Escapes::Read)
                    .ok_or_else(|| broken(start, "the text that starts here has no end".to_owned()))?;
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
                            broken(start, "the text that starts here has no end".to_owned())
                        })?;
                        at = end;
                        token
                    }
                    _ => Token::Name(name.to_owned()),
                }
            }
            '(' | '[' | '{' => {
                open.push((c, start));
                Token::Sign(c)
            }
            ')' | ']' | '}' => match (open.pop(), c) {
                (Some(('(', _)), ')') | (Some(('[', _)), ']') | (Some(('{', _)), '}') => Token::Sign(c),
                (Some((opened, place)), _) => {
                    let line = line_at(text, place);
                    return Err(broken(start, format!("`{c}` does not close the `{opened}` of line {line}")));
                }
                (None, _) => return Err(broken(start, format!("`{c}` closes nothing"))),
            },
            _ => Token::Sign(c),
        };
        let is_indented = is_first && start > line_start;
        is_first = token == Token::Newline;
        tokens.push(Placed { token, at: start, is_indented });
    }
    match open.pop() {
        Some((opened, place)) => Err(broken(place, format!("the `{opened}` that starts here has no end"))),
        None => Ok(tokens),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Read,
    Kept,
}

/// The text whose first quotation mark is at `start`, and where it ends.
fn quoted(text: &str, start: usize, escapes: Escapes) -> Option<(Token, usize)> {
    let mark = text[start..].chars().next()?;
    let three: String = [mark; 3].iter().collect();
    let is_long = text[start..].starts_with(&three);
    let close = if is_long { three.as_str() } else { &three[..1] };
    let mut at = start + close.len();
    let mut read = String::new();
    let mut is_read = true;
    loop {
        if text[at..].starts_with(close) {
            let token = if is_read { Token::Text(read) } else { Token::Unread };
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
