//! From text to syntax tree. A text that is no valid shell, or nests too deep, is split into its simple
//! commands, which is a doubt.

pub(crate) mod ast;
mod budget;
mod compound;
mod heredoc;
mod lexer;
pub(crate) mod lookahead;
mod parser;
mod recover;
pub(crate) mod scan;

use self::ast::ParsedText;

/// Why a text has no tree of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseFault {
    /// The text is no shell.
    Syntax,
    /// It nests too deep or holds too many commands.
    Budget,
}

/// Reads `text`, which may nest `levels` levels.
pub(crate) fn read(text: &str, levels: usize) -> (ParsedText, Option<ParseFault>) {
    match parser::parse(text, levels) {
        Ok(parsed) => (parsed, None),
        Err(fault) => (recover::split(text), Some(fault)),
    }
}
