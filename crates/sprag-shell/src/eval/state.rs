//! The state of a shell at one point of the text: variables, functions, aliases, arguments, directory.
//! Subshells and branches work on a copy. A copy is cheap while the state is empty, which is the usual case.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::expand::unknown::{HOLE, MANY, NUMBER, is_number};
use crate::parse::ast::{CommandNode, ParsedText};
use crate::{ShellStart, WorkingDir};

/// Maximum length of a usable path.
const LONGEST: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variable {
    /// One value, or the elements of an array; each may have holes.
    pub(crate) values: Vec<String>,
    pub(crate) array: bool,
    pub(crate) exported: bool,
}

/// The body of a function and the text that defines it.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(super) code: Rc<ParsedText>,
    pub(super) body: Rc<CommandNode>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShellState {
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) functions: BTreeMap<String, Function>,
    pub(crate) aliases: BTreeMap<String, String>,
    /// `$0`.
    pub(crate) name: String,
    /// `$1 $2 …`; `None` while unknown.
    pub(crate) arguments: Option<Vec<String>>,
    /// The working directory; `None` if unknown.
    pub(crate) cwd: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) pushed: Vec<Option<String>>,
    pub(crate) home: String,
    /// Directories that programs use if these variables are not set.
    places: UsualPlaces,
    /// Variables whose values are evaluated when they are set: `declare -i`.
    pub(crate) integers: BTreeSet<String>,
}

/// Directories below the home that programs use if a variable is not set.
const USUAL_PLACES: [(&str, &str); 8] = [
    ("XDG_CONFIG_HOME", "/.config"),
    ("XDG_DATA_HOME", "/.local/share"),
    ("XDG_STATE_HOME", "/.local/state"),
    ("CLAUDE_CONFIG_DIR", "/.claude"),
    ("CODEX_HOME", "/.codex"),
    ("CARGO_HOME", "/.cargo"),
    ("GNUPGHOME", "/.gnupg"),
    ("ZDOTDIR", ""),
];

/// The usual places of one home. Most command lines name none of them, so the texts are made on demand.
#[derive(Clone, Debug, Default)]
struct UsualPlaces(Rc<OnceCell<Vec<(&'static str, String)>>>);

impl UsualPlaces {
    fn find(&self, name: &str, home: &str) -> Option<&str> {
        if !USUAL_PLACES.iter().any(|(known, _)| *known == name) {
            return None;
        }
        let home = home.trim_end_matches('/');
        let places = self
            .0
            .get_or_init(|| USUAL_PLACES.map(|(name, below)| (name, format!("{home}{below}"))).to_vec());
        places.iter().find(|(known, _)| *known == name).map(|(_, path)| path.as_str())
    }
}

impl ShellState {
    pub(super) fn new(start: &ShellStart) -> ShellState {
        ShellState {
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            name: HOLE.to_string(),
            // Only calls inside the text have arguments; a command line given to a shell has none.
            arguments: Some(Vec::new()),
            cwd: Some(start.cwd.clone().unwrap_or_else(|| ".".to_owned())),
            previous: None,
            pushed: Vec::new(),
            integers: BTreeSet::new(),
            places: UsualPlaces::default(),
            home: start.home.clone().unwrap_or_else(|| "~".to_owned()),
        }
    }

    pub(super) fn place(&self) -> WorkingDir {
        match &self.cwd {
            Some(cwd) => WorkingDir::At(cwd.clone()),
            None => WorkingDir::Unknown,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        let variable = self.variables.entry(name.to_owned()).or_default();
        variable.values = vec![value];
        variable.array = false;
    }

    pub(crate) fn set_hole(&mut self, name: &str) {
        self.set(name, HOLE.to_string());
    }

    pub(super) fn export(&mut self, name: &str) {
        // A name that is only exported keeps its unknown value from the environment.
        let variable = self
            .variables
            .entry(name.to_owned())
            .or_insert_with(|| Variable { values: vec![HOLE.to_string()], ..Variable::default() });
        variable.exported = true;
    }

    /// Returns the value of a variable, or `None` if only the environment knows it.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        match self.variables.get(name) {
            Some(variable) => Some(variable.values.first().map_or("", String::as_str)),
            None if name == "HOME" => Some(&self.home),
            None if name == "PWD" => self.cwd.as_deref().filter(|cwd| cwd.starts_with('/')),
            None if name == "OLDPWD" => self.previous.as_deref().filter(|cwd| cwd.starts_with('/')),
            None => self.places.find(name, &self.home),
        }
    }

    /// Returns the state that a child process sees: exported variables, and all functions, which are assumed
    /// to be exported.
    pub(crate) fn for_child(&self) -> ShellState {
        let mut child = self.clone();
        child.variables.retain(|_, variable| variable.exported);
        child.aliases.clear();
        child.pushed.clear();
        child
    }

    /// Merges states after code that may have run any number of times: changed values become unknown.
    /// Functions and aliases stay, because they may exist.
    pub(crate) fn blur(&mut self, before: &ShellState) {
        for (name, variable) in &mut self.variables {
            let old = before.variables.get(name);
            if old != Some(variable) {
                // A counter of a loop stays a number.
                let numbers = |variable: &Variable| {
                    !variable.array && variable.values.iter().all(|value| is_number(value))
                };
                let mark = match old {
                    _ if !numbers(variable) => HOLE,
                    Some(old) if numbers(old) => NUMBER,
                    Some(_) => HOLE,
                    // A number, or the value of the environment.
                    None => MANY,
                };
                variable.values = vec![mark.to_string()];
                variable.array = false;
            }
        }
        for (name, variable) in &before.variables {
            if !self.variables.contains_key(name) {
                let lost =
                    Variable { values: vec![HOLE.to_string()], array: false, exported: variable.exported };
                self.variables.insert(name.clone(), lost);
            }
        }
        if self.cwd != before.cwd {
            self.cwd = None;
        }
        if self.arguments != before.arguments {
            self.arguments = None;
        }
    }

    /// Makes all values unknown after code that was not walked; names, functions and aliases stay.
    pub(super) fn forget(&mut self) {
        for variable in self.variables.values_mut() {
            variable.values = vec![HOLE.to_string()];
            variable.array = false;
        }
        self.arguments = None;
        self.cwd = None;
        self.previous = None;
        self.pushed.clear();
    }

    pub(super) fn is_changed_from(&self, before: &ShellState) -> bool {
        self.variables != before.variables || self.cwd != before.cwd || self.arguments != before.arguments
    }

    /// Applies `cd` to a word that may have holes.
    pub(crate) fn change_dir(&mut self, to: &str) {
        let old = self.cwd.take();
        self.cwd = if crate::expand::unknown::is_known(to) { join(old.as_deref(), to) } else { None };
        // No system allows a longer path, so the directory is unknown.
        self.cwd.take_if(|cwd| cwd.len() > LONGEST);
        self.previous = old;
    }
}

/// Joins `path` to `cwd` and resolves `.` and `..` as text.
pub(crate) fn join(cwd: Option<&str>, path: &str) -> Option<String> {
    let rooted = path.starts_with('/') || path == "~" || path.starts_with("~/");
    let whole = if rooted { path.to_owned() } else { format!("{}/{path}", cwd?) };
    let absolute = whole.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." && last != "~" => {
                    parts.pop();
                }
                None if absolute => {}
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Some(match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_joined_as_text() {
        for (cwd, path, whole) in [
            (Some("/a"), "b", Some("/a/b")),
            (Some("/a"), "../../..", Some("/")),
            (Some("."), "x/./y", Some("x/y")),
            (Some("."), "..", Some("..")),
            (Some("x"), "..", Some(".")),
            (None, "x", None),
            (None, "/x", Some("/x")),
            (Some("/a"), "~/b", Some("~/b")),
            (Some("~"), "..", Some("~/..")),
        ] {
            assert_eq!(join(cwd, path).as_deref(), whole, "{cwd:?} {path}");
        }
    }
}
