//! `sprag status`: what is open, and the command that settles it.

mod json;
mod live;
mod table;
mod work;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use sprag_govern::history::{Open, Sessions, Status};
use sprag_govern::obligation::Debts;
use sprag_host::answers;
use sprag_host::store::session_registry::LIVE_SECONDS;
use sprag_host::store::{journal, projections};
use sprag_host::world::World;
use sprag_orchestrator::view::live::{Landed, Runner};
use sprag_orchestrator::view::{Want, live as beside};

use super::run::selection::{self, Shown};
use super::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;
use table::Which;

/// Show the run of a plan, live sessions, open obligations and debts
///
/// A run is read from its records, whether anybody is running it or not. What is not known is `?`.
#[derive(clap::Args)]
pub struct Args {
    /// The run of this plan; else the one that moved last
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
    /// A screen that stays, until `q`
    #[arg(long, conflicts_with_all = ["json", "why", "all", "compact"])]
    live: bool,
    /// Only one line about the run
    #[arg(long, conflicts_with_all = ["json", "why", "all"])]
    compact: bool,
    /// Tell why each stage is not further
    #[arg(long)]
    why: bool,
    /// Show every stage, however many there are
    #[arg(long)]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Whether it is told why each stage is not further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasons {
    Left,
    Told,
}

#[derive(Serialize)]
struct Told<'a> {
    v: u32,
    #[serde(flatten)]
    status: serde_json::Map<String, serde_json::Value>,
    run: Option<json::Run<'a>>,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    if args.live {
        return live::run(cx, args.plan.as_deref());
    }
    let want = if args.all || args.json { Want::All } else { Want::Telling };
    let shown = selection::look(cx, args.plan.as_deref(), want)?;
    if args.compact {
        return compact(shown.as_ref(), cx);
    }
    let world = cx.world()?;
    let status = gather(&world, cx)?;
    let seen = shown.as_ref().map(Shown::seen).unwrap_or_default();
    let view = shown.as_ref().map(|shown| shown.view(&seen, cx.now));
    let beside = shown.as_ref().map(|shown| Beside::look(shown, &world)).unwrap_or_default();
    if args.json {
        let others = shown.as_ref().map_or(&[][..], |shown| &shown.others);
        let run = view.as_ref().map(|view| json::Run::of(view, &beside, others));
        let status = json!({"sessions": status.sessions, "obligations": status.obligations, "debts": status.debts, "tracker": status.tracker, "backends": [], "warnings": status.warnings, "off": status.off});
        let status = status.as_object().cloned().unwrap_or_default();
        output::json_of(&Told { v: 1, status, run });
        return Ok(Ending::Done);
    }
    if let Some(view) = &view {
        let which = if args.all { Which::All } else { Which::Telling };
        let reasons = if args.why { Reasons::Told } else { Reasons::Left };
        table::tell(view, which, reasons);
        work::tell(view, &beside, reasons);
        table::attention(view);
    }
    tell(&status);
    Ok(Ending::Done)
}

/// What is not in the records of a run.
struct Beside {
    runner: Runner,
    landed: Landed,
    /// The checkout it is asked about from.
    root: Option<PathBuf>,
}

impl Default for Beside {
    fn default() -> Beside {
        Beside { runner: Runner::Unknown, landed: Landed::Unknown, root: None }
    }
}

impl Beside {
    fn look(shown: &Shown, world: &World<'_>) -> Beside {
        let board = &shown.board;
        let is_merged = board.rest.progress.done > 0 || board.rows.iter().any(|row| row.merged.is_some());
        // Git is asked only where there is something to be told.
        let landed = match is_merged {
            true => Landed::look(world.places.worktree.as_deref(), board),
            false => Landed::Unknown,
        };
        let root = world.places.worktree.clone();
        Beside { runner: beside::runner(&shown.dir, board.plan.as_str()), landed, root }
    }
}

fn compact(shown: Option<&Shown>, cx: &Cx) -> Outcome {
    let Some(shown) = shown else {
        output::line("no plan was run here");
        return Ok(Ending::Done);
    };
    let seen = shown.seen();
    output::line(table::compact(&shown.view(&seen, cx.now)));
    Ok(Ending::Done)
}

fn gather(world: &World<'_>, cx: &Cx) -> Result<Status, Failure> {
    let store = world.store();
    let sessions: Sessions = projections::load_all(&store)?;
    let is_live = |row: &&sprag_govern::history::SessionRow| {
        !row.ended && cx.now.seconds_since(row.last) < LIVE_SECONDS
    };
    let mut obligations: Vec<Open> = Vec::new();
    for path in journal::all(&store) {
        let Ok((loaded, records)) = journal::read(&path) else {
            continue;
        };
        let Some(session) = records.last().and_then(|record| record.session.clone()) else {
            continue;
        };
        let obligations_of = loaded.session.open(&session);
        obligations.extend(obligations_of.into_iter().map(|owed| Open {
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
    Ok(Status {
        sessions: sessions.rows().into_iter().filter(is_live).cloned().collect(),
        obligations,
        debts: debts.open().to_vec(),
        tracker: answers::tracker(world).name,
        warnings: world.config.warnings.clone(),
        off,
    })
}

fn tell(status: &Status) {
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
        // What follows the first line tells the agent what to do.
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
