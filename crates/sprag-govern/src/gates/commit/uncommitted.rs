//! Finds changes that are not committed when the session stops.

use std::collections::BTreeSet;

use sprag_base::digest::Digest;
use sprag_base::text::{Text, first_quoted, one_line, shell_word};

use super::{CommitGate, NAMED, Settings, applies};
use crate::gates::GateCx;
use crate::obligation::records::DebtRecord;
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::session_facts::SessionFacts;
use crate::verdict::Vote;

/// Maximum number of files that a session remembers by name.
const ITEMS: usize = 200;
/// Item for the files that do not fit in the list. A debt with it never counts as met.
const MORE: &str = "…";

impl CommitGate {
    /// Reports whether the gate checks for uncommitted changes. Committed work stays committed until the
    /// session changes something.
    pub(super) fn looks(&self, policy: &Settings, about: &SessionFacts, root: &str) -> bool {
        applies(policy, about)
            && !root.is_empty()
            && (about.activity.has_changed() || *self != CommitGate::Clean)
    }

    pub(super) fn end(&mut self, cx: &mut GateCx<'_, CommitGate>) -> Vote {
        if !self.looks(cx.settings, cx.session, &cx.input.root) {
            return Vote::Pass;
        }
        let (Some(uncommitted), Some(changes)) = (&cx.answer.uncommitted, &cx.shared.changes) else {
            return Vote::Unsure;
        };
        let changed: BTreeSet<&str> = changes.paths.iter().map(String::as_str).collect();
        let own = uncommitted.iter().map(String::as_str).filter(|path| changed.contains(path));
        let files: Vec<Text<200>> = own.map(Text::from).collect();
        let stashed = self.stashed(&changed, cx.answer.stash.as_ref());
        let met = met(uncommitted, cx);
        cx.debts(DebtRecord::Met, met);
        *self = match (files.is_empty(), stashed.is_empty()) {
            (true, true) => CommitGate::Clean,
            (false, true) => {
                CommitGate::Uncommitted { files: bounded(files), stash: cx.answer.stash.clone() }
            }
            // The earlier newest stash stays known: it is the newest again when the agent restores the work.
            (_, false) => CommitGate::Stashed {
                files: bounded(stashed.into_iter().chain(files).collect()),
                stash: self.stash().cloned(),
            },
        };
        self.owed().map_or(Vote::Pass, Vote::Owe)
    }

    /// Returns files that were uncommitted and are now unchanged, while a new stash exists: the agent stashed
    /// them.
    fn stashed(&self, changed: &BTreeSet<&str>, newest: Option<&Text<64>>) -> Vec<Text<200>> {
        let (CommitGate::Uncommitted { files, stash } | CommitGate::Stashed { files, stash }) = self else {
            return Vec::new();
        };
        if newest.is_none() || newest == stash.as_ref() {
            return Vec::new();
        }
        let changed: BTreeSet<Text<200>> = changed.iter().map(|path| Text::from(*path)).collect();
        let is_gone = |file: &&Text<200>| file.as_str() != MORE && !changed.contains(*file);
        files.iter().filter(is_gone).cloned().collect()
    }

    fn stash(&self) -> Option<&Text<64>> {
        match self {
            CommitGate::Clean => None,
            CommitGate::Uncommitted { stash, .. } | CommitGate::Stashed { stash, .. } => stash.as_ref(),
        }
    }

    pub(super) fn owed(&self) -> Option<Obligation> {
        match self {
            CommitGate::Clean => None,
            CommitGate::Uncommitted { files, .. } => Some(obligation(files, "not committed", next(files))),
            CommitGate::Stashed { files, .. } => {
                Some(obligation(files, "stashed, not committed", "git stash pop".to_owned()))
            }
        }
    }
}

fn bounded(mut files: Vec<Text<200>>) -> Vec<Text<200>> {
    if files.len() > ITEMS {
        files.truncate(ITEMS);
        files.push(Text::from(MORE));
    }
    files
}

/// Returns the debts of this worktree whose files are all committed or reverted.
fn met(uncommitted: &[String], cx: &GateCx<'_, CommitGate>) -> Vec<String> {
    // A debt stores shortened paths.
    let uncommitted: BTreeSet<Text<200>> = uncommitted.iter().map(|path| Text::from(path.as_str())).collect();
    let debts = cx.shared.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
    let debts = debts.filter(|debt| debt.duty == Duty::Commit && debt.root.as_str() == cx.input.root);
    debts
        .filter(|debt| !debt.items.iter().any(|item| uncommitted.contains(item) || item.as_str() == MORE))
        .map(|debt| debt.id.to_string())
        .collect()
}

fn obligation(files: &[Text<200>], how: &str, next: String) -> Obligation {
    let named = first_quoted(files.iter().map(Text::as_str), NAMED);
    Obligation {
        duty: Duty::Commit,
        digest: Digest::hash_parts(["commit"].into_iter().chain(files.iter().map(Text::as_str))),
        reason: Reason::new("uncommitted", format!("changes of this session are {how}: {named}"), next),
        items: files.to_vec(),
    }
}

/// Maximum length of the next step.
const NEXT: usize = 400;

/// Returns a commit command for the root of the worktree. If it cannot name all files exactly, a list of them
/// is safer.
fn next(files: &[Text<200>]) -> String {
    let is_exact = |path: &str| one_line(path) == path && !path.contains('\u{fffd}') && !path.ends_with(MORE);
    let is_pattern = |path: &str| path.starts_with(':') || path.contains(['*', '?', '[', '\\']);
    let paths = || files.iter().map(Text::as_str);
    let words: Vec<String> = paths().map(shell_word).collect();
    let literal = if paths().any(is_pattern) { " --literal-pathspecs" } else { "" };
    let command = format!("git{literal} add -- {} && git commit", words.join(" "));
    let fits = files.len() <= NAMED && paths().all(is_exact) && command.chars().count() <= NEXT;
    if fits { command } else { "git status --short".to_owned() }
}
