//! The case `held_stop` with the hooks of the shipped plugin folder.

use super::{Case, held_stop};
use crate::e2e::outcome::{Checked, Stopped};
use crate::e2e::rig::{Hooks, Rig};

pub const CASE: Case =
    Case { name: "plugin", shows: "the plugin folder alone installs the hooks", hooks: Hooks::Plugin, play };

fn play(rig: &mut Rig) -> Checked {
    let hooks = rig.plugin.map(|folder| folder.join("hooks").join("hooks.json"));
    if let Some(missing) = hooks.filter(|hooks| !hooks.is_file()) {
        return Err(Stopped::Skipped { why: format!("no plugin: `{}` is missing", missing.display()) });
    }
    held_stop::play(rig)
}
