//! Reads the rules of built-in packs and of files; `sprag-policy` interprets them.

use std::fmt;
use std::path::Path;

use sprag_policy::packs::{PACKS, Pack, Switch};
use sprag_policy::{BadRule, EXAMPLE_CWD, EXAMPLE_HOME, FailedExample, Rule, RuleFile, check_examples};
use sprag_shell::{Script, ShellStart};

use crate::sys::disk::read_small;

/// Larger than any rule file.
const FILE_BYTES: u64 = 1024 * 1024;

/// The selected packs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packs {
    Default,
    All,
    Named(Vec<String>),
}

/// A rule with its origin: the name of a pack, or a file.
#[derive(Clone, Debug)]
pub struct Sourced {
    pub source: String,
    pub rule: Rule,
}

#[derive(Debug)]
pub enum RulesError {
    UnknownPack { name: String },
    Unreadable { source: String, what: String },
    Bad(BadRule),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::UnknownPack { name } => {
                let known: Vec<&str> = PACKS.iter().map(|pack| pack.name).collect();
                write!(f, "unknown pack `{name}`; known packs: {}", known.join(", "))
            }
            RulesError::Unreadable { source, what } => write!(f, "`{source}`: {what}"),
            RulesError::Bad(bad) => write!(f, "{bad}"),
        }
    }
}

impl Packs {
    /// Parses `default`, `all`, or names separated by commas.
    pub fn read(text: &str) -> Packs {
        match text {
            "default" => Packs::Default,
            "all" => Packs::All,
            names => Packs::Named(names.split(',').map(|name| name.trim().to_owned()).collect()),
        }
    }

    fn chosen(&self) -> Result<Vec<&'static Pack>, RulesError> {
        match self {
            Packs::All => Ok(PACKS.iter().collect()),
            Packs::Default => Ok(PACKS.iter().filter(|pack| pack.default == Switch::On).collect()),
            Packs::Named(names) => names
                .iter()
                .map(|name| {
                    let found = PACKS.iter().find(|pack| pack.name == name);
                    found.ok_or_else(|| RulesError::UnknownPack { name: name.clone() })
                })
                .collect(),
        }
    }
}

/// Returns the rules of these packs and of the file, if one is given.
pub fn rules(packs: &Packs, file: Option<&Path>) -> Result<Vec<Sourced>, RulesError> {
    let mut rules = Vec::new();
    for pack in packs.chosen()? {
        rules.extend(read(pack.name, pack.toml)?);
    }
    if let Some(file) = file {
        let source = file.display().to_string();
        let text = read_small(file, FILE_BYTES)
            .map_err(|error| RulesError::Unreadable { source: source.clone(), what: error.to_string() })?;
        rules.extend(read(&source, &text)?);
    }
    Ok(rules)
}

/// Returns the rules of a built-in pack. A test checks that all packs can be read.
pub fn of_pack(pack: &Pack) -> Vec<Sourced> {
    read(pack.name, pack.toml).unwrap_or_default()
}

fn read(source: &str, text: &str) -> Result<Vec<Sourced>, RulesError> {
    let file: RuleFile = toml::from_str(text).map_err(|error| RulesError::Unreadable {
        source: source.to_owned(),
        what: error.message().to_owned(),
    })?;
    Ok(file.rules.into_iter().map(|rule| Sourced { source: source.to_owned(), rule }).collect())
}

/// Returns all examples that contradict their rule.
pub fn failed_examples(rules: &[Sourced]) -> Result<Vec<FailedExample>, RulesError> {
    let parse = |text: &str| {
        let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
        Script::parse(text, &start)
    };
    let mut failed = Vec::new();
    for sourced in rules {
        failed.extend(check_examples(&sourced.rule, parse).map_err(RulesError::Bad)?);
    }
    Ok(failed)
}
