//! The model cannot delete or write Sprag's own store, with any tool.

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "denied_tool",
    shows: "a call that would touch the store does not run, the model gets the reason, the run continues",
    hooks: Hooks::UserSettings,
    play,
};

/// The prefix of every refusal; the named rule depends on the call.
const CODE: &str = "sprag:";

fn play(rig: &mut Rig) -> Checked {
    let store = rig.place.project().join(".git").join("sprag");
    let forged = store.join("log").join("x.jsonl");
    // The second half of each command is the witness, because the next hook would create a removed store
    // again. All clients refuse `rm -rf` themselves, but some do not refuse `mv`.
    let shell = rig.client.shell;
    let mut calls = vec![
        shell("rm -rf .git/sprag && touch removed.txt"),
        shell("mv .git/sprag elsewhere && touch moved.txt"),
    ];
    calls.extend(rig.client.write.map(|write| write(&forged, "{}\n")));
    let tries = calls.len();
    let mut script = Script::ending("I leave it alone.");
    for call in calls {
        script = script.then(Turn::call(call));
    }
    // The widest grant of the client. Claude Code would still ask before it touches `.git`; there the reason
    // in the result shows that Sprag answered first.
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() == 1 + tries, "the run continues after each denial, and ends", || outline(&main))?;
    for (i, request) in main.iter().enumerate().skip(1) {
        // Only the result of the call counts: a note beside the client's own refusal is not a denial.
        let result = &request.last_result;
        expect(result.contains(CODE), &format!("the result of call {i} says `{CODE}`"), || short(result))?;
    }
    let changes = rig.place.changes()?;
    expect(changes.is_empty(), "neither shell command ran", || format!("{changes:?}"))?;
    expect(store.is_dir(), "the store is still there", || "the store is missing")?;
    expect(!forged.exists(), "no file was written into the store", || "a file exists")
}
