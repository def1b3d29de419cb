//! What a run writes down. An effect is two records: that it is about to be done, and what came of it; whoever finds
//! the first without the second looks at the world before doing anything again.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::command::Said;
use crate::agent::activity::Trouble;
use crate::agent::exit::{self, By, Exit};
use crate::ids::{Commit, Key, StageId};
use crate::spec::Plan;
use crate::spec::client::Known;
use crate::stage::{Failure, Happened};

/// One record of a run, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Recorded {
    #[serde(rename = "plan.started")]
    Started { run: Text<64>, plan: Box<Plan>, digest: Digest, trunk: Commit },
    /// The plan means something else from here on.
    #[serde(rename = "plan.amended")]
    Amended { plan: Box<Plan>, digest: Digest, by: Text<64> },
    #[serde(rename = "stage.happened")]
    Happened { stage: StageId, what: Happened },
    #[serde(rename = "session.ended")]
    Ended { stage: StageId, session: Key, at: Timestamp, ended: Ended },
    #[serde(rename = "effect.intent")]
    Intent { key: Key, epoch: u64, effect: Effect },
    #[serde(rename = "effect.outcome")]
    Outcome { key: Key, outcome: Outcome },
    /// Somebody else has deleted the worktree of a stage; its branch is there.
    #[serde(rename = "worktree.lost")]
    WorktreeLost { stage: StageId },
    /// Somebody else has put something on the target: it is merged and tested like everything.
    #[serde(rename = "target.foreign")]
    Foreign { head: Commit },
    /// The target is left alone until somebody has looked at it.
    #[serde(rename = "target.held")]
    TargetHeld { why: TargetHeld },
    /// Most of a budget is used, which is said once.
    #[serde(rename = "budget.nearly")]
    Nearly { of: Purse },
    /// Somebody has said something of a stage.
    #[serde(rename = "stage.said")]
    Said { stage: StageId, by: Text<64>, said: Said },
}

/// Whose budget it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purse {
    Run,
    Stage(StageId),
}

/// Why the target is not moved on although there is something to move it to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum TargetHeld {
    /// What it had is not in it any more: moving it on would bring that back.
    Rewritten {
        now: Commit,
    },
    Gone,
    /// What others put on it does not go with the trunk.
    Conflicted {
        head: Commit,
        paths: Vec<Text<400>>,
    },
    Red {
        head: Commit,
        report: Text<4000>,
    },
}

/// Something to be done. Doing it twice comes to the same, or is found out by a look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    AddWorktree {
        stage: StageId,
        base: Commit,
    },
    Setup {
        stage: StageId,
    },
    Check {
        stage: StageId,
        of: Checking,
    },
    /// Somebody who has not written it looks at what was found good.
    Review {
        stage: StageId,
        head: Commit,
        tree: Commit,
        by: Known,
        since: Timestamp,
        #[serde(default)]
        sought: Sought,
    },
    WriteBrief {
        stage: StageId,
        brief: Brief,
    },
    /// The session is called by the key of this effect.
    Spawn {
        stage: StageId,
    },
    /// Says something to an agent at its next boundary.
    Nudge {
        stage: StageId,
        session: Key,
        text: Text<4000>,
        #[serde(default)]
        about: About,
    },
    Interrupt {
        session: Key,
    },
    /// The agent and all it has started.
    Kill {
        session: Key,
        because: Because,
    },
    /// Writes down what was done, and keeps what no commit has.
    Salvage {
        stage: StageId,
    },
    Candidate {
        number: u64,
        on: Commit,
        head: Commit,
    },
    Gate {
        number: u64,
        commit: Commit,
        tree: Commit,
    },
    Land {
        number: u64,
        from: Commit,
        to: Commit,
    },
    /// Somebody else has moved the trunk, which is nobody's but ours.
    Restore {
        to: Commit,
    },
    Promote {
        to: Commit,
    },
    RemoveWorktree {
        stage: StageId,
    },
    Notify {
        stage: StageId,
        text: Text<300>,
    },
    /// A stage begins anew: what its worktree and its branch have is kept under a name, and both go.
    Discard {
        stage: StageId,
        number: u32,
    },
}

/// Which verdict on a change will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sought {
    /// Also one that was given before.
    #[default]
    Any,
    /// A person wants to have it looked at once more.
    Another,
}

/// What an agent at work is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// What is red of its work.
    #[default]
    Report,
    /// What a person has answered.
    Answer,
    /// Its context fills: it should note what matters.
    Notes,
    /// Its context is as full as it may be: it should hand over.
    Handoff,
}

/// Why an agent is ended; its supervisor writes it down as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// There is nothing for it to do.
    Over,
    Wedged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checking {
    /// Before the first agent starts, on a base that nobody has touched.
    Before,
    /// What an agent says is done.
    Claim,
}

/// What an agent is told; each kind has a text of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Brief {
    Stage,
    Knowledge,
    Recovery,
    Merge,
    MergeConflict,
    BaseConflict,
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// It is there, and stands on this.
    Worktree {
        base: Commit,
    },
    /// What was claimed holds, as exactly this tree.
    Green {
        head: Commit,
        tree: Commit,
    },
    /// The checks hold, and somebody else is to look at it.
    Reviewable {
        head: Commit,
        tree: Commit,
        by: Known,
    },
    /// The checks hold, and nobody else has said what they think of it.
    Unreviewed {
        head: Commit,
        tree: Commit,
        why: Text<300>,
    },
    Red {
        report: Text<4000>,
    },
    /// Nothing was changed, or something is left over.
    Unchanged,
    Spawned,
    Salvaged {
        carry: Text<64>,
    },
    Made {
        commit: Commit,
        tree: Commit,
    },
    Conflicted {
        paths: Vec<Text<400>>,
    },
    /// The trunk is somewhere else by now.
    Elsewhere {
        trunk: Commit,
    },
    Failed {
        failure: Failure,
        why: Text<300>,
    },
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum Ended {
    /// It says that it is done.
    Well,
    Failed {
        failure: Failure,
        progress: Progress,
    },
    RateLimited {
        until: Timestamp,
    },
    ContextFull,
    /// By us.
    Stopped,
}

/// Whether a session has committed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    Committed,
    Nothing,
}

impl Ended {
    /// What the exit that a supervisor has written down comes to. Limits, logins and full contexts show in what the
    /// client has said of itself; whoever was ended by us was not ended by them.
    pub fn of(exit: &Exit, killed: Option<Because>, progress: Progress) -> Ended {
        let failed = |failure| Ended::Failed { failure, progress };
        let trouble = exit.seen.as_ref().and_then(|seen| seen.trouble.as_ref());
        match (exit.by, &exit.ended, killed) {
            (_, exit::Ended::Refused { .. }, _) => failed(Failure::Setup),
            (_, exit::Ended::Unconfined { .. }, _) => failed(Failure::Sandbox),
            (By::Told, _, Some(Because::Wedged)) => failed(Failure::Wedged),
            (By::Told, _, Some(Because::Over) | None) => Ended::Stopped,
            (By::Budget, _, _) => failed(Failure::Budget),
            (By::Deadline, _, _) => failed(Failure::Timeout),
            (By::Itself, ended, _) => match (trouble, ended) {
                (Some(Trouble::RateLimit { until }), _) => {
                    Ended::RateLimited { until: until.unwrap_or(exit.at.plus_seconds(UNTOLD_LIMIT)) }
                }
                (Some(Trouble::ContextFull), _) => Ended::ContextFull,
                (Some(Trouble::Auth), _) => failed(Failure::Auth),
                (Some(Trouble::Overload), _) => failed(Failure::Overload),
                (Some(Trouble::Budget), _) => failed(Failure::Budget),
                (None, exit::Ended::Code(0)) => Ended::Well,
                (None, exit::Ended::Signal(_)) if killed == Some(Because::Over) => Ended::Stopped,
                (None, _) => failed(Failure::Crash),
            },
        }
    }
}

/// Seconds a limit is taken to hold that does not say for how long.
const UNTOLD_LIMIT: i64 = 300;

impl Recorded {
    /// As a line of the log, which others name and sign.
    pub fn record(&self, at: Timestamp) -> Record {
        let written = serde_json::to_value(self).expect("a record is plain data with text keys");
        let kind = written["kind"].as_str().unwrap_or_default();
        Record::new(kind, at, written["body"].clone())
    }

    /// `None`: it is of a kind, or of a form, that this version does not know.
    pub fn read(record: &Record) -> Option<Recorded> {
        let whole = serde_json::json!({"kind": record.kind, "body": record.body});
        serde_json::from_value(whole).ok()
    }
}

/// `run/stage/attempt/step`: by which an effect is known again.
pub fn key(run: &Text<64>, stage: &str, attempt: u32, step: &str) -> Key {
    Key(Text::new(format!("{run}/{stage}/{attempt}/{step}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::activity::Seen;
    use crate::agent::exit;

    #[test]
    fn an_exit_comes_to_an_end_of_a_session() {
        let at = Timestamp::from_millis(0);
        let exit = |ended, by| Exit { v: 1, ended, by, at, millis: 1, seen: None };
        let failed = |failure| Ended::Failed { failure, progress: Progress::Nothing };
        for (ended, by, killed, comes_to) in [
            (exit::Ended::Code(0), By::Itself, None, Ended::Well),
            (exit::Ended::Code(0), By::Itself, Some(Because::Over), Ended::Well),
            (exit::Ended::Code(1), By::Itself, None, failed(Failure::Crash)),
            (exit::Ended::Signal(9), By::Itself, None, failed(Failure::Crash)),
            (exit::Ended::Signal(9), By::Itself, Some(Because::Over), Ended::Stopped),
            (exit::Ended::Signal(15), By::Deadline, None, failed(Failure::Timeout)),
            (exit::Ended::Signal(15), By::Told, Some(Because::Over), Ended::Stopped),
            (exit::Ended::Signal(15), By::Told, Some(Because::Wedged), failed(Failure::Wedged)),
            (exit::Ended::Refused { why: Text::new("x") }, By::Itself, None, failed(Failure::Setup)),
            (exit::Ended::Unconfined { why: Text::new("x") }, By::Itself, None, failed(Failure::Sandbox)),
        ] {
            assert_eq!(Ended::of(&exit(ended, by), killed, Progress::Nothing), comes_to);
        }
    }

    #[test]
    fn what_a_client_says_of_its_end_counts_unless_we_ended_it() {
        let at = Timestamp::from_millis(1_000_000);
        let exit = |trouble, by| {
            let seen = Some(Box::new(Seen { trouble: Some(trouble), ..Seen::default() }));
            Exit { v: 1, ended: exit::Ended::Code(1), by, at, millis: 1, seen }
        };
        let failed = |failure| Ended::Failed { failure, progress: Progress::Nothing };
        let until = Some(at.plus_seconds(60));
        for (trouble, by, comes_to) in [
            (Trouble::RateLimit { until }, By::Itself, Ended::RateLimited { until: at.plus_seconds(60) }),
            (
                Trouble::RateLimit { until: None },
                By::Itself,
                Ended::RateLimited { until: at.plus_seconds(UNTOLD_LIMIT) },
            ),
            (Trouble::ContextFull, By::Itself, Ended::ContextFull),
            (Trouble::Auth, By::Itself, failed(Failure::Auth)),
            (Trouble::Overload, By::Itself, failed(Failure::Overload)),
            (Trouble::Budget, By::Itself, failed(Failure::Budget)),
            (Trouble::Budget, By::Budget, failed(Failure::Budget)),
            (Trouble::Auth, By::Deadline, failed(Failure::Timeout)),
            (Trouble::Auth, By::Told, Ended::Stopped),
        ] {
            assert_eq!(Ended::of(&exit(trouble, by), None, Progress::Nothing), comes_to);
        }
    }
}
