//! `sprag config clients`: lists the known clients, their abilities and their last events.

use serde_json::{Value, json};

use sprag_govern::history::SessionList;
use sprag_host::clients::{CLIENTS, Client};
use sprag_host::store::projections;

use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// List the clients that Sprag knows, with abilities and last event
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let sessions: SessionList = match cx.world() {
        Ok(world) => projections::load_all(&world.store())?,
        Err(_) => SessionList::default(),
    };
    let last = |client: &Client| {
        let seen = sessions.rows().into_iter().find(|row| row.client.as_str() == client.name);
        seen.map(|row| row.last.to_string())
    };
    show(
        args.format,
        || {
            let clients: Vec<Value> = CLIENTS.iter().map(|client| {
                let can: serde_json::Map<String, Value> =
                    client.can.iter().map(|(can, support)| (can.name().replace([' ', '-'], "_"), json!(support.name()))).collect();
                json!({"name": client.name, "title": client.title, "tested": client.tested, "last_event": last(client), "can": can})
            }).collect();
            json!({ "clients": clients })
        },
        || {
            for client in CLIENTS {
                let seen = last(client).unwrap_or_else(|| "never".to_owned());
                output::line(format!(
                    "{} ({}), tested with {}, last event here: {seen}",
                    client.name, client.title, client.tested
                ));
            }
            let names: Vec<&str> =
                std::iter::once("can").chain(CLIENTS.iter().map(|client| client.name)).collect();
            let rows: Vec<Vec<String>> = CLIENTS[0]
                .can
                .iter()
                .map(|(can, _)| {
                    let told = |client: &&Client| {
                        let found = client.can.iter().find(|(other, _)| other == can);
                        found.map_or("?", |(_, support)| support.name()).to_owned()
                    };
                    std::iter::once(can.name().to_owned()).chain(CLIENTS.iter().map(told)).collect()
                })
                .collect();
            output::line("");
            output::table(&names, &rows);
        },
    )
}
