//! Work that is in no commit when the session stops.

use super::{Commit, NAMED, Policy, applies};
use crate::digest::Digest;
use crate::fact::Needs;
use crate::gates::{Asked, Cx};
use crate::obligation::{DEBT_MET, Duty, Obligation};
use crate::session::About;
use crate::text::{Text, quoted, shell_word};
use crate::verdict::{Reason, Vote};

/// Files a session remembers by name.
const ITEMS: usize = 200;
/// What cannot be named in full is never taken for met.
const MORE: &str = "…";

impl Commit {
    pub(super) fn needs_at_end(&self, asked: &Asked<'_, Policy>) -> Needs {
        if self.looks(asked.policy, asked.about, &asked.input.root) {
            Needs::UNCOMMITTED | Needs::CHANGES | Needs::DEBTS
        } else {
            Needs::NONE
        }
    }

    /// What was committed at the last stop still is, unless something was done since.
    fn looks(&self, policy: &Policy, about: &About, root: &str) -> bool {
        applies(policy, about) && !root.is_empty() && (about.changed || *self != Commit::Clean)
    }

    pub(super) fn end(&mut self, cx: &mut Cx<'_, Policy>) -> Vote {
        if !self.looks(cx.policy, cx.about, &cx.input.root) {
            return Vote::Pass;
        }
        let (Some(uncommitted), Some(changes)) = (&cx.facts.uncommitted, &cx.facts.changes) else {
            return Vote::Unsure;
        };
        let own: Vec<&Text<200>> = uncommitted.iter().filter(|path| changes.paths.contains(path)).collect();
        let mut files: Vec<Text<200>> = own.iter().take(ITEMS).map(|path| (*path).clone()).collect();
        if own.len() > ITEMS {
            files.push(Text::from(MORE));
        }
        let met = met(uncommitted, cx);
        cx.debts(DEBT_MET, met);
        *self = if files.is_empty() { Commit::Clean } else { Commit::Uncommitted { files } };
        self.owed().map_or(Vote::Pass, Vote::Owe)
    }

    pub(super) fn owed(&self) -> Option<Obligation> {
        match self {
            Commit::Clean => None,
            Commit::Uncommitted { files } => Some(obligation(files)),
        }
    }
}

/// Debts of this worktree whose files are all in a commit, or gone back to what they were.
fn met(uncommitted: &[Text<200>], cx: &Cx<'_, Policy>) -> Vec<String> {
    let debts = cx.facts.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
    let debts = debts.filter(|debt| debt.duty == Duty::Commit && debt.root.as_str() == cx.input.root);
    debts
        .filter(|debt| !debt.items.iter().any(|item| uncommitted.contains(item) || item.as_str() == MORE))
        .map(|debt| debt.id.to_string())
        .collect()
}

fn obligation(files: &[Text<200>]) -> Obligation {
    let named: Vec<String> =
        files.iter().take(NAMED).map(|file| format!("`{}`", quoted(file.as_str()))).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = files.first().map_or(String::new(), |file| shell_word(file.as_str()));
    let others = if files.len() > 1 { " .." } else { "" };
    Obligation {
        duty: Duty::Commit,
        digest: Digest::of(["commit"].into_iter().chain(files.iter().map(Text::as_str))),
        reason: Reason::new(
            "uncommitted",
            format!("what this session changed is in no commit: {}{more}", named.join(", ")),
            format!("git add -- {first}{others} && git commit, then stop again"),
        ),
        items: files.to_vec(),
    }
}
