//! Real agents run a plan: two parallel stages write the same file, and a third depends on both. The second
//! stage to merge gets a session that resolves the conflict. The measured context of every agent equals the
//! numbers of the model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use anyhow::Context as _;
use serde_json::Value;

use super::Case;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::pane::{Pane, row};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "plan",
    shows: "the client works on three stages of a plan in worktrees, with hooks; a conflict is resolved, all stages are merged, and the live screen shows them",
    hooks: Hooks::Agents,
    play,
};

const PLAN: &str = r#"# Two halves and a whole

```yaml sprag
version: 1
name: halves
stages:
  - id: left
    description: mark-of-the-left
    working_dir: .
    model: claude-sonnet-4-5
    files: ["*.txt"]
    acceptance: ["grep -q left halves.txt"]
  - id: right
    description: mark-of-the-right
    working_dir: .
    model: claude-sonnet-4-5
    files: ["*.txt"]
    acceptance: ["grep -q right halves.txt"]
  - id: whole
    description: mark-of-the-whole
    working_dir: .
    model: claude-sonnet-4-5
    files: ["*.txt"]
    dependencies: [left, right]
    acceptance: ["test $(cat whole.txt) = 2"]
```
"#;

const TRUNK: &str = "refs/sprag/halves/trunk";
/// The commands of a user who opens the live screen as soon as the run exists.
const LIVE: &str = "until sprag status --compact | grep -q ^halves; do sleep 0.1; done
sprag status --live
echo left with $?";
/// The input tokens that the model reports; its answer adds 10.
const READ: u64 = 61_990;

fn play(rig: &mut Rig) -> Checked {
    let shell = rig.client.shell;
    let commit = |what: &str| format!("{what} && git add -A && git commit -qm work");
    let resolve = commit("printf 'left\\nright\\n' >halves.txt");
    // The later turns are for the agent that must resolve the conflict: the hooks require a read before the
    // write.
    let half = |name: &str| {
        [
            Turn::call(shell(&commit(&format!("echo {name} >halves.txt")))),
            Turn::say("The half is there.").having_read(READ),
            Turn::call(shell(&format!("git merge -q {TRUNK} || true"))),
            Turn::call(shell("cat halves.txt")),
            Turn::call(shell(&resolve)),
            Turn::say("Both halves are there.").having_read(READ),
        ]
    };
    let script = Script::ending("That is all.")
        .track("left", "mark-of-the-left", half("left"))
        .track("right", "mark-of-the-right", half("right"))
        .track(
            "whole",
            "mark-of-the-whole",
            [
                Turn::call(shell(&commit("grep -c . halves.txt >whole.txt"))),
                Turn::say("It is whole.").having_read(READ),
            ],
        );
    // Hooks in the user's settings would be enough. This case removes them, so that the worktrees have only
    // the hooks of their stage.
    sprag(rig, &["init", "--client", rig.client.name, "--user", "--yes", "--remove"])?;
    rig.put_client_on_path()?;
    name_author(rig)?;
    let plan = rig.place.root.join("plan.md");
    fs::write(&plan, PLAN).map_err(anyhow::Error::from)?;
    let pane = Pane::open(&rig.place, LIVE, (120, 40))?;
    let enough = AtomicBool::new(false);
    let run = ["run", &plan.display().to_string(), "--trust", "--foreground"];
    let (ran, seen) = thread::scope(|scope| {
        let seen = pane.as_ref().map(|pane| scope.spawn(|| pane.seen_until(&enough)));
        let ran = rig.sprag_with(script, &run);
        enough.store(true, Ordering::Relaxed);
        (ran, seen.map(|seen| seen.join().expect("the thread that reads the screen does not panic")))
    });
    let (finished, requests) = ran?;
    expect(finished.ending == Ending::Code(0), "the run ends with everything merged", || {
        format!("{:?}: {}", finished.ending, short(&format!("{}\n{}", finished.stdout, finished.stderr)))
    })?;
    expect(finished.stdout.contains("conflicted"), "the two halves are in conflict", || {
        short(&finished.stdout)
    })?;
    let found = git(rig, &["show", &format!("{TRUNK}:halves.txt")])?;
    expect(found == "left\nright\n", "the trunk has both halves", || found.clone())?;
    let found = git(rig, &["show", &format!("{TRUNK}:whole.txt")])?;
    expect(found == "2\n", "the last stage saw both", || found.clone())?;
    let exits = exits(&rig.place.project().join(".git/sprag/run/s"))?;
    expect(exits.len() == 4, "three stages and one conflict are four sessions", || exits.len().to_string())?;
    let governed: BTreeSet<String> = rig.sprag_json(&["session", "list", "--json"])?["sessions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|session| session["id"].as_str().map(str::to_owned))
        .collect();
    for exit in &exits {
        let seen = &exit["seen"];
        let context = (seen["context"]["tokens"].as_u64(), seen["context"]["window"].as_u64());
        expect(context == (Some(READ + 10), Some(200_000)), "the context is the measured one", || {
            seen.to_string()
        })?;
        expect(
            seen["last_tool"] == "Bash" && seen["turns"].as_u64() >= Some(2),
            "turns and tools are counted",
            || seen.to_string(),
        )?;
        let id = seen["client_session"].as_str().unwrap_or_default();
        expect(governed.contains(id), "every session called the hooks of Sprag", || {
            format!("{id}: {governed:?}")
        })?;
    }
    let shown = rig.sprag_json(&["status", "--json"])?;
    let stages =
        shown["run"]["stages"].as_array().or(shown["stages"].as_array()).cloned().unwrap_or_default();
    expect(stages.len() == 3, "all stages are shown", || short(&shown.to_string()))?;
    for stage in &stages {
        expect(
            stage["context_percent"] == 31 && stage["state"] == "done",
            "the context shown is the measured one",
            || stage.to_string(),
        )?;
    }
    match (pane, seen) {
        (Some(pane), Some(seen)) => screens(&pane, &seen?, &stages)?,
        _ => return Err(Stopped::Skipped { why: "the live screen needs tmux on PATH".to_owned() }),
    }
    let asked = requests.iter().filter(|request| request.contains("mark-of-the-")).count();
    expect(asked >= 8, "the model gets requests with the texts of the briefs", || asked.to_string())
}

/// Checks the live screen while the plan ran, and at the end.
fn screens(pane: &Pane, seen: &[String], stages: &[Value]) -> Checked {
    let under_way: Vec<&String> =
        seen.iter().filter(|screen| screen.contains("plan halves  running")).collect();
    let last = || short(seen.last().map_or("", String::as_str));
    expect(!under_way.is_empty(), "the head of the live screen shows the plan and its progress", last)?;
    for (stage, level) in [("left", "0"), ("right", "0"), ("whole", "1")] {
        let at_work =
            |screen: &&String| row(screen, stage).is_some_and(|row| row[1] == level && row[3] == "running");
        expect(
            under_way.iter().copied().any(|screen| at_work(&screen)),
            "the screen shows each stage while it runs",
            || format!("{stage}: {}", last()),
        )?;
    }
    let measured = format!("{}%", (READ + 10) * 100 / 200_000);
    let is_measured = |screen: &&String| {
        row(screen, "whole").is_some_and(|row| row[3] != "done" && row.get(5) == Some(&measured.as_str()))
    };
    expect(
        under_way.iter().copied().any(|screen| is_measured(&screen)),
        "the context of an agent is the measured one",
        last,
    )?;
    let end = pane.showing("plan halves  finished")?;
    expect(end.contains("100%  3 of 3 done"), "all stages are done at the end", || short(&end))?;
    for stage in stages {
        let (id, merged) =
            (stage["stage_id"].as_str().unwrap_or_default(), stage["merged"].as_str().unwrap_or_default());
        let found = row(&end, id).unwrap_or_default();
        let wanted = ["done", merged.get(..8).unwrap_or_default(), measured.as_str()];
        expect(found.get(3..6) == Some(&wanted), "each row has its merged commit and its context", || {
            format!("{wanted:?}: {}", short(&end))
        })?;
    }
    pane.keys("q")?;
    let left = pane.showing("left with 0")?;
    expect(left.contains("left with 0"), "`q` leaves the screen", || short(&left))?;
    expect(pane.is_given_back()?, "the terminal is restored", || short(&left))
}

fn sprag(rig: &mut Rig, arguments: &[&str]) -> Checked {
    let finished = rig.sprag(arguments)?;
    expect(finished.ending == Ending::Code(0), "the command succeeds", || finished.stderr.clone())
}

/// Sets the author of commits, which git requires.
pub fn name_author(rig: &Rig) -> anyhow::Result<()> {
    for (name, value) in [("user.name", "e2e"), ("user.email", "e2e@localhost")] {
        git(rig, &["config", name, value])?;
    }
    Ok(())
}

/// Writes a plan `p` with one stage `a`. Its brief contains `mark-of-the-stage`; `lines` add more keys.
pub fn write_one(rig: &Rig, lines: &[&str]) -> anyhow::Result<PathBuf> {
    let stage = ["id: a", "description: mark-of-the-stage", "working_dir: .", "files: [\"*.txt\"]"];
    let stage: Vec<&str> = stage.iter().chain(lines).copied().collect();
    let text = format!(
        "# One file\n\n```yaml sprag\nversion: 1\nname: p\nstages:\n  - {}\n```\n",
        stage.join("\n    ")
    );
    let path = rig.place.root.join("plan.md");
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

pub fn git(rig: &Rig, arguments: &[&str]) -> anyhow::Result<String> {
    let output =
        rig.place.command(Path::new("git")).args(arguments).output().context("cannot start `git`")?;
    anyhow::ensure!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the exit files that supervisors wrote.
pub fn exits(sessions: &Path) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    for session in fs::read_dir(sessions)? {
        found.push(serde_json::from_slice(&fs::read(session?.path().join("exit.json"))?)?);
    }
    Ok(found)
}
