//! `sprag run logs`: prints the events of a run and the output of its agents.

mod lines;

use std::time::Duration;

use sprag_orchestrator::agent::output::AgentOutput;
use sprag_orchestrator::observe::file_watch::FileWatch;
use sprag_orchestrator::session_dir::{SessionDir, SessionProbe, site_of};
use sprag_orchestrator::view::live;
use sprag_plan::ids::EffectKey;
use sprag_plan::view::StageRow;

use super::selection::{self, SelectedRun};
use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};
use lines::{Backlog, LineForm, LogPrinter};

/// Show the events of a run, and the output of the agents of a stage
///
/// Without a stage, prints the records of the run as sentences. With a stage, prints its records and the
/// stored output of its agents, without terminal escapes. Text output shows the last 200 lines.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stage id
    stage: Option<String>,
    /// Continue to print until the agent ends or the run is over
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// Print all lines, not only the last 200
    #[arg(long)]
    all: bool,
    /// Name of the plan (default: the run with the latest change)
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,
}

/// Longest wait for a change of a file before Sprag reads it again.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let form = match (args.format.is_json(), args.jsonl) {
        (true, _) => LineForm::Object,
        (_, true) => LineForm::Lines,
        (false, false) => LineForm::Text,
    };
    let shown = selection::need(cx, args.plan.as_deref())?;
    let row = args.stage.as_deref().map(|stage| shown.stage(stage)).transpose()?;
    let past = match form {
        LineForm::Text if !args.all => Backlog::Last,
        LineForm::Text | LineForm::Object | LineForm::Lines => Backlog::All,
    };
    let mut teller = LogPrinter::new(&shown, row, form, past);
    teller.records().map_err(|error| Failure::run_unread(&error))?;
    if args.follow && !teller.is_over() {
        let plan = shown.listed.plan.as_str();
        if let Some((told, next)) = selection::nobody(&live::runner(&shown.dir, plan), plan) {
            output::note(format!("sprag: {told}"));
            output::note_next(next);
        }
    }
    match (args.follow, row) {
        (false, _) => teller.rest(),
        (true, Some(row)) => follow_stage(&shown, row, &mut teller),
        (true, None) => follow_run(&shown, &mut teller),
    }
    .map_err(|error| Failure::run_unread(&error))?;
    teller.end();
    Ok(CommandEnd::Done)
}

/// Prints the output of the agent of a stage until it ends. `sprag run attach` also uses this.
pub(crate) fn follow(shown: &SelectedRun, row: &StageRow) -> CommandResult {
    let mut teller = LogPrinter::new(shown, Some(row), LineForm::Text, Backlog::Last);
    follow_stage(shown, row, &mut teller).map_err(|error| Failure::run_unread(&error))?;
    teller.end();
    Ok(CommandEnd::Done)
}

fn follow_stage(shown: &SelectedRun, row: &StageRow, teller: &mut LogPrinter<'_>) -> std::io::Result<()> {
    let Some(session) = first_agent(shown, row, teller)? else { return Ok(()) };
    if teller.has_told(&session) {
        return Ok(());
    }
    let session = &session;
    let site = site_of(&shown.dir, session);
    let plans = shown.dir.join("plans");
    let watch = FileWatch::new([site.dir(), plans.as_path()])?;
    let mut printed = AgentOutput::new(&site);
    loop {
        // Checked before the last read, so that the read gets all output before the end.
        let is_over = is_over(&site)?;
        printed.read_lines(|stream, line| teller.printed(session, stream, line))?;
        teller.go_on();
        if is_over {
            printed.finish(|stream, line| teller.printed(session, stream, line))?;
            teller.leave_out(session);
            return teller.records();
        }
        watch.wait(LOOK)?;
    }
}

/// Returns the agent of a stage, and waits for it to start. `None` if the stage is over.
fn first_agent(
    shown: &SelectedRun,
    row: &StageRow,
    teller: &mut LogPrinter<'_>,
) -> std::io::Result<Option<EffectKey>> {
    if let Some(session) = row.agent.session() {
        return Ok(Some(session.clone()));
    }
    let plans = shown.dir.join("plans");
    let watch = FileWatch::new([plans.as_path()])?;
    loop {
        teller.records()?;
        teller.go_on();
        let entry = teller.entry(&row.id).filter(|entry| !entry.state.is_over());
        let Some(entry) = entry else { return Ok(None) };
        if let Some(session) = &entry.session {
            return Ok(Some(session.clone()));
        }
        watch.wait(LOOK)?;
    }
}

fn is_over(site: &SessionDir) -> std::io::Result<bool> {
    Ok(match site.probe()? {
        SessionProbe::Ended(_) | SessionProbe::Died => true,
        SessionProbe::Running | SessionProbe::Nothing => false,
    })
}

fn follow_run(shown: &SelectedRun, teller: &mut LogPrinter<'_>) -> std::io::Result<()> {
    let plans = shown.dir.join("plans");
    let watch = FileWatch::new([plans.as_path()])?;
    teller.go_on();
    while !teller.is_over() {
        watch.wait(LOOK)?;
        teller.records()?;
    }
    Ok(())
}
