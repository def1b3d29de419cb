//! Waiting is not stopping: while an agent works in the background, no obligation holds a stop. The session
//! stops again after the agent ended.

use serde_json::json;

use super::{Case, OURS, ended_well, outline, told, write_many};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Call, Script, Turn};

pub const CASE: Case = Case {
    name: "background",
    shows: "a stop while an agent runs in the background is not held; the next stop is held",
    hooks: Hooks::Agents,
    play,
};

/// The agent runs until the session has tried to stop, so that it certainly runs beside a stop.
const PART: &str = "until grep -qs '\"kind\":\"stop.requested\"' .git/sprag/journal/*; do sleep 0.1; done; echo part > part.txt";

fn play(rig: &mut Rig) -> Checked {
    let client = rig.client;
    let input =
        json!({"description": "a part", "prompt": "PART-EIGHT: write the file", "run_in_background": true});
    let script = Script::ending("That is all.")
        .then(write_many(client))
        .then(Turn::call(Call { tool: "Agent", namespace: None, input }))
        .then(Turn::say("I wait for the agent."))
        .then(Turn::say("The agent is done."))
        .then(Turn::call((client.shell)("sprag skip 'a list of numbers'")))
        .track("sub", "PART-EIGHT", [Turn::call((client.shell)(PART)), Turn::say("The part is done.")]);
    let run = rig.run(script, Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    expect(rig.file("part.txt").is_some(), "the agent outlived the first stop", || outline(&main))?;
    // The start, the numbers, the launch; then the end of the agent, the hold of the second stop and the
    // result of the skip.
    let before: Vec<_> = main.iter().copied().take(4).collect();
    let quiet = !before.iter().any(|request| request.contains(OURS));
    expect(quiet, "Sprag sends no message while the agent runs", || outline(&main))?;
    let holds = told(&main).len();
    expect(holds == 1, "the next stop is held once", || format!("{holds}; {}", outline(&main)))
}
