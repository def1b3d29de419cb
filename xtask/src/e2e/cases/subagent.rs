//! A sub-agent's end is its parent's matter: what the session owes is asked of the session.

use super::{Case, OURS, ended_well, outline, repair_conflict, told, write_conflict};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "subagent",
    shows: "a sub-agent's stop is not held while the session owes something; the session's is",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    let client = rig.client;
    let script = Script::ending("Now it is clean.")
        .then(write_conflict(client))
        .then_all((client.delegate)("PART-SEVEN: write the file"))
        .then(Turn::say("All done."))
        .then(repair_conflict(client))
        .track(
            "sub",
            "PART-SEVEN",
            [Turn::call((client.shell)("echo part > part.txt")), Turn::say("The part is done.")],
        );
    let run = rig.run(script, Grant::Usual)?;
    ended_well(&run)?;
    let (main, sub) = (run.main(), run.track("sub"));
    expect(rig.file("part.txt").is_some(), "the sub-agent's command ran", || outline(&main))?;
    // A hold would ask it a third time.
    expect(sub.len() == 2, "two requests of the sub-agent: its start and its command's result", || {
        outline(&sub)
    })?;
    expect(!sub.iter().any(|request| request.contains(OURS)), "the sub-agent is told nothing", || {
        outline(&sub)
    })?;
    let holds = told(&main).len();
    expect(holds == 1, "the session itself is held once", || format!("{holds}; {}", outline(&main)))
}
