//! A model that cannot or will not fix its work may stop after a few holds, and Sprag records the debt.

use super::{Case, ended_well, outline, told, write_conflict};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::Script;

pub const CASE: Case = Case {
    name: "bounded",
    shows: "three holds, then the turn ends and leaves one debt",
    hooks: Hooks::UserSettings,
    play,
};

/// The default of `circuit_breaker.max_blocks`.
const HOLDS: usize = 3;

pub fn play(rig: &mut Rig) -> Checked {
    let script = Script::ending("All done.").then(write_conflict(rig.client));
    let run = rig.run(script, Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    let holds = told(&main).len();
    expect(holds == HOLDS, &format!("{HOLDS} holds"), || format!("{holds}; {}", outline(&main)))?;
    // The start and the result of the one command, then one request for each hold.
    let requests = 2 + HOLDS;
    expect(main.len() == requests, &format!("{requests} requests"), || outline(&main))?;
    let list = rig.sprag_json(&["debt", "list", "--json"])?;
    let one = list["v"] == 1 && list["debts"].as_array().is_some_and(|debts| debts.len() == 1);
    expect(one, "`sprag debt list --json` has `v` 1 and one debt", || short(&list.to_string()))
}
