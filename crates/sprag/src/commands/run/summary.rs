//! Summary of a run that is over or needs a person: results, waiting stages, and commands to run next.

use sprag_base::text::{one_line, shell_word};
use sprag_orchestrator::daemon::start_run::{self, StartError};
use sprag_orchestrator::layout::RunLayout;
use sprag_orchestrator::run_log;
use sprag_orchestrator::socket::loop_event::RunEnd;
use sprag_plan::run::Run;
use sprag_plan::stage::state::StageState;
use sprag_plan::view::review_request::asked;

use crate::commands::run::land;
use crate::commands::{CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Maximum number of stages to list.
const TOLD: usize = 20;

pub(crate) fn rested(ground: &RunLayout, rest: RunEnd, format: OutputFormat) -> CommandResult {
    if rest == RunEnd::Gone {
        return Err(Failure::ground_gone(&ground.run));
    }
    let none = || StartError::NoRun { name: ground.plan.clone() };
    let run = run_log::read(&sprag_orchestrator::layout::run_log_path(&ground.run, &ground.plan))?
        .ok_or_else(none)?;
    let resume = vec![format!("sprag run resume {}", ground.plan)];
    let (lines, next, ending) = match rest {
        RunEnd::Gone => (Vec::new(), Vec::new(), CommandEnd::No),
        RunEnd::Over => {
            let merged = format!("{}: `{}`", counted(&run), ground.trunk());
            let target = ground.target.trim_start_matches("refs/heads/");
            if start_run::has_landed(&ground.root, &ground.trunk(), &ground.target)
                .map_err(StartError::from)?
            {
                (vec![merged, format!("`{target}` has all merged work")], Vec::new(), CommandEnd::Done)
            } else {
                let (held, next) = land::advised(&ground.root, &ground.plan, target);
                ([merged].into_iter().chain(held).collect(), vec![next], CommandEnd::Done)
            }
        }
        RunEnd::Waits => {
            let (lines, next) = waiting(&run);
            (lines, next, CommandEnd::No)
        }
        RunEnd::Stopped => (vec!["the run was stopped".to_owned()], resume, CommandEnd::No),
        RunEnd::Interrupted { signal } => {
            (vec!["stopped; worktrees are unchanged".to_owned()], resume, CommandEnd::Signal(signal))
        }
    };
    if !format.is_json() {
        lines.iter().for_each(output::line);
        next.iter().for_each(output::next);
    }
    Ok(ending)
}

/// Counts the merged and skipped stages of a run that is over.
pub(crate) fn counted(run: &Run) -> String {
    let count = |fits: fn(&StageState) -> bool| run.entries().filter(|(_, it)| fits(&it.state)).count();
    let merged = count(|stage| matches!(stage, StageState::Done { .. }));
    match count(|stage| matches!(stage, StageState::Skipped { .. })) {
        0 => "all stages are merged".to_owned(),
        skipped => format!("{merged} merged, {skipped} skipped"),
    }
}

/// Returns lines about waiting stages, those for a person first, and the commands to run next.
fn waiting(run: &Run) -> (Vec<String>, Vec<String>) {
    let mut lines = vec!["the run waits:".to_owned()];
    let (mut persons, mut others) = (Vec::new(), Vec::new());
    for (id, entry) in run.entries().filter(|(_, entry)| !entry.state.is_over()) {
        let asked = asked(run, id);
        let what = asked.iter().flat_map(|asked| &asked.what).next();
        let what = what.and_then(|what| what.lines().next()).map(one_line).unwrap_or_default();
        let line = format!("  stage `{}` is {}: {what}", id.as_str(), entry.state.name());
        if entry.needs_person() { persons.push((line, id)) } else { others.push(line) }
    }
    let count = persons.len() + others.len();
    let mut next: Vec<String> = persons
        .iter()
        .take(TOLD)
        .map(|(_, id)| format!("sprag stage review {}", shell_word(id.as_str())))
        .collect();
    lines.extend(persons.into_iter().map(|(line, _)| line).chain(others).take(TOLD));
    if count > TOLD {
        lines.push(format!("  and {} more", count - TOLD));
    }
    next.push("sprag status --why".to_owned());
    (lines, next)
}
