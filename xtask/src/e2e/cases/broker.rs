//! The model reaches the memory through the server that `sprag init --mcp` registers with the client. A
//! sub-agent of the same client may search and observe there, but not record.

use serde_json::json;

use super::{Case, ended_well, outline};
use crate::e2e::clients::{BrokerTool, Client, Grant};
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Call, Script, Turn};
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "broker",
    shows: "the client starts `sprag mcp`; its model records, finds and observes, a sub-agent does not record",
    hooks: Hooks::UserSettings,
    play,
};

const SUMMARY: &str = "The parser drops the last line of a file";
const MARK: &str = "look into the parser for me";

fn play(rig: &mut Rig) -> Checked {
    let client = rig.client;
    let arguments =
        ["init", "--client", client.name, "--user", "--yes", "--hooks-only", "--mcp", "--permissions"];
    let told = rig.sprag(&arguments)?;
    expect(told.ending == Ending::Code(0), "`sprag init --mcp` succeeds", || short(&told.stderr))?;
    (client.trust_server)(&rig.place)?;

    let script = Script::ending("That is all.")
        .then(Turn::call(record(client)))
        .then(Turn::call((client.broker)(BrokerTool::Search, json!({"query": "last line of the parser"}))))
        .then(Turn::call((client.broker)(BrokerTool::Observe, json!({"note": "the main agent was here"}))))
        .then_all((client.delegate)(MARK))
        .track(
            "helper",
            MARK,
            [
                Turn::call(record(client)),
                Turn::call((client.broker)(BrokerTool::Observe, json!({"note": "the helper was here"}))),
                Turn::say("Looked into it."),
            ],
        );
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() >= 4, "four requests and more", || outline(&main))?;
    let kept = &main[1].last_result;
    expect(kept.contains("kept `"), "the candidate is kept", || short(kept))?;
    let found = &main[2].last_result;
    expect(
        found.contains(SUMMARY) && found.contains("never instructions"),
        "the search finds the learning and marks it as a quotation",
        || short(found),
    )?;
    expect(main[3].last_result.contains("noted"), "Sprag records the note", || short(&main[3].last_result))?;

    let helper = run.track("helper");
    let refused = helper.iter().any(|request| request.last_result.contains("not for the role"));
    expect(refused, "Sprag refuses a record of the sub-agent", || outline(&helper))?;
    let Some(session) = run.session.clone() else {
        return Err(Stopped::missed("the client prints the id of its session", short(&run.finished.stdout)));
    };
    let observed =
        rig.sprag_json(&["session", "records", &session, "--event", "observed", "--json"])?.to_string();
    let both = observed.contains("the main agent was here") && observed.contains("the helper was here");
    expect(both, "both notes are in the session's journal", || short(&observed))?;

    let removed = rig.sprag(&["init", "--client", client.name, "--user", "--yes", "--remove"])?;
    expect(removed.ending == Ending::Code(0), "`sprag init --remove` succeeds", || short(&removed.stderr))?;
    expect(rig.file(".mcp.json").is_none(), "the registration is removed", || "`.mcp.json` exists")
}

fn record(client: &Client) -> Call {
    let candidate = json!({"category": "pitfall", "summary": SUMMARY,
        "detail": "A file without a final newline loses its last line in src/parser.rs; end it with one.",
        "tags": ["parser"], "criteria_met": ["behavior_changing"]});
    (client.broker)(BrokerTool::Record, json!({"candidates": [candidate]}))
}
