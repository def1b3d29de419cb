//! A client that skips untrusted hooks gets no stage, and Sprag does not change the trust.

use std::fs;

use super::Case;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::Script;
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "untrusted_plan",
    shows: "a plan whose client would skip the hooks is refused before the run starts",
    hooks: Hooks::Untrusted,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    rig.put_client_on_path()?;
    let settings = rig.place.home().join(".codex/config.toml");
    let before = fs::read(&settings).map_err(anyhow::Error::from)?;
    let plan = rig.place.root.join("plan.md");
    let stage = format!("{{id: a, working_dir: ., client: {}, acceptance: [\"true\"]}}", rig.client.name);
    let text = format!("# P\n\n```yaml sprag\nversion: 1\nname: p\nstages:\n  - {stage}\n```\n");
    fs::write(&plan, text).map_err(anyhow::Error::from)?;
    let run = ["run", &plan.display().to_string(), "--trust"];
    let (finished, requests) = rig.sprag_with(Script::ending("That is all."), &run)?;
    let is_told = finished.stderr.contains("would skip") && finished.stderr.contains("/hooks");
    expect(finished.ending == Ending::Code(2) && is_told, "the run is refused with the reason", || {
        format!("{:?}: {}", finished.ending, short(&finished.stderr))
    })?;
    expect(requests.is_empty(), "no agent was started", || requests.len().to_string())?;
    let after = fs::read(&settings).map_err(anyhow::Error::from)?;
    expect(before == after, "the trust of the user is unchanged", || {
        String::from_utf8_lossy(&after).into_owned()
    })
}
