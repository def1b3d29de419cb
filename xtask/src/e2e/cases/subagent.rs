//! The obligations of a session hold the session, not its sub-agents.

use super::{Case, OURS, ended_well, outline, repair_conflict, told, write_conflict};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "subagent",
    shows: "an obligation of the session does not hold a sub-agent's stop; it holds the session's stop",
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
    // A hold would cause a third request.
    expect(sub.len() == 2, "two requests of the sub-agent: its start and its command's result", || {
        outline(&sub)
    })?;
    expect(!sub.iter().any(|request| request.contains(OURS)), "the sub-agent gets no message", || {
        outline(&sub)
    })?;
    let holds = told(&main).len();
    expect(holds == 1, "the session itself is held once", || format!("{holds}; {}", outline(&main)))
}
