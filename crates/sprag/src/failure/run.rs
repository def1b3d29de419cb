//! Failures of commands that control a run.

use std::path::Path;

use sprag_base::text::{quoted, shell_word};
use sprag_orchestrator::socket::client::NotConnected;
use sprag_orchestrator::socket::requests::RequestError;

use super::{ExitKind, Failure};
use crate::advice::file_word;

impl Failure {
    pub(crate) fn no_daemon_started(line: &str, log: &Path) -> Failure {
        let why = if line.is_empty() { "no output" } else { line };
        Failure::new(ExitKind::No, "no_daemon", format!("the daemon did not start: {why}"))
            .next(format!("tail {}", shell_word(&log.display().to_string())))
    }

    pub(crate) fn no_daemon() -> Failure {
        Failure::new(ExitKind::No, "no_daemon", "no daemon runs in this clone").next("sprag run resume")
    }

    /// Returns the failure for a report of an agent without a daemon. An agent cannot resume a stopped run.
    pub(crate) fn agent_without_daemon() -> Failure {
        let message = "the daemon is not running, so this report was not recorded; \
                       commit your work and stop; the run checks it after a resume";
        Failure::new(ExitKind::No, "no_daemon", message).next("git status")
    }

    /// Returns the failure for a refusal of the daemon, in its words.
    pub(crate) fn told_no(code: String, message: String, stage: Option<&str>) -> Failure {
        let failure = Failure::new(ExitKind::No, code, message);
        match stage {
            // No stage id starts with `-`, so there is no stage to review.
            Some(stage) if stage.starts_with('-') => failure.next("sprag run graph"),
            Some(stage) => failure.next(format!("sprag stage review {}", shell_word(stage))),
            None => failure.next("sprag doctor"),
        }
    }

    pub(crate) fn not_amended(code: String, message: String, plan: &Path) -> Failure {
        let file = file_word(plan);
        Failure::new(ExitKind::No, code, message).next(format!("sprag plan show {file}"))
    }

    pub(crate) fn not_amended_untrusted(plan: &Path) -> Failure {
        let file = file_word(plan);
        let message = "the run keeps its old plan: the programs of the new plan were not allowed";
        Failure::new(ExitKind::No, "not_trusted", message)
            .next(format!("sprag plan show {file}"))
            .next(format!("sprag plan amend {file} --trust"))
    }

    /// Returns the failure for a run whose records or repository were deleted.
    pub(crate) fn ground_gone(run: &Path) -> Failure {
        let message = format!("`{}` was deleted; the run and its agents were stopped", run.display());
        Failure::new(ExitKind::No, "ground_gone", message).next("git worktree list")
    }

    pub(crate) fn not_connected(reason: NotConnected, stage: Option<&str>) -> Failure {
        match reason {
            NotConnected::Nobody => Failure::no_daemon(),
            NotConnected::Refused { code, message } => Failure::told_no(code, message, stage),
            NotConnected::Io(error) => error.into(),
        }
    }

    pub(crate) fn no_stage_named() -> Failure {
        let message = "no stage given; only an agent that works on a stage may omit the name";
        Failure::new(ExitKind::Usage, "no_stage", message).next("sprag stage review STAGE")
    }

    pub(crate) fn no_run_of_stage(stage: &str) -> Failure {
        let message = format!("no unfinished run has a stage `{}`", quoted(stage));
        Failure::new(ExitKind::No, "no_stage", message).next("sprag run plan.md")
    }

    pub(crate) fn which_run(names: &[String]) -> Failure {
        match names {
            [] => Failure::new(ExitKind::No, "no_run", "no unfinished run here").next("sprag run plan.md"),
            names => {
                let failure = Failure::new(ExitKind::Usage, "which_run", "several runs are unfinished here");
                names.iter().fold(failure, |failure, name| {
                    failure.next(format!("sprag run resume {}", shell_word(name)))
                })
            }
        }
    }

    pub(crate) fn unsaid(reason: RequestError, stage: &str) -> Failure {
        match reason {
            RequestError::NoRun => Failure::no_run_of_stage(stage),
            RequestError::AtWork { pid } => {
                let message = format!("the daemon (process `{pid}`) runs a plan, but does not answer");
                Failure::new(ExitKind::No, "at_work", message).next("sprag run repair")
            }
            RequestError::Refused { code, message } => Failure::told_no(code, message, Some(stage)),
            RequestError::Io(error) => error.into(),
        }
    }

    pub(crate) fn which_plan_to_land(names: &[String]) -> Failure {
        match names {
            [] => Failure::new(ExitKind::No, "no_run", "no plan was run here").next("sprag run plan.md"),
            names => {
                let failure = Failure::new(ExitKind::Usage, "which_run", "several plans were run here");
                names.iter().fold(failure, |failure, name| {
                    failure.next(format!("sprag run land {}", shell_word(name)))
                })
            }
        }
    }

    pub(crate) fn not_landed(code: &'static str, message: String, next: String) -> Failure {
        Failure::new(ExitKind::No, code, message).next(next)
    }
}
