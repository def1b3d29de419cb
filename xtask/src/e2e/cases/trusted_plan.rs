//! A client whose hooks its user has trusted is given a stage: it works behind our walls.

use std::fs;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::Case;
use super::plan::{exits, git, name_author, write_one};
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig, Sandbox};
use crate::model::script::{Script, Turn};
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "trusted_plan",
    shows: "a stage is worked at by a client whose hooks are trusted, behind our walls, and merged",
    hooks: Hooks::Untrusted,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    if let Sandbox::Broken(why) = rig.sandbox {
        return Err(Stopped::Skipped { why: why.clone() });
    }
    rig.put_client_on_path()?;
    trust(rig)?;
    name_author(rig)?;
    let client = format!("client: {}", rig.client.name);
    let plan = write_one(rig, &[&client, "acceptance: [\"grep -q made a.txt\"]"])?;
    let shell = rig.client.shell;
    let work = [
        Turn::call(shell("echo made >a.txt && git add -A && git commit -qm work")),
        Turn::call(shell("sprag stage complete")),
        Turn::say("It is made."),
    ];
    let script = Script::ending("That is all.").track("a", "mark-of-the-stage", work);
    let run = ["run", &plan.display().to_string(), "--trust", "--foreground"];
    let (finished, requests) = rig.sprag_with(script, &run)?;
    expect(finished.ending == Ending::Code(0), "the run ends with everything merged", || {
        let asked: Vec<String> = requests.iter().map(|request| short(&format!("{request:?}"))).collect();
        format!(
            "{:?}: {}\n{}",
            finished.ending,
            short(&format!("{}\n{}", finished.stdout, finished.stderr)),
            asked.join("\n")
        )
    })?;
    let found = git(rig, &["show", "refs/sprag/p/trunk:a.txt"])?;
    expect(found == "made\n", "the trunk has what was made", || found.clone())?;
    let records = rig.place.project().join(".git/sprag/run/plans/p.jsonl");
    let records = fs::read_to_string(records).map_err(anyhow::Error::from)?;
    expect(records.contains("stage.said"), "what an agent says is heard through our walls", || {
        short(&records)
    })?;
    let exits = exits(&rig.place.project().join(".git/sprag/run/s"))?;
    expect(exits.len() == 1, "one session was enough", || exits.len().to_string())?;
    let sessions = rig.sprag_json(&["session", "list", "--json"])?;
    let name = exits[0]["seen"]["client_session"].as_str().unwrap_or_default().to_owned();
    expect(!name.is_empty() && sessions.to_string().contains(&name), "its hooks were called", || {
        format!("{}: {sessions}", exits[0])
    })
}

/// As a user does it in the client: all hooks that it has read by now are trusted, as they are.
fn trust(rig: &Rig) -> anyhow::Result<()> {
    let ask = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "e2e", "version": "1"}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [rig.place.project()]}}),
    ];
    let mut command = rig.place.command(rig.program());
    command.arg("app-server").envs((rig.client.env)(&rig.place));
    let mut asked = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (mut stdin, stdout) = (asked.stdin.take(), asked.stdout.take());
    let lines: String = ask.iter().map(|message| format!("{message}\n")).collect();
    std::io::Write::write_all(stdin.as_mut().context("it has no stdin")?, lines.as_bytes())?;
    let stdout = std::io::BufReader::new(stdout.context("it has no stdout")?);
    let mut answers = std::io::BufRead::lines(stdout).map_while(Result::ok);
    let answer = answers.find_map(|line| {
        let message: Value = serde_json::from_str(&line).ok()?;
        (message["id"] == 2).then_some(message)
    });
    drop(stdin);
    asked.kill()?;
    asked.wait()?;
    let answer = answer.context("it does not tell its hooks")?;
    let settings = rig.place.home().join(".codex/config.toml");
    let mut text = fs::read_to_string(&settings)?;
    let places = answer["result"]["data"].as_array().into_iter().flatten();
    for hook in places.flat_map(|place| place["hooks"].as_array().into_iter().flatten()) {
        // A JSON string is a TOML string too.
        text += &format!("\n[hooks.state.{}]\ntrusted_hash = {}\n", hook["key"], hook["currentHash"]);
    }
    Ok(fs::write(&settings, text)?)
}
