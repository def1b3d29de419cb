//! Every move between states of a stage, found by trying: what documents say of them is made from this.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::transition::{Stepped, step};
use super::{Case, Failure, Happened, Phase, Stage, Turn, Word, Work};
use crate::ids::{Commit, Key, StageId};
use crate::merge::merged_commit::MergedCommit;
use crate::merge::{Cause, Verified};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub from: &'static str,
    /// What happened, as the records call it.
    pub what: String,
    pub to: &'static str,
}

/// All of them, by the states they start from.
pub fn moves() -> Vec<Move> {
    let mut found = Vec::new();
    for stage in states() {
        for happened in happenings() {
            if let Stepped::To(to) = step(&stage, &happened)
                && to.name() != stage.name()
            {
                let one = Move { from: stage.name(), what: called(&happened), to: to.name() };
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        }
    }
    found
}

/// The states, and what those are called elsewhere that have a name there.
pub fn names() -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for stage in states() {
        let elsewhere = match stage {
            Stage::Waiting { .. } => "WaitingForDeps",
            Stage::Ready(_) => "Queued",
            Stage::Running(_) => "Executing",
            Stage::Asking { .. } => "WaitingForInput",
            Stage::HandingOff { .. } => "NeedsHandoff",
            Stage::Failing { .. } => "CompletedWithFailures",
            Stage::Conflicted { .. } => "MergeConflict",
            Stage::MergeHeld { .. } => "MergeBlocked",
            Stage::Blocked { .. } => "Blocked",
            Stage::Skipped { .. } => "Skipped",
            Stage::Done { .. } => "Completed, merged",
            Stage::Merging { .. } | Stage::Review { .. } => "",
        };
        if !found.iter().any(|(name, _)| *name == stage.name()) {
            found.push((stage.name(), elsewhere));
        }
    }
    found
}

fn called(happened: &Happened) -> String {
    let written = serde_json::to_value(happened).unwrap_or_default();
    let name = |value: &serde_json::Value| value.as_str().unwrap_or_default().replace('_', " ");
    match happened {
        Happened::Told(word) => {
            let word = serde_json::to_value(word).unwrap_or_default();
            let inner = word.as_object().and_then(|fields| fields.keys().next().cloned());
            format!("a person says `{}`", inner.unwrap_or_else(|| name(&word)))
        }
        _ => name(&written["happened"]),
    }
}

pub(crate) fn work(phase: Phase) -> Work {
    let session = Key(Text::new("r/s/1/1"));
    Work { attempt: 1, session, base: Commit(Text::new("b")), phase, fixes: 0 }
}

fn verified() -> Verified {
    let commit = |name: &str| Commit(Text::new(name));
    Verified { attempt: 1, head: commit("h"), tree: commit("t"), base: commit("b") }
}

pub(crate) fn states() -> Vec<Stage> {
    let conflicted = |resolver| Stage::Conflicted {
        verified: verified(),
        against: Commit(Text::new("x")),
        paths: Vec::new(),
        resolver,
        tries: 1,
    };
    vec![
        Stage::Waiting { on: Vec::new() },
        Stage::Ready(Turn { attempt: 1, ..Turn::default() }),
        Stage::Running(work(Phase::Work)),
        Stage::Running(work(Phase::Verify)),
        Stage::Asking { work: work(Phase::Work), question: Text::new("?") },
        Stage::HandingOff { work: work(Phase::Work), why: Text::new("full") },
        Stage::Failing { work: work(Phase::Verify), report: Text::new("red") },
        Stage::Merging { verified: verified(), entry: 1 },
        conflicted(None),
        conflicted(Some(Key(Text::new("r/s/1/2")))),
        Stage::MergeHeld { verified: verified(), cause: Cause::Red { report: Text::new("red") } },
        Stage::Review { case: Case::Checks, back: Box::new(Stage::Running(work(Phase::Verify))) },
        Stage::Review {
            case: Case::Held,
            back: Box::new(Stage::Failing { work: work(Phase::Verify), report: Text::new("red") }),
        },
        Stage::Blocked { attempt: 1, failure: Failure::Auth },
        Stage::Blocked { attempt: 1, failure: Failure::Told },
        Stage::Skipped { by: Text::new("p"), why: Text::new("w") },
        Stage::Done { merged: MergedCommit::landed(Commit(Text::new("c")), Commit(Text::new("t"))) },
    ]
}

pub(crate) fn happenings() -> Vec<Happened> {
    let at = Timestamp::from_millis(0);
    let session = Key(Text::new("r/s/1/3"));
    let commit = Commit(Text::new("c"));
    let merged = MergedCommit::landed(commit.clone(), commit.clone());
    vec![
        Happened::Freed,
        Happened::Started { session: session.clone(), base: commit.clone() },
        Happened::Asked { question: Text::new("?") },
        Happened::Answered,
        Happened::Claimed,
        Happened::WentOn,
        Happened::Red { report: Text::new("red") },
        Happened::SentBack { session: session.clone() },
        Happened::Green { verified: verified(), entry: 2 },
        Happened::ContextFull { why: Text::new("full") },
        Happened::HandedOff { carry: Text::new("h") },
        Happened::Failed { failure: Failure::Crash, again: Some(at) },
        Happened::Failed { failure: Failure::Auth, again: None },
        Happened::Paused { until: Some(at) },
        Happened::Conflicted { against: commit.clone(), paths: Vec::new() },
        Happened::ResolverStarted { session },
        Happened::ResolverFailed,
        Happened::MergeRed { cause: Cause::Pair { with: StageId::new("o") } },
        Happened::Landed { merged },
        Happened::Queued { verified: verified(), entry: 3 },
        Happened::Raised { case: Case::Red },
        Happened::Overtaken,
        Happened::Told(Word::Hold),
        Happened::Told(Word::Release),
        Happened::Told(Word::Retry),
        Happened::Told(Word::Block),
        Happened::Told(Word::Skip { by: Text::new("p"), why: Text::new("w") }),
        Happened::Told(Word::GoOn),
        Happened::Told(Word::Merge { verified: verified(), entry: 4 }),
        Happened::Told(Word::Verify),
        Happened::Told(Word::Reset),
    ]
}
