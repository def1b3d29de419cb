//! A model that ignores all holds may stop after the limit, and the next session gets a message about the
//! debt.

use super::{Case, ended_well, outline, told, write_many};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::Script;

pub const CASE: Case = Case {
    name: "ignored",
    shows: "a session that neither reflects nor skips may stop after three holds; the next session gets a message about the debt",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    let run = rig.run(Script::ending("All done.").then(write_many(rig.client)), Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    let holds = told(&main).len();
    expect(holds == 3, "3 holds", || format!("{holds}; {}", outline(&main)))?;
    expect(main[2].contains("this session changed 30 lines"), "the hold says why", || outline(&main))?;
    let next = rig.run(Script::ending("Hello."), Grant::Usual)?;
    ended_well(&next)?;
    let first = next.main();
    expect(first[0].contains("(reflect)"), "the next session sees the debt", || outline(&first))?;
    expect(first.len() == 1, "the debt does not hold the next session", || outline(&first))
}
