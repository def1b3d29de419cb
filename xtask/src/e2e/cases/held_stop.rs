//! The main case: unfinished work holds the stop, with a reason that the agent can act on.

use super::{Case, NOTES, OURS, ended_well, outline, repair_conflict, told, write_conflict};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "held_stop",
    shows: "conflict markers hold the stop until the model has removed them",
    hooks: Hooks::UserSettings,
    play,
};

pub fn play(rig: &mut Rig) -> Checked {
    let script = Script::ending("Now it is clean.")
        .then(write_conflict(rig.client))
        .then(Turn::say("All done."))
        .then(repair_conflict(rig.client));
    let run = rig.run(script, Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    let told = told(&main);
    let [(2, request)] = told.as_slice() else {
        let requests: Vec<usize> = told.iter().map(|(i, _)| i + 1).collect();
        let saw = format!("holds in requests {requests:?} of {}", outline(&main));
        return Err(Stopped::missed("one hold, in the third request", saw));
    };
    let reason = request.text_from(OURS).unwrap_or_default();
    expect(reason.contains(NOTES), &format!("the reason names `{NOTES}`"), || short(&reason))?;
    expect(main.len() == 4, "four requests: write, stop, repair, stop", || outline(&main))?;
    let notes = rig.file(NOTES).unwrap_or_default();
    expect(notes == "clean\n", "the file is clean at the end", || notes.clone())
}
