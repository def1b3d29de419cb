//! `sprag status`: shows open work, and the commands to run next.

mod json;
mod live;
mod table;
mod work;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use sprag_govern::history::{OpenObligation, SessionList, StatusView};
use sprag_govern::obligation::Debts;
use sprag_host::answers::reflection;
use sprag_host::store::session_registry::LIVE_SECONDS;
use sprag_host::store::{journal, projections};
use sprag_host::world::World;
use sprag_orchestrator::view::live::{LandedState, RunOwner};
use sprag_orchestrator::view::{BoardPart, live as beside};

use super::run::selection::{self, SelectedRun};
use super::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};
use table::StageFilter;

/// Show live sessions, open obligations, debts and the run of a plan
///
/// Reads a run from its records, even if no process runs it. `?` means unknown.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag status\n  \
    sprag status --live")]
pub(super) struct Args {
    /// Name of the plan (default: the run with the latest change)
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// Show a live screen; `q` quits
    #[arg(long, conflicts_with_all = ["json", "why", "all", "compact"])]
    live: bool,
    /// Print one line about the run only
    #[arg(long, conflicts_with_all = ["json", "why", "all"])]
    compact: bool,
    /// Print the reason why each stage waits
    #[arg(long)]
    why: bool,
    /// Print every stage, even if there are many
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: OutputFormat,
}

/// Whether the table has a column with the reason why each stage waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reasons {
    Left,
    Told,
}

#[derive(Serialize)]
struct StatusText<'a> {
    v: u32,
    #[serde(flatten)]
    status: serde_json::Map<String, serde_json::Value>,
    run: Option<json::RunJson<'a>>,
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    if args.live {
        return live::run(cx, args.plan.as_deref());
    }
    let want = if args.all || args.format.is_json() { BoardPart::All } else { BoardPart::Telling };
    let shown = selection::find_part(cx, args.plan.as_deref(), want)?;
    if args.compact {
        return compact(shown.as_ref(), cx);
    }
    let world = cx.world()?;
    let status = gather(&world, cx)?;
    let seen = shown.as_ref().map(SelectedRun::seen).unwrap_or_default();
    let view = shown.as_ref().map(|shown| shown.view(&seen, cx.now));
    let beside = shown.as_ref().map(|shown| LiveStatus::read(shown, &world)).unwrap_or_default();
    if args.format.is_json() {
        let others = shown.as_ref().map_or(&[][..], |shown| &shown.others);
        let run = view.as_ref().map(|view| json::RunJson::new(view, &beside, others));
        let status = json!({"sessions": status.sessions, "obligations": status.obligations, "debts": status.debts, "tracker": status.tracker, "backends": [], "warnings": status.warnings, "off": status.off});
        let status = status.as_object().cloned().unwrap_or_default();
        output::json_of(&StatusText { v: 1, status, run });
        return Ok(CommandEnd::Done);
    }
    if let Some(view) = &view {
        let which = if args.all { StageFilter::All } else { StageFilter::Telling };
        let reasons = if args.why { Reasons::Told } else { Reasons::Left };
        table::tell(view, which, reasons);
        work::tell(view, &beside, reasons);
        table::attention(view);
    }
    tell(&status);
    Ok(CommandEnd::Done)
}

/// Facts that are not in the records of a run.
struct LiveStatus {
    runner: RunOwner,
    landed: LandedState,
    /// The checkout in which git runs.
    root: Option<PathBuf>,
}

impl Default for LiveStatus {
    fn default() -> LiveStatus {
        LiveStatus { runner: RunOwner::Unknown, landed: LandedState::Unknown, root: None }
    }
}

impl LiveStatus {
    fn read(shown: &SelectedRun, world: &World<'_>) -> LiveStatus {
        let board = &shown.board;
        let is_merged = board.rest.progress.done > 0 || board.rows.iter().any(|row| row.merged.is_some());
        // Git runs only if there is merged work.
        let landed = if is_merged {
            LandedState::read(world.places.worktree.as_deref(), board)
        } else {
            LandedState::Unknown
        };
        let root = world.places.worktree.clone();
        LiveStatus { runner: beside::runner(&shown.dir, board.plan.as_str()), landed, root }
    }
}

fn compact(shown: Option<&SelectedRun>, cx: &CommandCx) -> CommandResult {
    let Some(shown) = shown else {
        output::line("no plan was run here");
        return Ok(CommandEnd::Done);
    };
    let seen = shown.seen();
    output::line(table::compact(&shown.view(&seen, cx.now)));
    Ok(CommandEnd::Done)
}

fn gather(world: &World<'_>, cx: &CommandCx) -> Result<StatusView, Failure> {
    let store = world.store();
    let sessions: SessionList = projections::load_all(&store)?;
    let is_live = |row: &&sprag_govern::history::SessionRow| {
        !row.ended && cx.now.seconds_since(row.last) < LIVE_SECONDS
    };
    let mut obligations: Vec<OpenObligation> = Vec::new();
    for path in journal::all(&store) {
        let Ok((loaded, records)) = journal::read(&path) else {
            continue;
        };
        let Some(session) = records.last().and_then(|record| record.session.clone()) else {
            continue;
        };
        let obligations_of = loaded.session.open(&session);
        obligations.extend(obligations_of.into_iter().map(|owed| OpenObligation {
            session: session.clone(),
            gate: owed.gate,
            duty: owed.obligation.duty.name(),
            why: owed.obligation.reason.why,
            next: owed.obligation.reason.next,
        }));
    }
    let debts = projections::load::<Debts>(&store)?.state;
    let off = world.config.off.applies(&store.dir, cx.now).map(|span| match span.until {
        Some(until) => format!("off until {until}"),
        None => "off until `sprag on`".to_owned(),
    });
    Ok(StatusView {
        sessions: sessions.rows().into_iter().filter(is_live).cloned().collect(),
        obligations,
        debts: debts.open().to_vec(),
        tracker: reflection::tracker(world).name,
        warnings: world.config.warnings.clone(),
        off,
    })
}

fn tell(status: &StatusView) {
    if let Some(off) = &status.off {
        output::line(format!("sprag is {off}\n  next: sprag on"));
    }
    for warning in &status.warnings {
        output::line(format!("warning: {warning}\n  next: sprag config show"));
    }
    output::line(format!("live sessions: {}", status.sessions.len()));
    for row in &status.sessions {
        output::line(format!(
            "  {}  {}  {} events, {} holds",
            row.id.as_str(),
            row.client,
            row.events,
            row.holds
        ));
    }
    output::line(format!("open obligations: {}", status.obligations.len()));
    for open in &status.obligations {
        // The other lines are instructions for the agent.
        let why = open.why.as_str().lines().next().unwrap_or_default();
        output::line(format!("  {} ({}): {why}\n    next: {}", open.duty, open.session.as_str(), open.next));
    }
    output::line(format!("debts: {}", status.debts.len()));
    for open in &status.debts {
        let debt = &open.debt;
        output::line(format!("  {} ({}): {}", debt.id, debt.duty.name(), debt.why));
    }
    if !status.debts.is_empty() {
        output::next("sprag debt list");
    }
    output::line(format!("tracker: {}", status.tracker));
}
