//! Failures of commands that show a run.

use std::io;

use sprag_base::text::{quoted, shell_word};

use super::{ExitKind, Failure};

impl Failure {
    pub(crate) fn run_unread(error: &io::Error) -> Failure {
        Failure::new(ExitKind::Ours, "io", format!("cannot read the records of the run: {error}"))
            .next("sprag doctor")
    }

    pub(crate) fn no_run(plan: Option<&str>) -> Failure {
        let message = match plan {
            Some(name) => format!("no plan `{}` was run here", quoted(name)),
            None => "no plan was run here".to_owned(),
        };
        let next = if plan.is_some() { "sprag status" } else { "sprag run PLAN" };
        Failure::new(ExitKind::No, "no_run", message).next(next)
    }

    pub(crate) fn no_stage_of_run(id: &str, near: Option<&str>) -> Failure {
        let failure =
            Failure::new(ExitKind::No, "no_stage", format!("the run has no stage `{}`", quoted(id)));
        match near {
            Some(near) => failure.next(format!("sprag run logs {}", shell_word(near))),
            None => failure.next("sprag run graph"),
        }
    }

    pub(crate) fn no_screen() -> Failure {
        Failure::new(ExitKind::No, "no_terminal", "`--live` needs a terminal").next("sprag status")
    }

    pub(crate) fn screen_lost(error: &io::Error) -> Failure {
        Failure::new(ExitKind::Ours, "terminal", format!("cannot show the screen: {error}"))
            .next("sprag status")
    }

    pub(crate) fn no_agent_yet(stage: &str) -> Failure {
        let message = format!("stage `{}` has had no agent yet", quoted(stage));
        Failure::new(ExitKind::No, "no_agent", message).next("sprag status --why")
    }

    pub(crate) fn no_window(stage: &str) -> Failure {
        Failure::new(ExitKind::No, "no_terminal", "no known terminal program to open a window with")
            .next("sprag config set terminal.command '[\"xterm\", \"-e\"]'")
            .next(format!("sprag run attach {}", shell_word(stage)))
    }

    pub(crate) fn not_started(program: &str, error: &io::Error) -> Failure {
        let message = format!("cannot start `{}`: {error}", quoted(program));
        Failure::new(ExitKind::Ours, "not_started", message).next("sprag config get terminal.command")
    }
}
