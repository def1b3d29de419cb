//! Builtins that change the state of the shell: directory, variables, arguments, aliases.

use super::state::Variable;
use super::{Evaluator, StdinText};
use crate::expand::unknown::{self, HOLE, MANY};
use crate::paths::options::{self, ProgramOptions};
use crate::{DoubtKind, carriers};

/// Reports whether the words of a builtin are assignments.
pub(crate) fn declares(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly")
}

impl Evaluator {
    /// Applies a builtin; returns false for other commands.
    pub(super) fn builtin(&mut self, name: &str, words: &[String]) -> bool {
        let operands = || words[1..].iter().skip_while(|word| word.starts_with('-') && word.len() > 1);
        self.evaluates(name, words);
        match name {
            "cd" | "chdir" => {
                let to = operands().next().cloned();
                match to.as_deref() {
                    None => {
                        let home = self.state.home.clone();
                        self.state.change_dir(&home);
                    }
                    Some("-") => {
                        let previous = self.state.previous.take();
                        self.state.previous = std::mem::replace(&mut self.state.cwd, previous);
                    }
                    Some(to) => self.state.change_dir(to),
                }
            }
            "pushd" => {
                self.state.pushed.push(self.state.cwd.clone());
                match operands().next().cloned() {
                    Some(to) if !to.starts_with('+') => self.state.change_dir(&to),
                    _ => self.state.cwd = None,
                }
            }
            "popd" => self.state.cwd = self.state.pushed.pop().flatten(),
            _ if declares(name) => self.declare(name, words),
            "unset" => {
                for word in operands() {
                    let variable = Variable { values: vec![String::new()], ..Variable::default() };
                    self.state.variables.insert(word.clone(), variable);
                    self.state.functions.remove(word);
                }
            }
            "read" => {
                const OPTIONS: ProgramOptions = ProgramOptions { letters: "adinNptu", long: &[] };
                let split = options::leading(words, 1, &OPTIONS);
                // `read -d ''` takes the whole input.
                let line = if split.has(&["-n", "-N", "-u", "-t"]) {
                    None
                } else if let Some(end) = split.value(&["-d"]) {
                    if end.is_empty() {
                        self.input_text().filter(|text| unknown::is_known(text))
                    } else {
                        None
                    }
                } else {
                    self.input_line()
                };
                if let Some(array) = split.value(&["-a"]) {
                    let values = match (&line, self.separators()) {
                        (Some(line), Some(separators)) => split_line(line, &separators, usize::MAX),
                        _ => vec![MANY.to_string()],
                    };
                    let variable = Variable { values, array: true, exported: false };
                    self.state.variables.insert(array.to_owned(), variable);
                }
                self.read(words.get(split.operands..).unwrap_or_default(), line);
            }
            "getopts" => {
                if let Some(word) = words.get(2) {
                    self.state.set_hole(word);
                }
                self.state.set_hole("OPTARG");
            }
            "let" => {
                for word in operands() {
                    let end =
                        word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
                    if end > 0 {
                        self.state.set_hole(&word[..end]);
                    }
                }
            }
            "printf" => {
                if words.get(1).is_some_and(|word| word == "-v")
                    && let (Some(name), Some(format)) = (words.get(2), words.get(3))
                {
                    let text = super::output::printf(format, &words[4..]).unwrap_or_else(|| HOLE.to_string());
                    self.state.set(name, text);
                }
            }
            "set" => self.set_arguments(words),
            "shift" => {
                let count = words.get(1).map_or(Some(1), |word| word.parse::<usize>().ok());
                let known = self
                    .state
                    .arguments
                    .as_ref()
                    .is_some_and(|words| !words.iter().any(|word| word.contains(MANY)));
                self.state.arguments = match (self.state.arguments.take(), count) {
                    (Some(words), Some(count)) if known => Some(words.into_iter().skip(count).collect()),
                    _ => None,
                };
            }
            "alias" => {
                for word in operands() {
                    if let Some((name, text)) = word.split_once('=') {
                        self.state.aliases.insert(name.to_owned(), text.to_owned());
                    }
                }
            }
            "unalias" => {
                if words.iter().any(|word| word == "-a") {
                    self.state.aliases.clear();
                }
                for word in operands() {
                    self.state.aliases.remove(word);
                }
            }
            ":" | "true" | "false" | "test" | "[" | "shopt" | "wait" | "return" | "exit" | "break"
            | "continue" | "umask" | "ulimit" | "hash" | "enable" | "bind" | "complete" | "compgen"
            | "disown" | "dirs" | "jobs" | "times" => {}
            _ => return false,
        }
        true
    }

    /// Takes the next line of known input.
    fn input_line(&mut self) -> Option<String> {
        let StdinText::Text(text) = &mut self.input else { return None };
        if !unknown::is_known(text) || text.is_empty() {
            return None;
        }
        let end = text.find('\n').map_or(text.len(), |at| at + 1);
        let rest = text.split_off(end);
        let line = std::mem::replace(text, rest);
        Some(line.trim_end_matches('\n').to_owned())
    }

    /// Assigns a line to the names of `read a b`; the last name takes the rest.
    fn read(&mut self, names: &[String], line: Option<String>) {
        let (Some(line), Some(separators)) = (line, self.separators()) else {
            for name in names {
                self.state.set_hole(name);
            }
            self.state.set_hole("REPLY");
            return;
        };
        let mut words = split_line(&line, &separators, names.len()).into_iter();
        for name in names {
            self.state.set(name, words.next().unwrap_or_default());
        }
        self.state.set("REPLY", line);
    }

    /// Returns `IFS`, if it is known.
    fn separators(&self) -> Option<String> {
        match self.state.variables.get("IFS") {
            None => Some(" \t\n".to_owned()),
            Some(variable) => variable.values.first().filter(|value| unknown::is_known(value)).cloned(),
        }
    }

    fn declare(&mut self, name: &str, words: &[String]) {
        let exports =
            name == "export" || words[1..].iter().any(|word| word.starts_with('-') && word.contains('x'));
        let named = words[1..].iter().any(|word| word.starts_with('-') && word.contains('n'));
        for word in words[1..].iter().filter(|word| !word.starts_with('-')) {
            let name = match carriers::assignment(word) {
                Some((name, value)) => {
                    // Plain assignments are already applied; this handles quoted ones.
                    if !self.state.variables.get(&name).is_some_and(|variable| variable.array) {
                        self.state.set(&name, if named { HOLE.to_string() } else { value });
                    }
                    name
                }
                None if unknown::is_known(word) => word.clone(),
                None => continue,
            };
            if name == "PATH" && word.contains('=') {
                // A program of the same name may come first in `PATH`.
                self.doubt(DoubtKind::Opaque, word);
            }
            if exports {
                self.state.export(&name);
            }
        }
    }

    /// Applies `set -- a b`.
    fn set_arguments(&mut self, words: &[String]) {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            match word.as_str() {
                "--" | "-" => {
                    at += 1;
                    break;
                }
                "-o" | "+o" => at += 2,
                _ if word.starts_with(['-', '+']) => at += 1,
                _ => break,
            }
        }
        let dashes = words.get(at - 1).is_some_and(|word| word == "--");
        if at < words.len() || dashes && at > 1 {
            self.state.arguments = Some(words.get(at..).unwrap_or_default().to_vec());
        }
    }
}

/// Splits a line into the words that `read` assigns; the last word takes the rest.
fn split_line(line: &str, separators: &str, most: usize) -> Vec<String> {
    let separates = |c: char| separators.contains(c);
    let blank = |c: char| separates(c) && matches!(c, ' ' | '\t' | '\n');
    let mut words = Vec::new();
    let mut rest = line.trim_matches(blank);
    while words.len() + 1 < most
        && let Some(at) = rest.find(separates)
    {
        words.push(rest[..at].to_owned());
        // Blanks around another separator belong to it.
        let after = rest[at..].trim_start_matches(blank);
        let one = after.strip_prefix(|c: char| separates(c) && !blank(c)).unwrap_or(after);
        rest = one.trim_start_matches(blank);
    }
    if !rest.is_empty() && most > 0 {
        words.push(rest.to_owned());
    }
    words
}
