//! A client with trusted hooks gets a stage and works in the sandbox of Sprag.

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
    shows: "a client with trusted hooks works on a stage in the sandbox, and the stage is merged",
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
    expect(found == "made\n", "the trunk has the file of the agent", || found.clone())?;
    let records = rig.place.project().join(".git/sprag/run/plans/p.jsonl");
    let records = fs::read_to_string(records).map_err(anyhow::Error::from)?;
    expect(records.contains("stage.said"), "a report of the agent gets out of the sandbox", || {
        short(&records)
    })?;
    let exits = exits(&rig.place.project().join(".git/sprag/run/s"))?;
    expect(exits.len() == 1, "one session was enough", || exits.len().to_string())?;
    let sessions = rig.sprag_json(&["session", "list", "--json"])?;
    let name = exits[0]["seen"]["client_session"].as_str().unwrap_or_default().to_owned();
    expect(!name.is_empty() && sessions.to_string().contains(&name), "the session called the hooks", || {
        format!("{}: {sessions}", exits[0])
    })
}

/// Trusts all hooks that the client currently has, as a user does in the client.
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
    std::io::Write::write_all(stdin.as_mut().context("the client has no stdin")?, lines.as_bytes())?;
    let stdout = std::io::BufReader::new(stdout.context("the client has no stdout")?);
    let mut answers = std::io::BufRead::lines(stdout).map_while(Result::ok);
    let answer = answers.find_map(|line| {
        let message: Value = serde_json::from_str(&line).ok()?;
        (message["id"] == 2).then_some(message)
    });
    drop(stdin);
    asked.kill()?;
    asked.wait()?;
    let answer = answer.context("the client does not list its hooks")?;
    let settings = rig.place.home().join(".codex/config.toml");
    let mut text = fs::read_to_string(&settings)?;
    let places = answer["result"]["data"].as_array().into_iter().flatten();
    for hook in places.flat_map(|place| place["hooks"].as_array().into_iter().flatten()) {
        // A JSON string is a TOML string too.
        text += &format!("\n[hooks.state.{}]\ntrusted_hash = {}\n", hook["key"], hook["currentHash"]);
    }
    Ok(fs::write(&settings, text)?)
}
