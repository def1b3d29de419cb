//! Imports permission rules of other programs. Each source of rules is one file with a [`RuleImporter`] and
//! one line in the list below. This module checks each imported rule against its examples. It skips rules
//! that fail and reports the reason.
//!
//! Two pattern languages never match exactly the same calls. An imported rule that restricts may find more
//! than its original. An allow rule may not; in doubt it is narrowed or skipped.

use std::collections::BTreeSet;

use serde::Serialize;

use sprag_base::digest::Digest;
use sprag_base::text::{Text, one_line};
use sprag_shell::{Script, ShellStart};

use crate::examples::{EXAMPLE_CWD, EXAMPLE_HOME, check_examples};
use crate::rule::{Decision, OnDoubt, Rule};

mod command;
mod path;
mod starlark;

importers! {
    claude,
    codex,
}

/// A program whose permission rules Sprag can import.
pub struct RuleImporter {
    /// The name in `sprag policy import NAME`.
    pub name: &'static str,
    pub title: &'static str,
    /// The directory of the program in a home directory and in a worktree.
    pub folder: &'static str,
    /// The environment variable that moves the directory of the home elsewhere.
    pub folder_variable: &'static str,
    /// Files below the directory of the home.
    pub user_files: &'static [RuleFiles],
    /// Files below the directory of a worktree.
    pub project_files: &'static [RuleFiles],
    pub read: fn(&RuleText<'_>) -> Result<Vec<ImportedText>, UnreadableText>,
}

/// Files in which an importer looks for rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFiles {
    One(&'static str),
    Each { dir: &'static str, ending: &'static str },
}

/// A text with rules.
#[derive(Clone, Copy, Debug)]
pub struct RuleText<'a> {
    /// The name that messages show, for example a path.
    pub name: &'a str,
    pub text: &'a str,
    pub owner: RuleOwner,
    /// The absolute directory that paths in the text are relative to.
    pub base: &'a str,
}

/// The owner of a rule text. Path rules of a project cover only that project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOwner {
    User,
    Project,
}

/// One entry of a rule text: a rule or something else, with the reason why it is not a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedText {
    Rule(RuleDraft),
    Other { line: Option<usize>, text: String, why: String },
}

/// A rule before its examples were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDraft {
    pub line: Option<usize>,
    /// The rule as its source writes it.
    pub text: String,
    /// Text for the id, next to source and decision.
    pub about: String,
    pub decision: Decision,
    pub any: Vec<String>,
    pub reason: String,
    /// Examples of the source; all of them must pass.
    pub matching: Vec<String>,
    pub not_match: Vec<String>,
    /// Examples that Sprag adds. Only passing ones are kept; at least one must match.
    pub tries: Vec<String>,
    pub counter: Vec<String>,
}

/// Error for a text that cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableText {
    pub line: usize,
    pub what: String,
}

/// Imported and skipped rules of all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    pub rules: Vec<Imported>,
    pub skipped: Vec<Skipped>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub rule: Rule,
    /// Index of the source.
    pub source: usize,
    pub line: Option<usize>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub text: String,
    pub why: String,
}

/// Maximum number of rules, because Sprag runs the examples of each.
const MOST: usize = 2000;

pub fn find(name: &str) -> Option<&'static RuleImporter> {
    IMPORTERS.iter().find(|importer| importer.name == name).copied()
}

/// Imports all rules of these sources. Stops at the first source that cannot be read and returns its index.
pub fn import(importer: &RuleImporter, sources: &[RuleText<'_>]) -> Result<Import, (usize, UnreadableText)> {
    let mut import = Import::default();
    let mut ids = BTreeSet::new();
    let mut tried = 0;
    for (at, source) in sources.iter().enumerate() {
        for found in (importer.read)(source).map_err(|broken| (at, broken))? {
            let (line, text, proved) = match found {
                ImportedText::Other { line, text, why } => (line, text, Err(why)),
                ImportedText::Rule(draft) if tried >= MOST => {
                    (draft.line, draft.text, Err(format!("more than {MOST} rules")))
                }
                ImportedText::Rule(draft) => {
                    tried += 1;
                    (draft.line, draft.text.clone(), prove(draft))
                }
            };
            match proved {
                Ok((about, rule)) => {
                    let is_there =
                        |old: &Imported| old.rule.decision == rule.decision && old.rule.any == rule.any;
                    if import.rules.iter().any(is_there) {
                        continue;
                    }
                    let id = unused(&mut ids, importer.name, &about, &rule);
                    import.rules.push(Imported { rule: Rule { id, ..rule }, source: at, line, text });
                }
                Err(why) => {
                    let source = source.name.to_owned();
                    import.skipped.push(Skipped { source, line, text: shown(&text), why });
                }
            }
        }
    }
    Ok(import)
}

/// Returns the rule with the examples that pass, and the text for its id.
fn prove(draft: RuleDraft) -> Result<(String, Rule), String> {
    let mut rule = Rule {
        id: "imported".to_owned(),
        any: draft.any,
        with: Vec::new(),
        decision: draft.decision,
        on_uncertain: OnDoubt::Ask,
        on_opaque: OnDoubt::None,
        unless: Vec::new(),
        except: Vec::new(),
        is_final: false,
        general: false,
        reason: draft.reason,
        next: String::new(),
        matching: draft.matching,
        not_match: draft.not_match,
    };
    if let Some(failed) = failed(&rule)? {
        return Err(failed);
    }
    let with = |matching: &[String], not_match: &[String]| Rule {
        matching: matching.to_vec(),
        not_match: not_match.to_vec(),
        ..rule.clone()
    };
    let mut why = None;
    let (mut tries, mut counter) = (Vec::new(), Vec::new());
    for example in draft.tries {
        match failed(&with(std::slice::from_ref(&example), &[]))? {
            None => tries.push(example),
            Some(failed) => why = why.or(Some((example, failed))),
        }
    }
    for example in draft.counter {
        if failed(&with(&[], std::slice::from_ref(&example)))?.is_none() {
            counter.push(example);
        }
    }
    if let (true, true, Some((example, why))) = (rule.matching.is_empty(), tries.is_empty(), why) {
        return Err(match (draft.decision, script(&example).doubts.first()) {
            (Decision::Allow, Some(doubt)) => {
                format!("an allow rule cannot cover unread code: {}", one_line(doubt.about.as_str()))
            }
            _ => why,
        });
    }
    for (own, ours) in [(&mut rule.matching, tries), (&mut rule.not_match, counter)] {
        for example in ours {
            if !own.contains(&example) {
                own.push(example);
            }
        }
    }
    Ok((draft.about, rule))
}

/// Returns the reason why the first failing example of a rule fails, if any fails.
fn failed(rule: &Rule) -> Result<Option<String>, String> {
    let failed = check_examples(rule, script).map_err(|bad| bad.why)?;
    Ok(failed.first().map(|failed| format!("example `{}`: {}", shown(&failed.example), failed.why)))
}

/// Parses an example with the working directory and home of examples.
fn script(text: &str) -> Script {
    let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
    Script::parse(text, &start)
}

/// Returns an unused id such as `claude-deny-bash-git-push`. If it is taken, appends a digest of the
/// patterns.
fn unused(ids: &mut BTreeSet<String>, source: &str, about: &str, rule: &Rule) -> String {
    let id = format!("{source}-{}-{}", rule.decision.name(), slug(about));
    let id = if ids.contains(&id) { format!("{id}-{}", Digest::hash_parts(&rule.any).short()) } else { id };
    ids.insert(id.clone());
    id
}

fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    match slug.char_indices().nth(60) {
        Some((at, _)) => slug[..at].trim_end_matches('-').to_owned(),
        None if slug.is_empty() => "all".to_owned(),
        None => slug,
    }
}

/// Shortens a foreign text to one line for a message.
fn shown(text: &str) -> String {
    Text::<200>::new(one_line(text)).to_string()
}

/// Returns the line number of a byte.
fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Registers the importers.
macro_rules! importers {
    ($($name:ident),+ $(,)?) => {
        $(mod $name;)+

        /// All importers in display order.
        pub const IMPORTERS: &[&RuleImporter] = &[$(&$name::IMPORTER),+];
    };
}
use importers;

#[cfg(test)]
mod tests;
