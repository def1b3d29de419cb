//! The model closes a ticket, Sprag holds the stop, the model reflects, and the log has the learning.

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "reflection",
    shows: "a closed ticket holds the stop until the model runs `sprag reflect`; the learning is in the log",
    hooks: Hooks::UserSettings,
    play,
};

/// A tracker that answers as its documentation says and keeps its state in a file.
const TRACKER: &str = r#"#!/bin/sh
case "$1" in
close) echo closed > "$HOME/$2"; echo "closed $2" ;;
*) exit 1 ;;
esac
"#;

const SUMMARY: &str = "the parser drops the last line of a file";

fn play(rig: &mut Rig) -> Checked {
    rig.place.stand_in("bd", TRACKER)?;
    let shell = rig.client.shell;
    let reflect = format!(
        "sprag reflect <<'END'\n{{\"candidates\": [{{\"category\": \"pitfall\", \"summary\": \"{SUMMARY}\", \
         \"detail\": \"a file without a final newline loses its last line; end it with one\", \
         \"tags\": [\"parser\"], \"criteria_met\": [\"behavior_changing\"]}}]}}\nEND"
    );
    let script = Script::ending("That is all.")
        .then(Turn::call(shell("cd . && bd close T-1")))
        .then(Turn::say("The ticket is closed."))
        .then(Turn::call(shell(&reflect)));
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let main = run.main();
    // The start, the result of the close, the hold, the result of the reflection.
    expect(main.len() == 4, "4 requests", || outline(&main))?;
    let held = main.get(2).is_some_and(|request| request.contains("`T-1` was closed"));
    expect(held, "the stop is held for `T-1`", || outline(&main))?;
    let Some(session) = run.session.clone() else {
        return Err(Stopped::missed("the client prints the id of its session", short(&run.finished.stdout)));
    };
    let told = rig.sprag_json(&["session", "records", &session, "--event", "learning.accepted", "--json"])?;
    expect(told.to_string().contains(SUMMARY), "the learning is in the log", || short(&told.to_string()))?;
    let debts = rig.sprag_json(&["debt", "list", "--json"])?;
    expect(debts["debts"].as_array().is_some_and(Vec::is_empty), "no debt is open", || {
        short(&debts.to_string())
    })
}
