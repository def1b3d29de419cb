//! Other tools on the same work, in the same run as Sprag. A makefile with worktrees and merges runs a plan
//! of sleeping stages, and tests nothing that it merges. A well-known task list for agents lists ten thousand
//! tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::plans::{self, Desk};
use super::runs;
use super::stats::Spread;
use crate::e2e::install;
use crate::process;

/// The number of calls; each call of the other tool takes seconds.
const LOOKS: usize = 5;

pub fn run(program: &Path) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let root = folder.path().canonicalize()?;
    looks(program, &root)?;
    let least = plans::least(|_| plans::EVEN);
    let took = plans::even(&Desk::new(program, &root.join("ours"))?)?;
    println!("{} stages of {} s, lower bound {least:.2} s", plans::COUNT, plans::EVEN);
    println!("  sprag {took:.2} s, {:.3}", took / least);
    match process::find("make") {
        Some(make) => {
            let took = by_make(&make, &Desk::new(program, &root.join("theirs"))?)?;
            println!("  make -j {} s, {:.3}, without tests of the merges", took, took / least);
        }
        None => println!("  make is not on PATH: not measured"),
    }
    folder.close().context("cannot remove the work folder")
}

fn looks(program: &Path, root: &Path) -> anyhow::Result<()> {
    let home = root.join("home");
    fs::create_dir_all(&home)?;
    let (ours, theirs) = (root.join("run"), root.join("tasks"));
    for project in [&ours, &theirs] {
        let made = Command::new("git").args(["init", "-q", "-b", "main"]).arg(project).status()?;
        ensure!(made.success(), "git cannot make a repository");
    }
    runs::write(&ours.join(".git/sprag/run/plans/p.jsonl"))?;
    write_tasks(&theirs.join(".taskmaster"))?;
    let peer = match install::task_master(&install::cache()) {
        Ok(peer) => peer,
        Err(install::Missing(why)) => {
            println!("status of {} stages: not measured, {why}", runs::STAGES);
            return Ok(());
        }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let time = |program: &Path, args: &[&str], project: &PathBuf| {
        let mut command = Command::new(program);
        command.args(args).current_dir(project).env_clear().env("PATH", &path).env("HOME", &home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        ensure!(command.status()?.success(), "`{}` failed", program.display());
        Ok(began.elapsed())
    };
    // The first `sprag status` writes the cache that the measured calls read.
    time(program, &["status"], &ours)?;
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        of_ours.push(time(program, &["status"], &ours)?);
        of_theirs.push(time(&peer, &["list", "--status", "in-progress"], &theirs)?);
    }
    let median = |times: &[std::time::Duration]| Spread::of(times).median_us / 1e3;
    println!("status of {} stages (median ms of {LOOKS})", runs::STAGES);
    println!("  sprag status {:.1}", median(&of_ours));
    println!("  task-master list {:.1}", median(&of_theirs));
    Ok(())
}

/// Writes as many tasks as the measured run has stages, with the same progress and dependencies.
fn write_tasks(dir: &Path) -> anyhow::Result<()> {
    let task = |number: usize| {
        let status = match number {
            _ if number < runs::MERGED => "done",
            _ if number < runs::MERGED + runs::AT_WORK => "in-progress",
            _ => "pending",
        };
        // The other tool counts from one.
        let needs: Vec<usize> = runs::needs(number).into_iter().map(|need| need + 1).collect();
        json!({
            "id": number + 1, "title": format!("Part {number}"), "description": "what is to be done here",
            "status": status, "dependencies": needs, "priority": "medium", "details": "", "testStrategy": "",
            "subtasks": [],
        })
    };
    let tasks: Vec<Value> = (0..runs::STAGES).map(task).collect();
    let at = "2026-09-01T00:00:00.000Z";
    let about = json!({"created": at, "updated": at, "description": ""});
    for (name, text) in [
        ("tasks/tasks.json", json!({"master": {"tasks": tasks, "metadata": about}})),
        ("state.json", json!({"currentTag": "master"})),
        ("config.json", json!({"models": {}, "global": {"logLevel": "error", "defaultTag": "master"}})),
    ] {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().context("it is in a folder")?)?;
        fs::write(path, text.to_string())?;
    }
    Ok(())
}

/// Runs the plan with a worktree for each stage and merges in order of completion. Returns the seconds.
fn by_make(make: &Path, desk: &Desk<'_>) -> anyhow::Result<f64> {
    let trunk = desk.home.join("trunk");
    let made = desk.command("git").args(["worktree", "add", "-q", "-b", "trunk"]).arg(&trunk).status()?;
    ensure!(made.success(), "git cannot make a worktree");
    let (home, mut rules, mut all) = (desk.home.display(), String::new(), String::new());
    for at in 0..plans::COUNT {
        let name = plans::name(at);
        let script = desk.script(&name, &format!("sleep {}", plans::EVEN))?;
        let needs: Vec<String> =
            plans::needs(at).into_iter().map(|need| format!("{home}/{}.done", plans::name(need))).collect();
        let own = format!("{home}/work-{name}");
        all += &format!(" {home}/{name}.done");
        rules += &format!(
            "{home}/{name}.done: {}\n\t@flock {home}/lock git worktree add -q -b {name} {own} trunk && cd {own} && sh {} && \
             test -f {name} && flock {home}/lock git -C {home}/trunk merge -q --no-ff --no-edit {name} && touch $@\n",
            needs.join(" "),
            script.display(),
        );
    }
    let file = desk.home.join("makefile");
    fs::write(&file, format!("all:{all}\n{rules}"))?;
    let mut command = desk.command(make);
    command.arg(format!("-j{}", plans::SLOTS)).arg("-f").arg(&file).arg("all").stdout(Stdio::null());
    let began = Instant::now();
    ensure!(command.status()?.success(), "make failed");
    Ok(began.elapsed().as_secs_f64())
}
