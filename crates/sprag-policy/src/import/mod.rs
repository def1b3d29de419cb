//! Rules of other programs, read as ours. A source of rules is one file of one shape, an
//! [`RuleImporter`], and one line in the list below; what it reads is proved here: a rule that does not
//! say what its examples say is not imported, and what is not imported is told with the reason.
//!
//! Two readings of a pattern are never quite the same. A rule that restricts may find more here than
//! it did there, one that allows may not: where in doubt it is narrowed or left out.

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

/// A program whose permission rules can be taken over.
pub struct RuleImporter {
    /// As in `sprag policy import NAME`.
    pub name: &'static str,
    pub title: &'static str,
    /// Its folder in a home and in a worktree.
    pub folder: &'static str,
    /// The variable that puts the folder of the home elsewhere.
    pub folder_variable: &'static str,
    /// Below the folder of the home.
    pub user_files: &'static [RuleFiles],
    /// Below the folder of a worktree.
    pub project_files: &'static [RuleFiles],
    pub read: fn(&RuleText<'_>) -> Result<Vec<ImportedText>, UnreadableText>,
}

/// Where rules are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFiles {
    One(&'static str),
    Each { dir: &'static str, ending: &'static str },
}

/// A text with rules.
#[derive(Clone, Copy, Debug)]
pub struct RuleText<'a> {
    /// How people find it.
    pub name: &'a str,
    pub text: &'a str,
    pub owner: RuleOwner,
    /// The directory its paths are relative to, absolute.
    pub base: &'a str,
}

/// Whose rules they are. Those of a project are about that project only, as far as paths tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOwner {
    User,
    Project,
}

/// What a text says, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedText {
    Rule(RuleDraft),
    Other { line: Option<usize>, text: String, why: String },
}

/// A rule that is still to be proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDraft {
    pub line: Option<usize>,
    /// As its source has it.
    pub text: String,
    /// What its id is made of, besides source and decision.
    pub about: String,
    pub decision: Decision,
    pub any: Vec<String>,
    pub reason: String,
    /// The examples of the source: all of them have to hold.
    pub matching: Vec<String>,
    pub not_match: Vec<String>,
    /// Examples of ours. Those that hold are kept; without any that matches it is no rule.
    pub tries: Vec<String>,
    pub counter: Vec<String>,
}

/// A text that cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableText {
    pub line: usize,
    pub what: String,
}

/// What came of the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    pub rules: Vec<Imported>,
    pub skipped: Vec<Skipped>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub rule: Rule,
    /// Index of its source.
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

/// More than anybody has written by hand; every one of them is tried.
const MOST: usize = 2000;

pub fn find(name: &str) -> Option<&'static RuleImporter> {
    IMPORTERS.iter().find(|importer| importer.name == name).copied()
}

/// All rules of these sources. The first source that cannot be read ends it, by its index.
pub fn import(importer: &RuleImporter, sources: &[RuleText<'_>]) -> Result<Import, (usize, UnreadableText)> {
    let mut import = Import::default();
    let mut ids = BTreeSet::new();
    let mut tried = 0;
    for (at, source) in sources.iter().enumerate() {
        for found in (importer.read)(source).map_err(|broken| (at, broken))? {
            let (line, text, proved) = match found {
                ImportedText::Other { line, text, why } => (line, text, Err(why)),
                ImportedText::Rule(draft) if tried >= MOST => {
                    (draft.line, draft.text, Err(format!("there are more than {MOST} rules")))
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

/// A rule whose examples hold, with what it is about.
fn prove(draft: RuleDraft) -> Result<(String, Rule), String> {
    let mut rule = Rule {
        id: "imported".to_owned(),
        any: draft.any,
        with: Vec::new(),
        decision: draft.decision,
        on_uncertain: OnDoubt::Ask,
        on_opaque: OnDoubt::None,
        unless: Vec::new(),
        is_final: false,
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
                format!("no allow rule covers what is not looked into: {}", one_line(doubt.about.as_str()))
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

/// Why a rule is none, if it is none.
fn failed(rule: &Rule) -> Result<Option<String>, String> {
    let failed = check_examples(rule, script).map_err(|bad| bad.why)?;
    Ok(failed.first().map(|failed| format!("of its example `{}`: {}", shown(&failed.example), failed.why)))
}

/// An example, where examples play.
fn script(text: &str) -> Script {
    let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
    Script::parse(text, &start)
}

/// `claude-deny-bash-git-push`; where that is taken, with a digest of what it finds.
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

/// What a message quotes of a foreign file.
fn shown(text: &str) -> String {
    Text::<200>::new(one_line(text)).to_string()
}

/// The line a byte stands in.
fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The one registration of an importer.
macro_rules! importers {
    ($($name:ident),+ $(,)?) => {
        $(mod $name;)+

        /// Every importer, in the order in which they are shown.
        pub const IMPORTERS: &[&RuleImporter] = &[$(&$name::IMPORTER),+];
    };
}
use importers;

#[cfg(test)]
mod tests;
