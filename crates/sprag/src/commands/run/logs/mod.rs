//! `sprag run logs`: what happened in a run, and what its agents printed.

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

/// Tell what happened in a run, and what the agents of a stage printed
///
/// Without a stage these are the records of the run as sentences; with one, those of the stage with everything that
/// is kept of what its agents printed. What they told the terminal to do is left out. People see the last 200 lines,
/// programs all of them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The stage
    stage: Option<String>,
    /// Go on as it happens, until the agent ends or the run is over
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// Tell people all of it, and not only the last lines
    #[arg(long)]
    all: bool,
    /// The run of this plan; else the one that moved last
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
    /// Print one JSON object for every line
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,
}

/// How long nothing may be heard before somebody looks.
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

/// What the agent of a stage prints, until it ends: also for `sprag run attach`.
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
        // Looked at before the last words are read: what is printed until then is there.
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

/// The agent of a stage, which may have to be waited for; `None`: there will be none.
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
