//! What can be read of a text that is no valid shell, or too deep to be parsed: simple commands
//! between operators, with quotes, substitutions and heredocs respected. It sees more commands than
//! there are rather than fewer.

use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item};

use super::scan::{self, Nesting};

/// The text as one flat list; a pipe stays a pipe, so that what is piped into a shell is seen.
pub(crate) fn split(text: &str) -> ast::Program {
    let mut list = Vec::new();
    let mut pipe = Vec::new();
    for piece in pieces(text) {
        match piece {
            RecoveredPiece::Command(command) => pipe.push(ast::Command::Simple(command)),
            RecoveredPiece::Pipe => {}
            RecoveredPiece::End => end(&mut pipe, &mut list),
        }
    }
    end(&mut pipe, &mut list);
    ast::Program { complete_commands: vec![ast::CompoundList(list)] }
}

fn end(pipe: &mut Vec<ast::Command>, list: &mut Vec<ast::CompoundListItem>) {
    if pipe.is_empty() {
        return;
    }
    let first = ast::Pipeline { timed: None, bang: false, seq: std::mem::take(pipe) };
    let list_item = ast::AndOrList { first, additional: Vec::new() };
    list.push(ast::CompoundListItem(list_item, ast::SeparatorOperator::Sequence));
}

enum RecoveredPiece {
    Command(ast::SimpleCommand),
    Pipe,
    End,
}

/// Words that only frame commands.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time", "coproc",
    "esac", "in",
];

struct RecoveredHeredoc {
    end: String,
    tabs: bool,
    quoted: bool,
    /// Which redirection of which command it belongs to.
    command: usize,
}

fn pieces(text: &str) -> Vec<RecoveredPiece> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut words: Vec<Item> = Vec::new();
    let mut heredocs: Vec<RecoveredHeredoc> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\r' => at += 1,
            b'#' => at = text[at..].find('\n').map_or(bytes.len(), |length| at + length),
            b'\n' => {
                finish(&mut words, &mut pieces);
                pieces.push(RecoveredPiece::End);
                at += 1;
                for heredoc in std::mem::take(&mut heredocs) {
                    let (body, next) = body(text, at, &heredoc);
                    at = next;
                    attach(&mut pieces, &heredoc, body);
                }
            }
            b'|' if bytes.get(at + 1) != Some(&b'|') => {
                finish(&mut words, &mut pieces);
                pieces.push(RecoveredPiece::Pipe);
                at += if bytes.get(at + 1) == Some(&b'&') { 2 } else { 1 };
            }
            b'&' if bytes.get(at + 1) == Some(&b'>') => at = redirect(text, at + 1, &mut words),
            b';' | b'&' | b'|' | b'(' | b')' => {
                finish(&mut words, &mut pieces);
                pieces.push(RecoveredPiece::End);
                at += 1;
            }
            b'<' if text[at..].starts_with("<<") && !text[at..].starts_with("<<<") => {
                let tabs = bytes.get(at + 2) == Some(&b'-');
                let (raw, next) = target(text, at + if tabs { 3 } else { 2 });
                at = next;
                let quoted = raw.contains(['\'', '"', '\\']);
                let end = raw.replace(['\'', '"', '\\'], "");
                let command =
                    pieces.iter().filter(|piece| matches!(piece, RecoveredPiece::Command(_))).count();
                heredocs.push(RecoveredHeredoc { end, tabs, quoted, command });
            }
            b'<' | b'>' if bytes.get(at + 1) == Some(&b'(') => {
                finish(&mut words, &mut pieces);
                at += 2;
            }
            b'<' | b'>' => at = redirect(text, at, &mut words),
            _ => {
                let next = word_end(text, at);
                let word = &text[at..next];
                at = next;
                if !(words.is_empty() && KEYWORDS.contains(&word)) {
                    words.push(Item::Word(ast::Word::new(word)));
                }
            }
        }
    }
    finish(&mut words, &mut pieces);
    pieces
}

fn finish(words: &mut Vec<Item>, pieces: &mut Vec<RecoveredPiece>) {
    if words.is_empty() {
        return;
    }
    let mut prefix = Vec::new();
    let mut name = None;
    let mut suffix = Vec::new();
    for item in words.drain(..) {
        match item {
            Item::Word(word) if name.is_none() => match assignment(&word) {
                Some(assignment) => prefix.push(Item::AssignmentWord(assignment, word)),
                None => name = Some(word),
            },
            other if name.is_none() => prefix.push(other),
            other => suffix.push(other),
        }
    }
    pieces.push(RecoveredPiece::Command(ast::SimpleCommand {
        prefix: (!prefix.is_empty()).then_some(ast::CommandPrefix(prefix)),
        word_or_name: name,
        suffix: (!suffix.is_empty()).then_some(ast::CommandSuffix(suffix)),
    }));
}

fn assignment(word: &ast::Word) -> Option<ast::Assignment> {
    let (name, value) = word.value.split_once('=')?;
    let (name, append) = match name.strip_suffix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then(|| ast::Assignment {
        name: ast::AssignmentName::VariableName(name.to_owned()),
        value: ast::AssignmentValue::Scalar(ast::Word::new(value)),
        append,
        loc: brush_parser::SourceSpan::default(),
    })
}

/// One redirection at `at`; returns the place behind it.
fn redirect(text: &str, at: usize, words: &mut Vec<Item>) -> usize {
    let operator = text[at..].chars().take_while(|c| matches!(c, '<' | '>' | '&' | '|')).count().min(3);
    // A number in front of it is the descriptor, not a word.
    let adjacent = at > 0 && text.as_bytes()[at - 1].is_ascii_digit();
    if adjacent
        && let Some(Item::Word(word)) = words.last()
        && word.value.bytes().all(|byte| byte.is_ascii_digit())
    {
        words.pop();
    }
    let (raw, next) = target(text, at + operator);
    if raw.is_empty() {
        return next.max(at + operator);
    }
    let word = ast::Word::new(raw);
    let kind = match &text[at..at + operator] {
        "<<<" => {
            words.push(Item::IoRedirect(ast::IoRedirect::HereString(None, word)));
            return next;
        }
        "<" => ast::IoFileRedirectKind::Read,
        ">" => ast::IoFileRedirectKind::Write,
        ">>" => ast::IoFileRedirectKind::Append,
        ">|" => ast::IoFileRedirectKind::Clobber,
        "<>" => ast::IoFileRedirectKind::ReadAndWrite,
        // A descriptor: `2>&1`.
        _ => return next,
    };
    let target = ast::IoFileRedirectTarget::Filename(word);
    words.push(Item::IoRedirect(ast::IoRedirect::File(None, kind, target)));
    next
}

fn target(text: &str, at: usize) -> (&str, usize) {
    let skipped = text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
    let start = at + skipped;
    let end = word_end(text, start);
    (&text[start..end], end)
}

/// The place behind the word at `at`; an unclosed quote ends at the end of its line, so that what
/// follows is still seen.
fn word_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = at;
    let line = |at: usize| text[at..].find('\n').map_or(bytes.len(), |length| at + length);
    while at < bytes.len() {
        let end = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
            b'\\' => Some(at + 2),
            b'\'' => scan::end_of_single(text, at + 1),
            b'"' => scan::end_of(text, at + 1, Nesting::Quotes),
            b'`' => scan::end_of(text, at + 1, Nesting::Ticks),
            b'$' => match bytes.get(at + 1) {
                Some(b'\'') => scan::end_of_ansi(text, at + 2),
                Some(b'{') => scan::end_of(text, at + 2, Nesting::Braces),
                Some(b'(') if scan::is_arithmetic(bytes, at + 2) => scan::end_of(text, at + 2, Nesting::Math),
                Some(b'(') => scan::end_of(text, at + 2, Nesting::Parens),
                _ => Some(at + 1),
            },
            _ => Some(at + 1),
        };
        at = match end {
            Some(end) => end.min(bytes.len()),
            None => line(at),
        };
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    at
}

fn body<'t>(text: &'t str, start: usize, heredoc: &RecoveredHeredoc) -> (&'t str, usize) {
    let mut at = start.min(text.len());
    while at < text.len() {
        let length = text[at..].find('\n').unwrap_or(text.len() - at);
        let line = &text[at..at + length];
        let line = if heredoc.tabs { line.trim_start_matches('\t') } else { line };
        let next = (at + length + 1).min(text.len());
        if line == heredoc.end {
            return (&text[start..at], next);
        }
        at = next;
    }
    (&text[start.min(text.len())..], text.len())
}

fn attach(pieces: &mut [RecoveredPiece], heredoc: &RecoveredHeredoc, body: &str) {
    let command = pieces
        .iter_mut()
        .filter_map(|piece| match piece {
            RecoveredPiece::Command(command) => Some(command),
            RecoveredPiece::Pipe | RecoveredPiece::End => None,
        })
        .nth(heredoc.command);
    if let Some(command) = command {
        let document = ast::IoHereDocument {
            remove_tabs: heredoc.tabs,
            requires_expansion: !heredoc.quoted,
            here_end: ast::Word::new(&heredoc.end),
            doc: ast::Word::new(body),
        };
        let item = Item::IoRedirect(ast::IoRedirect::HereDocument(None, document));
        command.suffix.get_or_insert_with(|| ast::CommandSuffix(Vec::new())).0.push(item);
    }
}
