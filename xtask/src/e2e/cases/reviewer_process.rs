//! For a client without agent types Sprag starts the reviewer as a separate process: the same client again,
//! headless. Its decision counts for the session that asked for the review.

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "reviewer_process",
    shows: "`sprag review run` starts the client again as a reviewer, whose decision ends the review",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    let client = rig.client;
    rig.put_client_on_path()?;
    let run_reviewer = format!("sprag review run --client {} --timeout 90", client.name);
    let script = Script::ending("That is all.")
        .then(Turn::call((client.shell)("echo 2+2=4 > sum.txt")))
        .then(Turn::say("The sum is there."))
        .then(Turn::call((client.shell)(&run_reviewer)))
        .track(
            "reviewer",
            "You review the work of another agent",
            [
                Turn::call((client.shell)("sprag decide COMPLETE --summary 'it adds up'")),
                Turn::say("The work is complete."),
            ],
        );
    let run = rig.run_asking("#review write the sum into sum.txt", script, Grant::Everything)?;
    ended_well(&run)?;
    let (main, reviewer) = (run.main(), run.track("reviewer"));
    // The start, the sum, the hold, the decision of the reviewer.
    expect(main.len() == 4, "4 requests of the author", || outline(&main))?;
    expect(reviewer.len() == 2, "2 requests of the reviewer", || outline(&reviewer))?;
    expect(main[3].last_talk().contains("COMPLETE"), "the author gets the decision", || outline(&main))?;
    let told = rig.sprag_json(&["review", "list", "--json"])?;
    let by = told["verdicts"][0]["by"].as_str().unwrap_or_default().to_owned();
    expect(by == format!("process {}", client.name), "the record names the reviewer process", || {
        short(&told.to_string())
    })?;
    let debts = rig.sprag_json(&["debt", "list", "--json"])?;
    expect(debts["debts"].as_array().is_some_and(Vec::is_empty), "no debt is open", || {
        short(&debts.to_string())
    })
}
