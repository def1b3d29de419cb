//! Finds files that a call changed although Sprag could not read the call beforehand. Sprag compares file
//! times at a stop, and holds the stop while such a file belongs to no served intent.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::{Text, first_quoted, shell_word};
use sprag_base::time::Timestamp;
use sprag_intent::records::StrayedFiles;
use sprag_intent::{Intent, IntentFiles, IntentRecord, ScopeFacts, WriteReach};
use sprag_policy::call::{ToolCall, ToolEffect, ToolOutcome};
use sprag_shell::{Command, Script, Word};

use super::{ScopeGate, check};
use crate::approval::digest_of;
use crate::event::{Event, Input};
use crate::gates::GateCx;
use crate::obligation::records::DebtRecord;
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::verdict::Vote;

/// Maximum number of windows of one session.
pub const MOST_WINDOWS: usize = 24;
/// Maximum number of files that a hold names, and that it stores.
const NAMED: usize = 5;
const ITEMS: usize = 100;

/// The time window of such a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadCall {
    pub from: Timestamp,
    /// Digest of the call, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
    /// The call ran git, which moves whole trees without authoring them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
}

/// A window in the form that the host needs to compare file times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayWindow {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Only uncommitted changes count.
    pub moves: bool,
}

const GIT: &str = "git";

/// Git subcommands that bring in changes of other authors.
const MOVING: &[&str] =
    &["switch", "checkout", "pull", "merge", "rebase", "stash", "cherry-pick", "reset", "revert", "am"];

impl ScopeGate {
    pub(super) fn looks_for_strays(&self) -> bool {
        !self.windows.is_empty() || !self.strays.is_empty()
    }

    /// Returns the windows of calls whose changes must be found.
    pub(super) fn spans(&self, now: Timestamp) -> Vec<StrayWindow> {
        let span = |window: &UnreadCall| StrayWindow {
            from: window.from,
            to: window.to.unwrap_or(now),
            moves: window.moves,
        };
        self.windows.iter().map(span).collect()
    }

    /// Opens a window for a call that passes. A call that only moves trees gets none.
    pub(super) fn open_window(&mut self, call: &ToolCall, input: &Input) {
        if call.effect != ToolEffect::Exec {
            return;
        }
        let script = input.script();
        if script.is_some_and(only_moves) {
            return;
        }
        let moves = script.is_some_and(moves_trees);
        if self.windows.len() >= MOST_WINDOWS {
            // Merge the two oldest windows.
            let second = self.windows.remove(1);
            let first = &mut self.windows[0];
            first.to = second.to;
            first.open = second.open;
            first.moves &= second.moves;
        }
        self.windows.push(UnreadCall { from: input.at, open: Some(digest_of(input, call)), to: None, moves });
    }

    pub(super) fn close_window(&mut self, call: &ToolCall, outcome: &ToolOutcome, now: Timestamp) {
        // A background command continues.
        if self.windows.is_empty() || *outcome == ToolOutcome::Launched {
            return;
        }
        // A client may report the end from another directory, so the first open window is closed.
        let open = |window: &&mut UnreadCall| window.open.is_some();
        if call.effect == ToolEffect::Exec
            && let Some(window) = self.windows.iter_mut().find(open)
        {
            window.open = None;
            window.to = Some(now);
        }
    }

    pub(super) fn judge_strays(&mut self, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
        if !self.looks_for_strays() {
            return Vote::Pass;
        }
        let Some(intents) = cx.answer else { return Vote::Pass };
        let Some(found) = &intents.strays else { return Vote::Unsure };
        let strays = self.unowned(found, intents);
        let ended = matches!(cx.input.event, Event::SessionEnded { .. });
        met(cx, &strays);
        if strays.is_empty() {
            self.strays.clear();
            self.windows.retain(|window| window.open.is_some() && !ended);
            return Vote::Pass;
        }
        let items: Vec<Text<200>> = strays.iter().take(ITEMS).map(|path| Text::from(path.as_str())).collect();
        if items != self.strays {
            let id = self.chosen.as_ref().map(|chosen| chosen.id.clone()).unwrap_or_default();
            cx.log(IntentRecord::Strayed(StrayedFiles { id, paths: items.clone() }));
            self.strays.clone_from(&items);
        }
        Vote::Owe(self.owe(&strays, items, cx.input))
    }

    /// Returns the paths that no served intent owns.
    fn unowned(&self, found: &[String], intents: &ScopeFacts) -> Vec<String> {
        let IntentFiles::Good(set) = &intents.read else { return Vec::new() };
        let served: Vec<&Intent> = self.served.iter().filter_map(|id| set.find(id.as_str())).collect();
        let is_owned = |path: &&String| {
            !check::is_ours(path, intents.folding)
                && served.iter().any(|intent| intent.owned.holds(path, WriteReach::Path, intents.folding))
        };
        found.iter().filter(|path| !is_owned(path)).cloned().collect()
    }

    fn owe(&self, strays: &[String], items: Vec<Text<200>>, input: &Input) -> Obligation {
        let named = first_quoted(strays.iter().map(String::as_str), NAMED);
        let id = self.chosen.as_ref().map_or("ID", |chosen| chosen.id.as_str());
        let first = strays.first().map_or("PATH", String::as_str);
        Obligation {
            duty: Duty::Scope,
            digest: Digest::hash_parts(strays),
            reason: Reason::new(
                "strayed",
                format!("a command changed files that intent `{id}` does not own: {named}"),
                format!(
                    "undo it (`git stash push -u -- {path}` keeps a copy), \
                     `sprag intent select ID --session {}` with an intent that owns it, \
                     or ask the user to run `sprag intent expand {id} {path}`",
                    shell_word(input.session.as_str()),
                    path = shell_word(first),
                ),
            ),
            items,
        }
    }
}

/// Records the debts whose files are no longer stray as met.
fn met(cx: &mut GateCx<'_, ScopeGate>, strays: &[String]) {
    let Some(debts) = &cx.shared.debts else { return };
    let open = debts.iter().map(|open| &open.debt);
    let of_here = open.filter(|debt| debt.duty == Duty::Scope && debt.root.as_str() == cx.input.root);
    let is_astray = |item: &Text<200>| strays.iter().any(|path| Text::<200>::from(path.as_str()) == *item);
    let met: Vec<String> = of_here
        .filter(|debt| debt.session == cx.input.session && !debt.items.iter().any(is_astray))
        .map(|debt| debt.id.to_string())
        .collect();
    cx.debts(DebtRecord::Met, met);
}

/// Reports whether a script runs git to bring in changes of other authors.
pub fn moves_trees(script: &Script) -> bool {
    script.commands.iter().any(is_moving)
}

fn is_moving(command: &Command) -> bool {
    let is_git = command.program() == Some(GIT);
    is_git && matches!(command.argv.get(1), Some(Word::Known(verb)) if MOVING.contains(&verb.as_str()))
}

/// Reports whether a script only moves trees and reads files.
pub(crate) fn only_moves(script: &Script) -> bool {
    moves_trees(script)
        && script.doubts.is_empty()
        && script.commands.iter().all(|command| {
            is_moving(command) || Script { commands: vec![command.clone()], ..Script::default() }.only_looks()
        })
}
