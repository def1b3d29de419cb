//! Files and pipes that languages open in a way of their own: `print | "cmd"` of awk, `open` of Perl
//! and Python.

use super::calls::{Action, Reader, one};
use super::lexer::Token;
use crate::expand::unknown::{self, HOLE};

impl Reader<'_> {
    /// `print "x" | "cmd"` and `"cmd" | getline`.
    pub(super) fn awk_pipe(&self, at: usize) -> Option<Action> {
        if self.is_mark(at + 1, '|') || self.is_mark(at.wrapping_sub(1), '|') {
            return None;
        }
        // `|&` of gawk talks both ways.
        let target = if self.is_mark(at + 1, '&') { at + 2 } else { at + 1 };
        if let Some(Token::Text(command)) = self.tokens.get(target) {
            // What is printed into a shell is code.
            let printed = match self.tokens.get(at.wrapping_sub(1)) {
                Some(Token::Text(text)) if crate::carriers::shells::is_shell(unknown::base_name(command)) => {
                    Some(text.clone())
                }
                _ => None,
            };
            return Some(Action::Shell(printed.unwrap_or_else(|| command.clone())));
        }
        match (self.tokens.get(at.wrapping_sub(1)), self.tokens.get(at + 1)) {
            (Some(Token::Text(command)), Some(Token::Name(name))) if name == "getline" => {
                Some(Action::Shell(command.clone()))
            }
            (_, Some(Token::Name(name))) if name == "getline" => Some(Action::Unknown("getline".to_owned())),
            (_, Some(Token::Name(_))) => Some(Action::Unknown("print".to_owned())),
            _ => None,
        }
    }

    /// `open("x", "w")`; without a mode it reads.
    pub(super) fn python_open(&self, at: usize) -> Option<Action> {
        if !self.is_mark(at + 1, '(') {
            return None;
        }
        // `mode="w"` is a keyword, which is no argument of ours.
        let end = self.skip(at + 1);
        let inner = self.tokens.get(at + 2..end)?;
        let keyword = inner.windows(3).find_map(|window| match window {
            [Token::Name(name), Token::Mark('='), Token::Text(mode)] if name == "mode" => Some(mode.clone()),
            _ => None,
        });
        let arguments = self.arguments(at + 2);
        let mode = keyword.or_else(|| arguments.get(1).map(one))?;
        mode.contains(['w', 'a', 'x', '+'])
            .then(|| Action::Write(arguments.first().map_or_else(|| HOLE.to_string(), one)))
    }

    /// `open(F, "cmd |")`, `open(F, "-|", "cmd")`.
    pub(super) fn perl_open(&self, at: usize) -> Option<Action> {
        let arguments = self.arguments(if self.is_mark(at + 1, '(') { at + 2 } else { at + 1 });
        let texts: Vec<String> = arguments.iter().skip(1).map(one).collect();
        match texts.as_slice() {
            [mode, rest @ ..] if mode == "-|" || mode == "|-" => Some(Action::Words(rest.to_vec())),
            [mode, path] if mode.starts_with('>') || mode.starts_with("+<") => {
                Some(Action::Write(path.clone()))
            }
            [only] if only.trim_end().ends_with('|') || only.trim_start().starts_with('|') => {
                Some(Action::Shell(only.trim().trim_matches('|').to_owned()))
            }
            _ => None,
        }
    }
}
