//! The time and memory of `sprag status` on a run of ten thousand stages. Half of the stages are merged, some
//! run and the others wait. The log has every record that such a run writes.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::memory;
use super::stats::Spread;

pub const STAGES: usize = 10_000;
/// Stages of one level; the plan has as many levels.
const LEVEL: usize = 100;
pub const MERGED: usize = STAGES / 2;
pub const AT_WORK: usize = 4;
/// Calls without a saved board; each of them reads all records.
const FIRST: usize = 5;

/// The limit on one call.
const MOST: Duration = Duration::from_millis(10);
const MOST_BYTES: u64 = 100 * 1024 * 1024;

pub fn run(program: &Path, rounds: usize) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let root = folder.path().canonicalize()?;
    let (home, project) = (root.join("home"), root.join("project"));
    fs::create_dir_all(&home)?;
    let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(&project).status()?;
    ensure!(made.success(), "git cannot make a repository");
    let log = project.join(".git/sprag/run/plans/p.jsonl");
    let bytes = write(&log)?;
    println!("a run of {STAGES} stages, {MERGED} merged, {} MB of records", bytes / 1_000_000);
    println!("{:<28} {:>10} {:>10} {:>10}", "", "median ms", "p99 ms", "peak MB");
    // All calls inherit the working directory of the bench. Another directory would make the standard library
    // copy this process, which is large by now.
    std::env::set_current_dir(&project)?;
    let command = |args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home);
        command
    };
    let board = log.with_extension("board");
    let first = || {
        let asked = command(&["status"]);
        if board.exists() {
            fs::remove_file(&board)?;
        }
        Ok(asked)
    };
    // The limit does not apply: this happens once.
    told("status, no saved board", FIRST, first)?;
    let mut all = true;
    for (name, args) in [("status", &["status"][..]), ("status --compact", &["status", "--compact"])] {
        all &= told(name, rounds, || Ok(command(args)))?;
    }
    // These print every stage, so the limit does not apply.
    for (name, args) in
        [("status --why --all", &["status", "--why", "--all"][..]), ("status --json", &["status", "--json"])]
    {
        told(name, rounds, || Ok(command(args)))?;
    }
    let empty = root.join("empty");
    ensure!(Command::new("git").args(["init", "-q"]).arg(&empty).status()?.success(), "git failed");
    std::env::set_current_dir(&empty)?;
    told("status, no run", rounds, || Ok(command(&["status"])))?;
    std::env::set_current_dir("/")?;
    folder.close().context("cannot remove the work folder")?;
    println!(
        "limit: p99 below {} ms, peak below {} MB: {}",
        MOST.as_millis(),
        MOST_BYTES >> 20,
        if all { "met" } else { "not met" }
    );
    Ok(())
}

fn told(name: &str, rounds: usize, ask: impl Fn() -> anyhow::Result<Command>) -> anyhow::Result<bool> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let mut command = ask()?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let began = Instant::now();
        ensure!(command.status()?.success(), "`{name}` failed");
        times.push(began.elapsed());
    }
    let spread = Spread::of(&times);
    let peak = memory::peak_in_place(&ask()?)?;
    println!(
        "{name:<28} {:>10.2} {:>10.2} {:>10.1}",
        spread.median_us / 1e3,
        spread.p99_us / 1e3,
        peak as f64 / 1e6
    );
    Ok(spread.p99_us < MOST.as_secs_f64() * 1e6 && peak < MOST_BYTES)
}

pub fn write(log: &Path) -> anyhow::Result<u64> {
    fs::create_dir_all(log.parent().context("a log is in a folder")?)?;
    fs::File::create(log)?;
    let mut records = Records::go_on(log, "r", &commit)?;
    let stages: Vec<Value> = (0..STAGES).map(stage).collect();
    let plan = json!({
        "name": "p", "target": "main", "gates": [], "slots": 4, "budget": {"on_exceed": "pause"},
        "sandbox": {"confine": "auto", "network": "open"}, "overview": "x".repeat(2000), "stages": stages,
    });
    let started = json!({"run": "r", "plan": plan, "digest": "0".repeat(32), "trunk": commit(0)});
    records.write("plan.started", started)?;
    for number in 0..MERGED + AT_WORK {
        records.stage(number, MERGED)?;
    }
    records.flush()?;
    Ok(fs::metadata(log)?.len())
}

/// Writer of records in the form that a daemon writes.
pub struct Records<'a> {
    file: std::io::BufWriter<fs::File>,
    at: u64,
    run: &'a str,
    /// The commit of the trunk after a number of merged stages.
    commit: &'a dyn Fn(usize) -> String,
}

impl<'a> Records<'a> {
    pub fn go_on(
        log: &Path,
        run: &'a str,
        commit: &'a dyn Fn(usize) -> String,
    ) -> anyhow::Result<Records<'a>> {
        let file = std::io::BufWriter::new(fs::File::options().append(true).open(log)?);
        Ok(Records { file, at: 1_790_000_000, run, commit })
    }

    pub fn flush(mut self) -> anyhow::Result<()> {
        Ok(self.file.flush()?)
    }

    fn write(&mut self, kind: &str, body: Value) -> anyhow::Result<()> {
        self.at += 1;
        let (minute, second) = (self.at / 60 % 60, self.at % 60);
        let (day, hour) = (self.at / 86_400 % 28 + 1, self.at / 3600 % 24);
        let at = format!("2026-09-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z");
        // `kind` comes before `body`, as in all records.
        let body = serde_json::to_string(&body)?;
        writeln!(self.file, r#"{{"v":1,"kind":"{kind}","id":"","at":"{at}","body":{body}}}"#)?;
        Ok(())
    }

    fn effect(&mut self, key: &str, effect: Value, outcome: Value) -> anyhow::Result<()> {
        self.write("effect.intent", json!({"key": key, "epoch": 1, "effect": effect}))?;
        self.write("effect.outcome", json!({"key": key, "outcome": outcome}))
    }

    /// Writes all records of a stage. For stages after the merged ones it stops at the start of the agent.
    pub fn stage(&mut self, number: usize, merged: usize) -> anyhow::Result<()> {
        let id = id(number);
        let run = self.run;
        let key = |step: &str| format!("{run}/{id}/1/{step}");
        let (before, after) = ((self.commit)(number), (self.commit)(number + 1));
        self.effect(
            &key("worktree.0"),
            json!({"effect": "add_worktree", "stage": id, "base": before}),
            json!({"outcome": "worktree", "base": before}),
        )?;
        let done = json!({"outcome": "done"});
        self.effect(&key("setup.0"), json!({"effect": "setup", "stage": id}), done.clone())?;
        let brief = json!({"effect": "write_brief", "stage": id, "brief": "stage"});
        self.effect(&key("brief.0"), brief, done.clone())?;
        let session = key("spawn.0");
        let spawn = json!({"effect": "spawn", "stage": id});
        self.effect(&session, spawn, json!({"outcome": "spawned"}))?;
        if number >= merged {
            return Ok(());
        }
        let happened = json!({"stage": id, "what": {"happened": "claimed"}});
        self.write("stage.happened", happened)?;
        let ended = json!({"stage": id, "session": session, "at": "2026-09-01T00:00:00.000Z", "ended": {"ended": "well"}});
        self.write("session.ended", ended)?;
        let green = json!({"outcome": "green", "head": after, "tree": after});
        self.effect(&key("claim.0"), json!({"effect": "check", "stage": id, "of": "claim"}), green)?;
        let made = json!({"outcome": "made", "commit": after, "tree": after});
        let candidate = json!({"effect": "candidate", "number": number + 1, "on": before, "head": after});
        self.effect(&key("candidate.0"), candidate, made)?;
        let gate = json!({"effect": "gate", "number": number + 1, "commit": after, "tree": after});
        self.effect(&key("gate.1"), gate, done.clone())?;
        let land = json!({"effect": "land", "number": number + 1, "from": before, "to": after});
        self.effect(&key("land.2"), land, done.clone())?;
        self.effect(&key("remove.1"), json!({"effect": "remove_worktree", "stage": id}), done)
    }
}

fn id(number: usize) -> String {
    format!("stage-{number:05}")
}

fn commit(number: usize) -> String {
    format!("{number:040x}")
}

/// Returns the dependencies of a stage: two stages of the level before.
pub fn needs(number: usize) -> Vec<usize> {
    match number.checked_sub(LEVEL) {
        None => vec![],
        Some(same) => vec![same, same - same % LEVEL + (same + 1) % LEVEL],
    }
}

fn stage(number: usize) -> Value {
    let needs: Vec<String> = needs(number).into_iter().map(id).collect();
    let (files, nothing) = (format!("src/part{number}/**"), json!([]));
    json!({
        "id": id(number), "name": format!("Part {number}"), "description": "what is to be done here ".repeat(10),
        "dependencies": needs, "parallel_group": null, "type": "standard",
        "scope": {"intents": [], "files": [files], "globs": [files]}, "working_dir": ".", "setup": ["true"],
        "before_stage": nothing, "acceptance": nothing, "after_stage": nothing,
        "artifacts": [format!("src/part{number}")], "wiring": nothing, "wiring_tests": nothing, "truths": nothing,
        "tasks": nothing, "context_budget": 75, "client": "claude", "mode": "headless",
        "sandbox": {"confine": "auto", "network": "open"}, "budget": {"on_exceed": "pause"}, "retries": 3,
        "merge": "auto", "empty": "refused", "sharing": "shared", "outputs": nothing, "verify": "standard",
    })
}
