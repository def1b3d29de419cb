//! `sprag config gates`: lists the gates with their settings and the state of a session.

use serde_json::json;

use sprag_govern::gates::ALL;
use sprag_host::store::journal;
use sprag_host::{config, report};

use crate::commands::{CommandCx, CommandResult, show, warn};
use crate::output::{self, OutputFormat};

/// List the gates with their settings
///
/// With `--session`, also prints the state of that session in each gate.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Session id, or its first characters
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    warn(&world);
    let states = match &args.session {
        None => Vec::new(),
        Some(named) => {
            let session = report::find_session::find_session(&world, Some(named), cx.now)?;
            let read = journal::read(&journal::path(&world.store(), &session));
            read.map(|(loaded, _)| loaded.session.gate_states()).unwrap_or_default()
        }
    };
    let settings = config::load(&world.places, &cx.env).settings;
    let rows: Vec<_> = ALL
        .iter()
        .map(|gate| {
            let sections = || std::iter::once(gate.section).chain(gate.more);
            let keys = sections().flat_map(|section| {
                section.keys.iter().map(move |key| format!("{}.{}", section.name, key.name))
            });
            let set: Vec<(String, String)> =
                keys.filter_map(|key| Some((key.clone(), settings.get(&key)?.value.to_string()))).collect();
            let state = states.iter().find(|(name, _)| *name == gate.name).map(|(_, state)| *state);
            (gate, set, state)
        })
        .collect();
    show(
        args.format,
        || {
            let gates: Vec<_> = rows
                .iter()
                .map(|(gate, set, state)| {
                    let policy: serde_json::Map<_, _> =
                        set.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
                    json!({"name": gate.name, "about": gate.about, "state": state, "policy": policy})
                })
                .collect();
            json!({ "gates": gates })
        },
        || {
            for (gate, set, state) in &rows {
                let state = state.map(|state| format!("  [{state}]")).unwrap_or_default();
                output::line(format!("{}{state}  {}", gate.name, gate.about));
                for (key, value) in set {
                    output::line(format!("  {key} = {value}"));
                }
            }
        },
    )
}
