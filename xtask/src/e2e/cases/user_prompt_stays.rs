//! A neutral answer is not a permission: the client still asks its user.

use super::{Case, OURS, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "user_prompt_stays",
    shows: "a neutral answer of Sprag approves nothing that the user did not allow",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    let script = Script::ending("Then not.").then(Turn::call((rig.client.shell)("echo made > made.txt")));
    let run = rig.run(script, Grant::Nothing)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() == 2, "the model gets the result of its call", || outline(&main))?;
    expect(!main[1].contains(OURS), "Sprag sent no message", || outline(&main))?;
    expect(rig.file("made.txt").is_none(), "the command did not write", || outline(&main))
}
