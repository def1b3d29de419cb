//! Language-specific ways to open files and pipes: `print | "cmd"` of awk, `open` of Perl and Python.

use super::calls::{CallAction, CallReader, one};
use super::lexer::CodeToken;
use crate::expand::unknown::{self, HOLE};

impl CallReader<'_> {
    /// Returns the action of `print "x" | "cmd"` or `"cmd" | getline`.
    pub(super) fn awk_pipe(&self, at: usize) -> Option<CallAction> {
        if self.is_mark(at + 1, '|') || self.is_mark(at.wrapping_sub(1), '|') {
            return None;
        }
        // `|&` of gawk works in both directions.
        let target = if self.is_mark(at + 1, '&') { at + 2 } else { at + 1 };
        if let Some(CodeToken::Text(command)) = self.tokens.get(target) {
            // Text printed into a shell is code.
            let printed = match self.tokens.get(at.wrapping_sub(1)) {
                Some(CodeToken::Text(text))
                    if crate::carriers::shells::is_shell(unknown::base_name(command)) =>
                {
                    Some(text.clone())
                }
                _ => None,
            };
            return Some(CallAction::Shell(printed.unwrap_or_else(|| command.clone())));
        }
        match (self.tokens.get(at.wrapping_sub(1)), self.tokens.get(at + 1)) {
            (Some(CodeToken::Text(command)), Some(CodeToken::Name(name))) if name == "getline" => {
                Some(CallAction::Shell(command.clone()))
            }
            (_, Some(CodeToken::Name(name))) if name == "getline" => {
                Some(CallAction::Unknown("getline".to_owned()))
            }
            _ => Some(CallAction::Unknown("print".to_owned())),
        }
    }

    /// Returns the file of `print > "file"` for the `>` at this position. Elsewhere it compares.
    pub(super) fn awk_redirect(&self, at: usize) -> Option<CallAction> {
        let mut depth = 0_usize;
        for before in self.tokens[..at].iter().rev() {
            match before {
                CodeToken::Mark(')' | ']') => depth += 1,
                CodeToken::Mark('(' | '[') => depth = depth.checked_sub(1)?,
                CodeToken::Mark(';' | '{' | '}' | '\n') if depth == 0 => return None,
                CodeToken::Name(name) if depth == 0 && matches!(name.as_str(), "print" | "printf") => {
                    let mut target = at + 1;
                    while self.is_mark(target, '>') {
                        target += 1;
                    }
                    return Some(CallAction::Write(match self.tokens.get(target) {
                        Some(CodeToken::Text(path)) => path.clone(),
                        _ => HOLE.to_string(),
                    }));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the action of `open("x", "w")`; without a mode it reads.
    pub(super) fn python_open(&self, at: usize) -> Option<CallAction> {
        if !self.is_mark(at + 1, '(') {
            return None;
        }
        // `mode="w"` is a keyword argument, which `arguments` leaves out.
        let end = self.skip(at + 1);
        let inner = self.tokens.get(at + 2..end)?;
        let keyword = inner.windows(3).find_map(|window| match window {
            [CodeToken::Name(name), CodeToken::Mark('='), CodeToken::Text(mode)] if name == "mode" => {
                Some(mode.clone())
            }
            _ => None,
        });
        let arguments = self.arguments(at + 2);
        let mode = keyword.or_else(|| arguments.get(1).map(one))?;
        mode.contains(['w', 'a', 'x', '+'])
            .then(|| CallAction::Write(arguments.first().map_or_else(|| HOLE.to_string(), one)))
    }

    /// Returns the action of `open(F, "cmd |")` or `open(F, "-|", "cmd")`.
    pub(super) fn perl_open(&self, at: usize) -> Option<CallAction> {
        let arguments = self.arguments(if self.is_mark(at + 1, '(') { at + 2 } else { at + 1 });
        let texts: Vec<String> = arguments.iter().skip(1).map(one).collect();
        match texts.as_slice() {
            [mode, rest @ ..] if mode == "-|" || mode == "|-" => Some(CallAction::Words(rest.to_vec())),
            [mode, path] if mode.starts_with('>') || mode.starts_with("+<") => {
                Some(CallAction::Write(path.clone()))
            }
            [only] if only.trim_start().starts_with('>') => {
                Some(CallAction::Write(only.trim_start_matches(['>', ' ']).to_owned()))
            }
            [only] if only.trim_end().ends_with('|') || only.trim_start().starts_with('|') => {
                Some(CallAction::Shell(only.trim().trim_matches('|').to_owned()))
            }
            _ => None,
        }
    }
}
