//! The time until a run of a thousand stages continues after `kill -9`. It lasts from the start of the next
//! daemon until all interrupted stages run again. Half of the stages are merged, as records and as commits.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::plans::Desk;
use super::runs::Records;

const STAGES: usize = 1000;
const MERGED: usize = STAGES / 2;
const SLOTS: usize = 4;
const ROUNDS: usize = 10;
const MOST: Duration = Duration::from_secs(2);
/// The time after which the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(program: &Path) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let desk = Desk::new(program, &folder.path().canonicalize()?.join("back"))?;
    let started = desk.home.join("started");
    let plan = write_plan(&desk, &started)?;
    let log = desk.project.join(".git/sprag/run/plans/p.jsonl");
    // The program writes the first line of the log. The bench writes the following lines.
    let mut first = desk.command(program);
    first.arg("run").arg(&plan).args(["--trust", "--foreground"]);
    kill(up(first, &started, SLOTS)?)?;
    settle(&desk)?;
    let text = fs::read_to_string(&log)?;
    let line = text.lines().next().context("no run was begun")?;
    fs::write(&log, format!("{line}\n"))?;
    let about: serde_json::Value = serde_json::from_str(line)?;
    let run = about["body"]["run"].as_str().context("a run has a name")?;
    let trunk = about["body"]["trunk"].as_str().context("a run has a trunk")?;
    merge_half(&desk, &log, run, trunk)?;
    let mut times = Vec::new();
    for _ in 0..=ROUNDS {
        fs::remove_file(&started).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let mut resume = desk.command(program);
        resume.args(["run", "resume", "p", "--foreground"]);
        let began = Instant::now();
        let daemon = up(resume, &started, SLOTS)?;
        times.push(began.elapsed());
        kill(daemon)?;
    }
    settle(&desk)?;
    // The first round also makes worktrees, and that time belongs to git.
    times.remove(0);
    times.sort_unstable();
    let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
    println!("killed {ROUNDS} times with {SLOTS} of {STAGES} stages running and {MERGED} merged");
    println!(
        "  all stages run again after {:.2} s (median), {:.2} s (maximum), limit {} s: {}",
        median.as_secs_f64(),
        most.as_secs_f64(),
        MOST.as_secs(),
        if most < MOST { "met" } else { "not met" }
    );
    folder.close().context("cannot remove the work folder")
}

/// Writes a plan whose setups never end, so that the bench can count the running stages from outside.
fn write_plan(desk: &Desk<'_>, started: &Path) -> anyhow::Result<std::path::PathBuf> {
    let mut stages = String::new();
    for at in 0..STAGES {
        let needs = at.checked_sub(MERGED).map(id).unwrap_or_default();
        write!(
            stages,
            "  - id: {}\n    working_dir: .\n    dependencies: [{needs}]\n    client: {{command: [sh, -c, 'true']}}\n    setup: [\"echo x >>{}; exec sleep 600\"]\n    acceptance: [\"true\"]\n",
            id(at),
            started.display()
        )?;
    }
    let path = desk.home.join("plan.md");
    let text = format!(
        "# Bench\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nslots: {SLOTS}\nstages:\n{stages}```\n"
    );
    fs::write(&path, text)?;
    Ok(path)
}

fn id(at: usize) -> String {
    format!("stage-{at:05}")
}

/// Starts a daemon and waits until `count` setups run.
fn up(mut command: std::process::Command, started: &Path, count: usize) -> anyhow::Result<Child> {
    let mut daemon = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let until = Instant::now() + PATIENCE;
    while fs::read_to_string(started).map_or(0, |text| text.lines().count()) < count {
        if let Some(ended) = daemon.try_wait()? {
            anyhow::bail!("the daemon ended with {ended}");
        }
        if Instant::now() > until {
            kill(daemon)?;
            anyhow::bail!("too few stages started within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(daemon)
}

fn kill(mut daemon: Child) -> anyhow::Result<()> {
    daemon.kill()?;
    daemon.wait()?;
    Ok(())
}

/// Ends the processes that a killed daemon left behind.
fn settle(desk: &Desk<'_>) -> anyhow::Result<()> {
    let mut repair = desk.command(desk.program);
    repair.args(["run", "repair", "--fix"]).stdout(Stdio::null());
    // The bench ignores what the repair reports.
    repair.status()?;
    Ok(())
}

/// Writes one commit for each merged stage, and all records of these stages.
fn merge_half(desk: &Desk<'_>, log: &Path, run: &str, trunk: &str) -> anyhow::Result<()> {
    let mut commits = vec![trunk.to_owned()];
    let marks = desk.home.join("marks");
    let mut stream = String::new();
    for at in 1..=MERGED {
        let from = if at == 1 { trunk.to_owned() } else { format!(":{}", at - 1) };
        let (file, name) = (id(at), id(at).len());
        write!(
            stream,
            "commit refs/sprag/p/trunk\nmark :{at}\ncommitter b <b@localhost> {} +0000\ndata 1\nm\nfrom {from}\nM 644 inline {file}\ndata {name}\n{file}\n",
            1_700_000_000 + at
        )?;
    }
    let mut import = desk.command("git");
    import.args(["fast-import", "--quiet", "--force"]).arg(format!("--export-marks={}", marks.display()));
    let mut importing = import.stdin(Stdio::piped()).spawn()?;
    importing.stdin.take().context("it was asked for")?.write_all(stream.as_bytes())?;
    ensure!(importing.wait()?.success(), "git fast-import failed");
    let mut named: Vec<(usize, String)> = Vec::new();
    for line in fs::read_to_string(&marks)?.lines() {
        let (mark, commit) = line.split_once(' ').context("a mark and a commit")?;
        named.push((mark.trim_start_matches(':').parse()?, commit.to_owned()));
    }
    named.sort_unstable();
    commits.extend(named.into_iter().map(|(_, commit)| commit));
    let last = commits.last().context("there is a first")?;
    ensure!(desk.command("git").args(["branch", "-f", "main", last]).status()?.success(), "git failed");
    let commit = |number: usize| commits[number].clone();
    let mut records = Records::go_on(log, run, &commit)?;
    (0..MERGED).try_for_each(|at| records.stage(at, MERGED))?;
    records.flush()
}
