//! A repository has intents. No tool may change a file before the session selects an intent, or outside the
//! scope of the intent after that. The messages of Sprag lead the model to the right commands.

use std::fs;

use serde_json::json;

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Call, Script, Turn};

pub const CASE: Case = Case {
    name: "intent",
    shows: "without an intent no tool writes; with one, Write, Edit and `sed -i` stay in its scope; the model recovers",
    hooks: Hooks::Agents,
    play,
};

const INTENTS: &str = "\
active_intents:
  - id: SRC
    name: the parser
    owned_scope: ['src/**']
  - id: DOC
    name: the guide
    owned_scope: ['docs/**']
";

const MARK: &str = "edit the guide for me";

fn play(rig: &mut Rig) -> Checked {
    let project = rig.place.project();
    for (path, text) in [(".sprag/intents.yaml", INTENTS), ("src/a.txt", "one\n"), ("docs/a.txt", "one\n")] {
        let path = project.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(anyhow::Error::from)?;
        fs::write(path, text).map_err(anyhow::Error::from)?;
    }
    let Some(write) = rig.client.write else { return Ok(()) };
    let (shell, read) = (rig.client.shell, rig.client.read);
    let at = |path: &str| project.join(path);
    let edit = |path: &str| Call {
        tool: "Edit",
        namespace: None,
        input: json!({"file_path": at(path), "old_string": "one", "new_string": "two"}),
    };
    let script = Script::ending("That is all.")
        .then(Turn::call(write(&at("src/new.txt"), "early\n")))
        .then(Turn::call(shell("sprag intent select SRC")))
        .then(Turn::call(write(&at("src/new.txt"), "in time\n")))
        .then(Turn::call(write(&at("docs/new.txt"), "astray\n")))
        .then(Turn::call(read(&at("docs/a.txt").to_string_lossy())))
        .then(Turn::call(edit("docs/a.txt")))
        .then(Turn::call(shell("sed -i s/one/three/ docs/a.txt")))
        .then(Turn::call(shell("cd docs && bash -c 'echo x > b.txt'")))
        .then_all((rig.client.delegate)(MARK))
        .then(Turn::call(shell("sprag intent select DOC")))
        .then(Turn::call(edit("docs/a.txt")))
        .track(
            "helper",
            MARK,
            [Turn::call(write(&at("docs/helper.txt"), "astray\n")), Turn::say("I could not.")],
        );
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let main = run.main();
    expect(main.len() >= 12, "12 requests and more", || outline(&main))?;
    let start =
        main[0].contains("select an intent before any change") && main[0].contains("- SRC: the parser");
    expect(start, "the first request lists the intents", || outline(&main))?;
    let wanted = [
        (1, "intent_required"),
        (1, "You must cite a valid active Intent ID"),
        (2, "<intent_context>"),
        (4, "scope_violation"),
        (4, "sprag intent select DOC"),
        (6, "scope_violation"),
        (7, "scope_violation"),
        (8, "Request scope expansion."),
        (10, "<id>DOC</id>"),
    ];
    for (at, part) in wanted {
        let result = &main[at].last_result;
        expect(result.contains(part), &format!("result {at} says `{part}`"), || short(result))?;
    }
    let helper = run.track("helper");
    let refused = helper.iter().any(|request| request.last_result.contains("scope_violation"));
    expect(refused, "a sub-agent inherits the intent", || outline(&helper))?;
    for (path, text) in [
        ("src/new.txt", Some("in time\n")),
        ("docs/new.txt", None),
        ("docs/b.txt", None),
        ("docs/helper.txt", None),
        ("docs/a.txt", Some("two\n")),
    ] {
        let found = rig.file(path);
        expect(found.as_deref() == text, &format!("`{path}` is correct"), || format!("{found:?}"))?;
    }
    Ok(())
}
