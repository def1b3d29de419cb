//! Sprag is installed but not needed: the model must not read its name, and the worktree must not show it.

use std::fs;

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "plain",
    shows: "a plain run in a bare repository: no message of Sprag, no file in the worktree",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    let client = rig.client;
    let script = Script::ending("All done.")
        .then(Turn::call((client.shell)("echo hello > a.txt")))
        .then(Turn::call((client.read)("a.txt")));
    let run = rig.run(script, Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() == 3, "three requests: at the start and after each tool", || outline(&main))?;
    expect(main[2].last_result.contains("hello"), "the model reads what it wrote", || outline(&main))?;

    let ours = run.requests.iter().find_map(|request| request.text_from("sprag"));
    expect(ours.is_none(), "no request names Sprag", || short(&ours.clone().unwrap_or_default()))?;
    let changes = rig.place.changes()?;
    expect(changes == ["?? a.txt"], "the worktree differs only by `?? a.txt`", || format!("{changes:?}"))?;
    expect(
        !rig.place.project().join(".sprag").exists(),
        "no `.sprag` in the worktree",
        || "`.sprag` exists",
    )?;
    let store = fs::read_dir(rig.place.project().join(".git").join("sprag"));
    let filled = store.is_ok_and(|mut entries| entries.next().is_some());
    expect(
        filled,
        "the state is below `.git/sprag`",
        || "the directory is empty; the hooks probably did not run",
    )
}
