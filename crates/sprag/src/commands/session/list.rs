//! `sprag session list`: lists the sessions of this clone and the agents of its runs.

use serde::Serialize;
use serde_json::json;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::history::SessionList;
use sprag_host::store::projections;
use sprag_orchestrator::session_dir::{SessionDir, SessionProbe, site_of};
use sprag_orchestrator::{run_log, view};
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::timed::Timed;

use crate::commands::run::selection;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// List sessions and agents of runs, newest first
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Maximum number of results
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    format: OutputFormat,
}

/// An agent of a run.
#[derive(Serialize)]
struct AgentRow {
    session_id: String,
    stage_id: String,
    plan: String,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    state: &'static str,
    /// The session id of the client.
    client_session: Option<Text<100>>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let sessions: SessionList = projections::load_all(&cx.world()?.store())?;
    let rows: Vec<_> = sessions.rows().into_iter().take(args.limit).collect();
    let agents = agents(cx, args.limit)?;
    show(
        args.format,
        || json!({ "sessions": rows, "agents": agents }),
        || {
            if rows.is_empty() && agents.is_empty() {
                output::line("no sessions here yet\n  next: sprag doctor");
                return;
            }
            let cells = rows.iter().map(|row| {
                let state = if row.ended { "ended" } else { "open" };
                vec![
                    row.id.as_str().to_owned(),
                    row.client.to_string(),
                    row.last.to_string(),
                    row.events.to_string(),
                    row.holds.to_string(),
                    state.to_owned(),
                    row.prompt.to_string(),
                ]
            });
            if !rows.is_empty() {
                output::table(
                    &["session", "client", "last event", "events", "holds", "state", "prompt"],
                    &cells.collect::<Vec<_>>(),
                );
            }
            tell(&agents);
        },
    )
}

fn tell(agents: &[AgentRow]) {
    if agents.is_empty() {
        return;
    }
    let time = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| at.to_string());
    let cells = agents.iter().map(|agent| {
        vec![
            agent.session_id.clone(),
            agent.plan.clone(),
            agent.stage_id.clone(),
            time(agent.began),
            time(agent.ended),
            agent.state.to_owned(),
        ]
    });
    output::table(&["agent", "plan", "stage", "began", "ended", "state"], &cells.collect::<Vec<_>>());
}

fn agents(cx: &CommandCx, limit: usize) -> Result<Vec<AgentRow>, Failure> {
    let dir = selection::dir(cx)?;
    let unread = |error| Failure::run_unread(&error);
    let mut found = Vec::new();
    for listed in view::list(&dir).map_err(unread)? {
        if let Some((timed, _)) = run_log::read_to_end(&listed.log).map_err(unread)? {
            found.extend(of_run(&timed, &listed.plan));
        }
    }
    found.sort_by(|(a, _), (b, _)| b.began.cmp(&a.began).then_with(|| a.session_id.cmp(&b.session_id)));
    found.truncate(limit);
    Ok(found
        .into_iter()
        .map(|(mut agent, key)| {
            let site = site_of(&dir, &key);
            agent.client_session = site.seen().and_then(|seen| seen.client_session);
            if agent.ended.is_none() {
                agent.state = standing(&site);
            }
            agent
        })
        .collect())
}

/// Returns the state of an agent whose end is not recorded. A killed daemon records no end.
fn standing(site: &SessionDir) -> &'static str {
    match site.probe() {
        Ok(SessionProbe::Running) => "at work",
        Ok(SessionProbe::Ended(_) | SessionProbe::Died) => "gone",
        Ok(SessionProbe::Nothing) | Err(_) => "open",
    }
}

fn of_run(timed: &Timed, plan: &str) -> Vec<(AgentRow, EffectKey)> {
    let run = timed.run();
    let agent = |(key, stage): (&EffectKey, &StageId)| {
        let agent = AgentRow {
            session_id: key.0.to_string(),
            stage_id: stage.as_str().to_owned(),
            plan: plan.to_owned(),
            began: timed.session(key),
            ended: run.ended(key).map(|(_, at)| *at),
            state: "ended",
            client_session: None,
        };
        (agent, key.clone())
    };
    run.sessions().map(agent).collect()
}
