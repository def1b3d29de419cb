//! Sprag shows a debt exactly once: to the next session, and to no later one.

use super::{Case, OURS, bounded, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::Script;

pub const CASE: Case = Case {
    name: "session_start_context",
    shows: "a debt is in the first request of the next session, and of no later one",
    hooks: Hooks::UserSettings,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    bounded::play(rig)?;
    // These sessions change nothing, so nothing holds their stops, whatever the files contain.
    for (session, due) in [("second", true), ("third", false)] {
        let run = rig.run(Script::ending("Hello."), Grant::Usual)?;
        ended_well(&run)?;
        let main = run.main();
        expect(main.len() == 1, &format!("one request in the {session} session"), || outline(&main))?;
        let expected = if due { "the debt is shown" } else { "no message is shown" };
        expect(main[0].contains(OURS) == due, &format!("{expected} in the {session} session"), || {
            short(&main[0].text_from(OURS).unwrap_or_else(|| format!("no `{OURS}` in {}", outline(&main))))
        })?;
    }
    Ok(())
}
