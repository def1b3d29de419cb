//! Failures of commands that need a valid plan or a stage of a run.

use std::io;
use std::path::Path;

use sprag_base::text::{quoted, shell_word};
use sprag_orchestrator::launchers::UnfitStage;
use sprag_orchestrator::stage_session::handoffs::HandoffParseError;
use sprag_plan::spec::problem::{ProblemList, Severity, ValueProblem};

use super::{ExitKind, Failure};
use crate::advice::file_word;

/// Maximum number of stages that one message names.
const NAMED: usize = 10;

impl Failure {
    pub(crate) fn no_plan(path: &Path, error: &io::Error) -> Failure {
        let name = quoted(&path.display().to_string());
        let why = match error.kind() {
            io::ErrorKind::NotFound => format!("there is no file `{name}`"),
            _ => format!("cannot read `{name}`: {error}"),
        };
        Failure::new(ExitKind::No, "no_plan", why).next("sprag plan new NAME")
    }

    pub(crate) fn bad_plan(path: &Path, found: &ProblemList) -> Failure {
        let name = path.display().to_string();
        let errors = found.problems.iter().filter(|problem| problem.weight() == Severity::Error);
        let told: Vec<String> = errors.map(|problem| problem.to_line(&name)).collect();
        Failure::new(ExitKind::No, "bad_plan", told.join("\n       "))
            .next(format!("sprag plan check {}", file_word(path)))
    }

    pub(crate) fn bad_plan_name(name: &str, wrong: &ValueProblem) -> Failure {
        let message = format!("`{}` is not a valid name: {}", quoted(name), wrong.fix);
        Failure::new(ExitKind::Usage, "bad_id", message).next("sprag plan new my-plan")
    }

    pub(crate) fn plan_exists(path: &Path) -> Failure {
        let name = path.display().to_string();
        Failure::new(ExitKind::No, "plan_exists", format!("file `{}` already exists", quoted(&name)))
            .next(format!("sprag plan check {}", file_word(path)))
    }

    /// Returns the failure for a command of a stage agent that runs elsewhere and names no stage.
    pub(crate) fn not_in_a_stage(command: &str) -> Failure {
        let message = "no stage given; only an agent that works on a stage may omit the name";
        Failure::new(ExitKind::Usage, "no_stage", message).next(format!("sprag {command}"))
    }

    /// Returns the failure for a stage that no run has. `known` are the stages of all runs.
    pub(crate) fn stage_not_run(id: &str, known: &[String]) -> Failure {
        let message = format!("no run in this clone has a stage `{}`", quoted(id));
        let named: Vec<String> = known.iter().take(NAMED).map(|id| format!("`{}`", quoted(id))).collect();
        let more = known.len().saturating_sub(NAMED);
        match (named.is_empty(), more) {
            (true, _) => Failure::new(ExitKind::No, "no_stage", message).next("sprag run plan.md"),
            (false, 0) => {
                let message = format!("{message}; known stages: {}", named.join(", "));
                Failure::new(ExitKind::No, "no_stage", message).next("sprag run graph")
            }
            (false, more) => {
                let message = format!("{message}; known stages: {} and {more} more", named.join(", "));
                Failure::new(ExitKind::No, "no_stage", message).next("sprag run graph")
            }
        }
    }

    pub(crate) fn another_stage(own: &str, other: &str) -> Failure {
        let message =
            format!("this agent works on stage `{}`; it cannot report on `{}`", quoted(own), quoted(other));
        Failure::new(ExitKind::No, "another_stage", message).next("omit `--stage`")
    }

    pub(crate) fn too_many_notes(stage: &str) -> Failure {
        let message = format!("stage `{}` already has the maximum number of notes", quoted(stage));
        Failure::new(ExitKind::No, "too_many_notes", message).next("sprag handoff show")
    }

    pub(crate) fn bad_handoff(unreadable: &HandoffParseError) -> Failure {
        let HandoffParseError { line, column, what } = unreadable;
        Failure::new(
            ExitKind::No,
            "bad_handoff",
            format!("cannot read the handoff: line {line}, column {column}: {what}"),
        )
        .next("sprag handoff --next TEXT")
    }

    pub(crate) fn empty_handoff() -> Failure {
        Failure::new(ExitKind::Usage, "empty_handoff", "the handoff is empty: no option and no text on stdin")
            .next("sprag handoff --next TEXT")
    }

    pub(crate) fn no_handoff(stage: &str) -> Failure {
        let message = format!("stage `{}` has no handoff and no notes", quoted(stage));
        Failure::new(ExitKind::No, "no_handoff", message).next("sprag session list")
    }

    pub(crate) fn no_handoff_numbered(stage: &str, number: u32, last: Option<u32>) -> Failure {
        let Some(last) = last else { return Failure::no_handoff(stage) };
        let message = format!("stage `{}` has no handoff {number}; the last one is {last}", quoted(stage));
        Failure::new(ExitKind::No, "no_handoff", message)
            .next(format!("sprag handoff show {} --number {last}", shell_word(stage)))
    }

    pub(crate) fn no_stage(id: &str, path: &Path, near: Option<&str>) -> Failure {
        let name = file_word(path);
        let failure =
            Failure::new(ExitKind::No, "no_stage", format!("the plan has no stage `{}`", quoted(id)));
        match near {
            Some(near) => failure.next(format!("sprag plan show {name} {}", shell_word(near))),
            None => failure.next(format!("sprag plan show {name}")),
        }
    }

    /// Returns the failure for a stage that no client can run here.
    pub(crate) fn unfit(unfit: &UnfitStage, plan: &Path) -> Failure {
        let message = format!("stage `{}` cannot run here: {}", quoted(&unfit.stage), unfit.why);
        let file = file_word(plan);
        let show = format!("sprag plan show {file} {}", shell_word(&unfit.stage));
        Failure::new(ExitKind::Usage, "unfit", message).next(unfit.next.clone().unwrap_or(show))
    }
}
