//! The model sends a report from inside its sandbox, where `.git` may be read-only, and the report still
//! arrives.

use serde_json::Value;

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig, Sandbox};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "sandboxed_report",
    shows: "`sprag observe`, run by the model in its shell, is one record of its session",
    hooks: Hooks::UserSettings,
    play,
};

const NOTE: &str = "the parser wants a trailing newline";
const WITNESS: &str = ".git/witness";

fn play(rig: &mut Rig) -> Checked {
    if let Sandbox::Broken(why) = rig.sandbox {
        return Err(Stopped::Skipped { why: why.clone() });
    }
    let shell = rig.client.shell;
    let mut commands = vec![format!("sprag observe \"{NOTE}\"")];
    if matches!(rig.sandbox, Sandbox::Works) {
        commands.push(format!("touch {WITNESS}"));
    }
    let turns = commands.iter().map(|command| Turn::call(shell(command)).into());
    let run = rig.run(Script::ending("Noted.").then_all(turns), Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    let requests = 1 + commands.len();
    expect(main.len() == requests, &format!("{requests} requests"), || outline(&main))?;
    // Without a read-only `.git` the command would run outside the sandbox and prove nothing.
    expect(rig.file(WITNESS).is_none(), "`.git` is read-only for the model", || "the model wrote there")?;
    let Some(session) = &run.session else {
        let saw = short(&run.finished.stdout);
        return Err(Stopped::missed("the client prints the id of its session", saw));
    };
    let data = rig.sprag_json(&["session", "records", session, "--json"])?;
    let mut notes = Vec::new();
    collect(&data, &mut notes);
    let one = matches!(notes.as_slice(), [note] if note.to_string().contains(NOTE));
    expect(one, &format!("one record of kind `observed` with `{NOTE}`"), || {
        let said = outline(&main[..2]);
        format!("{} records: {notes:?}; the command's request: {said}", notes.len())
    })
}

/// Collects all notes, at any depth of the object.
fn collect<'a>(value: &'a Value, notes: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) if fields.get("kind").is_some_and(|kind| kind == "observed") => {
            notes.push(value)
        }
        Value::Object(fields) => fields.values().for_each(|field| collect(field, notes)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, notes)),
        _ => {}
    }
}
