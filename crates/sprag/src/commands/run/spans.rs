//! `sprag run spans`: prints a run as an OpenTelemetry trace.

use sprag_base::ids::SessionId;
use sprag_host::store::projections;
use sprag_orchestrator::run_log;
use sprag_orchestrator::session_dir::site_of;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::EffectKey;
use sprag_plan::otel::Spans;

use super::selection;
use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

/// Print a run as an OpenTelemetry trace
///
/// Prints one JSON object with steps, agents and tool calls, in the form that collectors accept at
/// `/v1/traces`. Sends nothing. Agents get `TRACEPARENT`, so that spans of their clients join the same trace.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan (default: the run with the latest change)
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let unread = |error| Failure::run_unread(&error);
    let listed = selection::listed(cx, args.plan.as_deref())?;
    let mut spans: Option<Spans> = None;
    run_log::each(&listed.log, 0, |record, at| match &mut spans {
        None => spans = Spans::begin(&record, at),
        Some(spans) => spans.apply(&record, at),
    })
    .map_err(unread)?;
    let mut spans = spans.ok_or_else(|| Failure::no_run(args.plan.as_deref()))?;
    let dir = selection::dir(cx)?;
    let seen = |session: &EffectKey| Some((session.clone(), site_of(&dir, session).seen()?));
    let seen: Vec<(EffectKey, AgentActivity)> = spans.sessions().filter_map(seen).collect();
    let called =
        |seen: &AgentActivity| seen.client_session.as_ref().map(|name| SessionId::new(name.as_str()));
    let names = seen.iter().filter_map(|(_, seen)| called(seen));
    let records = projections::records_of_each(&cx.world()?.store(), names)?;
    for (session, seen) in &seen {
        let records = called(seen).and_then(|name| records.get(&name));
        spans.see(session, seen, records.map(Vec::as_slice).unwrap_or_default());
    }
    output::line(spans.otlp(env!("CARGO_PKG_VERSION")).to_string());
    Ok(CommandEnd::Done)
}
