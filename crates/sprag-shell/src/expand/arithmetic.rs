//! Text that the shell itself evaluates as code. Arithmetic evaluates the values of its variables, and a
//! subscript runs its substitutions, no matter where the text comes from.

use super::unknown::{self, HOLE};
use crate::eval::Evaluator;
use crate::{Carrier, DoubtKind};

/// Maximum length of a chain of variables that name variables.
const CHAIN: usize = 4;
/// Maximum number of names looked up for one expression.
const NAMES: usize = 64;

impl Evaluator {
    /// Walks an arithmetic expression as written. Its substitutions run, and those in the values of its
    /// variables run too.
    pub(crate) fn computed(&mut self, raw: &str) {
        if raw.contains(['$', '`', '<', '>']) {
            let value = self.in_one(raw, super::Quoting::Bare);
            if unknown::is_open(&value) && (raw.contains("$(") && !raw.contains("$((") || raw.contains('`')) {
                self.unseen(raw);
            }
        }
        self.computed_values(raw);
    }

    fn computed_values(&mut self, raw: &str) {
        self.count(raw.len() / 16);
        let mut waiting: Vec<String> = names(raw).take(NAMES).map(str::to_owned).collect();
        for _ in 0..CHAIN {
            let mut next = Vec::new();
            for name in waiting {
                let Some(value) = self.state.value(&name).map(str::to_owned) else { continue };
                self.count(value.len() / 16);
                if is_code(&value) {
                    self.reference(&value);
                } else if value.contains(HOLE) || unknown::is_open(&value) && self.is_array(&name) {
                    self.unseen(&name);
                } else {
                    next.extend(names(&value).take(NAMES).filter(|inner| *inner != name).map(str::to_owned));
                }
            }
            if next.is_empty() || !self.step() {
                return;
            }
            next.truncate(NAMES);
            waiting = next;
        }
    }

    /// Adds a doubt for a value from elsewhere, which is usually a number but was not checked.
    fn unseen(&mut self, name: &str) {
        self.doubt(DoubtKind::Opaque, &format!("the shell evaluates the value of {name}"));
    }

    fn is_array(&self, name: &str) -> bool {
        self.state.variables.get(name).is_some_and(|variable| variable.array)
    }

    /// Walks one side of a numeric comparison.
    pub(crate) fn compared(&mut self, raw: &str) {
        let value = self.single(raw);
        self.reference(&value);
        if raw.contains(['$', '`']) {
            self.computed_values(raw);
        } else {
            self.computed(raw);
        }
        if unknown::is_open(&value) && (raw.contains("$(") || raw.contains('`')) {
            self.unseen(raw);
        }
    }

    /// Walks a name with a subscript, or the value of an expression, after expansion. Its substitutions run
    /// although they were quoted.
    pub(crate) fn reference(&mut self, text: &str) {
        if !is_code(text) {
            return;
        }
        self.run_in_place(text);
        self.doubt(DoubtKind::Dynamic, &format!("the shell evaluates {text}"));
    }

    /// Walks the substitutions of a text, which run.
    pub(super) fn run_in_place(&mut self, text: &str) {
        if self.level < crate::eval::LEVELS && self.step() {
            self.level += 1;
            self.via.push(Carrier::Shell("bash".to_owned()));
            self.in_one(text, super::Quoting::Document);
            self.via.pop();
            self.level -= 1;
        }
    }

    /// Handles builtins whose words are names or expressions.
    pub(crate) fn evaluates(&mut self, name: &str, words: &[String]) {
        let operands = || words[1..].iter().filter(|word| !word.starts_with('-')).cloned();
        match name {
            "let" => {
                for word in operands().collect::<Vec<_>>() {
                    self.computed(&word);
                    self.reference(&word);
                }
            }
            "read" | "unset" | "declare" | "typeset" | "local" | "readonly" | "export" | "mapfile"
            | "readarray" | "getopts" => {
                let integer = crate::eval::builtins::declares(name)
                    && words.iter().any(|word| word.starts_with('-') && word.contains(['i', 'n']));
                for word in operands().collect::<Vec<_>>() {
                    let (target, value) = word.split_once('=').unwrap_or((&word, ""));
                    if target.contains('[') {
                        self.reference(&word);
                    } else if integer {
                        if self.state.integers.len() < NAMES {
                            self.state.integers.insert(target.to_owned());
                        }
                        self.computed(value);
                        self.reference(value);
                    }
                }
            }
            "printf" if words.get(1).is_some_and(|word| word.starts_with("-v")) => {
                for word in words.iter().skip(1).take(2).cloned().collect::<Vec<_>>() {
                    self.reference(&word);
                }
            }
            "test" | "[" => {
                let tested = words.windows(2).filter(|pair| matches!(pair[0].as_str(), "-v" | "-R"));
                for word in tested.map(|pair| pair[1].clone()).collect::<Vec<_>>() {
                    self.reference(&word);
                }
            }
            "compgen" | "complete" => {
                for pair in words.windows(2) {
                    match pair[0].as_str() {
                        "-C" => self.shell_text(name, &pair[1], Vec::new()),
                        "-W" => self.run_in_place(&pair[1]),
                        "-F" if self.state.functions.contains_key(&pair[1]) => {
                            self.function(&pair[1], vec![unknown::MANY.to_string()]);
                        }
                        _ => {}
                    }
                }
            }
            // The next call of that name runs this file.
            "hash" => {
                if let Some(at) = words.iter().position(|word| word == "-p")
                    && let (Some(path), Some(name)) = (words.get(at + 1), words.get(at + 2))
                {
                    let (path, name) = (path.clone(), name.clone());
                    self.renamed(&name, &path);
                }
            }
            _ => {}
        }
    }

    /// Handles a variable that changes what the shell runs.
    pub(crate) fn shell_variable(&mut self, name: &str, index: Option<&str>, value: &str) {
        if self.state.integers.contains(name) {
            self.computed(value);
            self.reference(value);
        }
        match (name, index) {
            ("BASH_ALIASES" | "BASH_CMDS", Some(index)) => {
                let index = index.trim_matches(['\'', '"']).to_owned();
                self.renamed(&index, value);
            }
            // The shell prints it before each traced command.
            ("PS4", None) => self.reference(value),
            ("PS0" | "PS1" | "PS2", None) => self.run_in_place(value),
            _ => {}
        }
    }

    fn renamed(&mut self, name: &str, text: &str) {
        if unknown::is_known(name) && unknown::is_known(text) {
            self.state.aliases.insert(name.to_owned(), text.to_owned());
        } else {
            self.doubt(DoubtKind::Dynamic, &format!("{name} runs {text}"));
        }
    }
}

/// Reports whether evaluating a text runs something.
fn is_code(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains('[') && unknown::is_open(text)
}

/// Returns the names in an expression.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
