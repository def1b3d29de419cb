//! Records of a run. An effect has two records: its start and its outcome. If the second one is missing,
//! Sprag observes the world before it does anything again.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::effect::{Effect, EffectOutcome, KillReason};
use crate::agent::activity::AgentTrouble;
use crate::agent::exit::{self, EndedBy, Exit};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::spec::Plan;
use crate::stage::command::StageCommand;
use crate::stage::{StageEvent, StageFailure};

/// One record of a run, tagged with its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum RunRecord {
    #[serde(rename = "plan.started")]
    Started { run: Text<64>, plan: Box<Plan>, digest: Digest, trunk: CommitId },
    /// The plan changes from here on.
    #[serde(rename = "plan.amended")]
    Amended { plan: Box<Plan>, digest: Digest, by: Text<64> },
    #[serde(rename = "stage.happened")]
    Happened { stage: StageId, what: StageEvent },
    #[serde(rename = "session.ended")]
    Ended { stage: StageId, session: EffectKey, at: Timestamp, ended: SessionOutcome },
    #[serde(rename = "effect.intent")]
    EffectBegun { key: EffectKey, epoch: u64, effect: Effect },
    #[serde(rename = "effect.outcome")]
    Outcome { key: EffectKey, outcome: EffectOutcome },
    /// Someone deleted the worktree of a stage; its branch still exists.
    #[serde(rename = "worktree.lost")]
    WorktreeLost { stage: StageId },
    /// Someone put commits on the target; Sprag merges and tests them like its own.
    #[serde(rename = "target.foreign")]
    Foreign { head: CommitId },
    /// Sprag does not move the target until a person has inspected it.
    #[serde(rename = "target.held")]
    TargetHeld { why: TargetHeld },
    /// Most of a budget is used; recorded once.
    #[serde(rename = "budget.nearly")]
    Nearly { of: BudgetOwner },
    /// A person or an agent gave a command to a stage.
    #[serde(rename = "stage.said")]
    StageCommand {
        stage: StageId,
        by: Text<64>,
        #[serde(rename = "said")]
        command: StageCommand,
    },
}

/// Owner of a budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetOwner {
    Run,
    Stage(StageId),
}

/// Reason why the target is not moved to the trunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum TargetHeld {
    /// Commits were removed from it: moving it would bring them back.
    Rewritten {
        now: CommitId,
    },
    Gone,
    /// The commits of others conflict with the trunk.
    Conflicted {
        head: CommitId,
        paths: Vec<Text<400>>,
    },
    Red {
        head: CommitId,
        report: Text<4000>,
    },
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum SessionOutcome {
    /// The agent claims to be done.
    Well,
    Failed {
        failure: StageFailure,
        progress: CommitProgress,
    },
    RateLimited {
        until: Timestamp,
    },
    ContextFull,
    /// Sprag ended the session.
    Stopped,
}

/// Whether a session committed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitProgress {
    Committed,
    Nothing,
}

impl SessionOutcome {
    /// Derives the outcome from the exit that a supervisor recorded. Limits, login errors and full contexts
    /// come from the reports of the client; they do not count if Sprag ended the session.
    pub fn from_exit(exit: &Exit, killed: Option<KillReason>, progress: CommitProgress) -> SessionOutcome {
        let failed = |failure| SessionOutcome::Failed { failure, progress };
        let trouble = exit.seen.as_ref().and_then(|seen| seen.trouble.as_ref());
        match (exit.by, &exit.ended, killed) {
            (_, exit::ExitStatus::Refused { .. }, _) => failed(StageFailure::Setup),
            (_, exit::ExitStatus::Unconfined { .. }, _) => failed(StageFailure::Sandbox),
            (EndedBy::Told, _, Some(KillReason::Wedged)) => failed(StageFailure::Wedged),
            (EndedBy::Told, _, Some(KillReason::Over) | None) => SessionOutcome::Stopped,
            (EndedBy::Budget, _, _) => failed(StageFailure::Budget),
            (EndedBy::Deadline, _, _) => failed(StageFailure::Timeout),
            (EndedBy::Itself, ended, _) => match (trouble, ended) {
                (Some(AgentTrouble::RateLimit { until }), _) => {
                    SessionOutcome::RateLimited { until: until.unwrap_or(exit.at.plus_seconds(UNTOLD_LIMIT)) }
                }
                (Some(AgentTrouble::ContextFull), _) => SessionOutcome::ContextFull,
                (Some(AgentTrouble::Auth), _) => failed(StageFailure::Auth),
                (Some(AgentTrouble::Overload), _) => failed(StageFailure::Overload),
                (Some(AgentTrouble::Budget), _) => failed(StageFailure::Budget),
                (None, exit::ExitStatus::Code(0)) => SessionOutcome::Well,
                (None, exit::ExitStatus::Signal(_)) if killed == Some(KillReason::Over) => {
                    SessionOutcome::Stopped
                }
                (None, _) => failed(StageFailure::Crash),
            },
        }
    }
}

/// Seconds for a limit without a known end.
const UNTOLD_LIMIT: i64 = 300;

impl RunRecord {
    /// Returns the record as a line of the log.
    pub fn record(&self, at: Timestamp) -> Record {
        let written = serde_json::to_value(self).expect("a record is plain data with text keys");
        let kind = written["kind"].as_str().unwrap_or_default();
        Record::new(kind, at, written["body"].clone())
    }

    /// Reads a line of the log; `None` for a kind or form that this version does not know.
    pub fn read(record: &Record) -> Option<RunRecord> {
        let whole = serde_json::json!({"kind": record.kind, "body": record.body});
        serde_json::from_value(whole).ok()
    }
}

/// Returns the key of an effect: `run/stage/attempt/step`.
pub fn key(run: &Text<64>, stage: &str, attempt: u32, step: &str) -> EffectKey {
    EffectKey(Text::new(format!("{run}/{stage}/{attempt}/{step}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::activity::AgentActivity;
    use crate::agent::exit;

    #[test]
    fn an_exit_comes_to_an_end_of_a_session() {
        let at = Timestamp::from_millis(0);
        let exit = |ended, by| Exit { v: 1, ended, by, at, millis: 1, seen: None };
        let failed = |failure| SessionOutcome::Failed { failure, progress: CommitProgress::Nothing };
        for (ended, by, killed, comes_to) in [
            (exit::ExitStatus::Code(0), EndedBy::Itself, None, SessionOutcome::Well),
            (exit::ExitStatus::Code(0), EndedBy::Itself, Some(KillReason::Over), SessionOutcome::Well),
            (exit::ExitStatus::Code(1), EndedBy::Itself, None, failed(StageFailure::Crash)),
            (exit::ExitStatus::Signal(9), EndedBy::Itself, None, failed(StageFailure::Crash)),
            (exit::ExitStatus::Signal(9), EndedBy::Itself, Some(KillReason::Over), SessionOutcome::Stopped),
            (exit::ExitStatus::Signal(15), EndedBy::Deadline, None, failed(StageFailure::Timeout)),
            (exit::ExitStatus::Signal(15), EndedBy::Told, Some(KillReason::Over), SessionOutcome::Stopped),
            (
                exit::ExitStatus::Signal(15),
                EndedBy::Told,
                Some(KillReason::Wedged),
                failed(StageFailure::Wedged),
            ),
            (
                exit::ExitStatus::Refused { why: Text::new("x") },
                EndedBy::Itself,
                None,
                failed(StageFailure::Setup),
            ),
            (
                exit::ExitStatus::Unconfined { why: Text::new("x") },
                EndedBy::Itself,
                None,
                failed(StageFailure::Sandbox),
            ),
        ] {
            assert_eq!(
                SessionOutcome::from_exit(&exit(ended, by), killed, CommitProgress::Nothing),
                comes_to
            );
        }
    }

    #[test]
    fn what_a_client_says_of_its_end_counts_unless_we_ended_it() {
        let at = Timestamp::from_millis(1_000_000);
        let exit = |trouble, by| {
            let seen = Some(Box::new(AgentActivity { trouble: Some(trouble), ..AgentActivity::default() }));
            Exit { v: 1, ended: exit::ExitStatus::Code(1), by, at, millis: 1, seen }
        };
        let failed = |failure| SessionOutcome::Failed { failure, progress: CommitProgress::Nothing };
        let until = Some(at.plus_seconds(60));
        for (trouble, by, comes_to) in [
            (
                AgentTrouble::RateLimit { until },
                EndedBy::Itself,
                SessionOutcome::RateLimited { until: at.plus_seconds(60) },
            ),
            (
                AgentTrouble::RateLimit { until: None },
                EndedBy::Itself,
                SessionOutcome::RateLimited { until: at.plus_seconds(UNTOLD_LIMIT) },
            ),
            (AgentTrouble::ContextFull, EndedBy::Itself, SessionOutcome::ContextFull),
            (AgentTrouble::Auth, EndedBy::Itself, failed(StageFailure::Auth)),
            (AgentTrouble::Overload, EndedBy::Itself, failed(StageFailure::Overload)),
            (AgentTrouble::Budget, EndedBy::Itself, failed(StageFailure::Budget)),
            (AgentTrouble::Budget, EndedBy::Budget, failed(StageFailure::Budget)),
            (AgentTrouble::Auth, EndedBy::Deadline, failed(StageFailure::Timeout)),
            (AgentTrouble::Auth, EndedBy::Told, SessionOutcome::Stopped),
        ] {
            assert_eq!(
                SessionOutcome::from_exit(&exit(trouble, by), None, CommitProgress::Nothing),
                comes_to
            );
        }
    }
}
