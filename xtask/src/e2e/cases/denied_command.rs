//! A command that a rule denies does not run, even inside other commands, and the model gets the reason. The
//! same words as plain text pass.

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "denied_command",
    shows: "a denied command does not run and returns the reason; the same words as text pass",
    hooks: Hooks::UserSettings,
    play,
};

const DENIED: &[(&str, &str)] = &[
    ("git reset --hard && touch reset.txt", "core.git-reset"),
    ("cd . && timeout 5 bash -lc 'touch pushed.txt; git push --force'", "core.git-push-force"),
];
const PROSE: &str = "echo 'never git reset --hard, never rm -rf /' > advice.txt";

fn play(rig: &mut Rig) -> Checked {
    let mut script = Script::ending("I found another way.");
    let commands = DENIED.iter().map(|(command, _)| *command).chain([PROSE]);
    for command in commands {
        script = script.then(Turn::call((rig.client.shell)(command)));
    }
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() == DENIED.len() + 2, "the run continues after each denial", || outline(&main))?;
    for (request, (command, rule)) in main.iter().skip(1).zip(DENIED) {
        let result = &request.last_result;
        expect(result.contains(rule), &format!("the result of `{command}` names `{rule}`"), || {
            short(result)
        })?;
        expect(result.contains("sprag approve"), "the result names `sprag approve`", || short(result))?;
    }
    expect(rig.file("advice.txt").is_some(), "the harmless command ran", || outline(&main))?;
    let ran = ["reset.txt", "pushed.txt"].into_iter().find(|name| rig.file(name).is_some());
    expect(ran.is_none(), "no part of a denied command ran", || format!("{ran:?}"))
}
