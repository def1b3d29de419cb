//! Parses a text to a syntax tree. A text that is not valid shell code, or nests too deep, is split into its
//! simple commands, and that is a doubt.

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

/// The reason why a text has no proper tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParseFault {
    /// The text is not valid shell code.
    Syntax,
    /// The text nests too deep or has too many commands.
    Budget,
}

/// Reads `text`, which may nest `levels` levels deep.
pub(crate) fn read(text: &str, levels: usize) -> (ParsedText, Option<ParseFault>) {
    match parser::parse(text, levels) {
        Ok(parsed) => (parsed, None),
        Err(fault) => (recover::split(text), Some(fault)),
    }
}
