//! `sprag status`: what is open, and the command that settles it.

use serde_json::json;
use sprag_core::obligation::Debts;
use sprag_core::view::{Open, Sessions, Status};
use sprag_host::reports::LIVE_SECONDS;
use sprag_host::walk::World;
use sprag_host::{facts, journal, projections};

use super::{Cx, Outcome, show};
use crate::failure::Failure;
use crate::output;

/// Show live sessions, open obligations and debts
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    let world = cx.world()?;
    let status = gather(&world, cx)?;
    show(
        args.json,
        || json!({"sessions": status.sessions, "obligations": status.obligations, "debts": status.debts, "tracker": status.tracker, "backends": [], "run": null, "warnings": status.warnings, "off": status.off}),
        || tell(&status),
    )
}

fn gather(world: &World<'_>, cx: &Cx) -> Result<Status, Failure> {
    let store = world.store();
    let sessions: Sessions = projections::load_all(&store)?;
    let is_live =
        |row: &&sprag_core::view::SessionRow| !row.ended && cx.now.seconds_since(row.last) < LIVE_SECONDS;
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
        tracker: facts::tracker(world).name,
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
        output::line("  next: sprag debt list");
    }
    output::line(format!("tracker: {}", status.tracker));
}
