//! The overhead of a plan beside the agents' own time: how close a run is to its lower bound, how long Sprag
//! alone delays a stage, and how soon it records a crash. Agents are scripts; git and processes are real. All
//! times are from the records of the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

pub const SLOTS: usize = 4;
/// Levels of the wide plan, and stages in each.
const LEVELS: usize = 3;
const WIDE: usize = 8;
pub const COUNT: usize = LEVELS * WIDE;
/// The duration of each stage in the plan of equal stages, in seconds.
pub const EVEN: f64 = 4.0;
/// Stages of the chain.
const CHAIN: usize = 12;

pub fn run(program: &Path) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let root = folder.path().canonicalize()?;
    makespan(&Desk::new(program, &root.join("even"))?, |_| EVEN)?;
    makespan(&Desk::new(program, &root.join("uneven"))?, |at| 2.0 + (at * 7 % 5) as f64 * 0.5)?;
    chain(&Desk::new(program, &root.join("chain"))?)?;
    folder.close().context("cannot remove the work folder")
}

pub fn name(at: usize) -> String {
    format!("s{}-{}", at / WIDE, at % WIDE)
}

/// Returns the dependencies of a stage: two stages of the level before.
pub fn needs(at: usize) -> Vec<usize> {
    match at.checked_sub(WIDE) {
        None => vec![],
        Some(above) => vec![above, above - above % WIDE + (above + 1) % WIDE],
    }
}

/// Returns the lower bound in seconds: the longest path, or the sum of all stages divided by the slots.
pub fn least(seconds: fn(usize) -> f64) -> f64 {
    let mut path = [0.0f64; COUNT];
    for at in 0..COUNT {
        path[at] = seconds(at) + needs(at).iter().map(|need| path[*need]).fold(0.0, f64::max);
    }
    path.into_iter().fold((0..COUNT).map(seconds).sum::<f64>() / SLOTS as f64, f64::max)
}

/// Runs sleeping stages, more than there are slots, and returns the seconds until all stages landed.
fn sleeping(desk: &Desk<'_>, seconds: fn(usize) -> f64) -> anyhow::Result<f64> {
    let mut stages = String::new();
    for at in 0..COUNT {
        let needs: Vec<String> = needs(at).into_iter().map(name).collect();
        stages += &desk.stage(&name(at), &needs, &format!("sleep {}", seconds(at)))?;
    }
    let records = desk.run(&stages)?;
    let landed: Vec<i64> = records.outcomes("land").values().map(|(_, to)| *to).collect();
    Ok((landed.iter().max().context("nothing landed")? - records.0[0].at) as f64 / 1e3)
}

pub fn even(desk: &Desk<'_>) -> anyhow::Result<f64> {
    sleeping(desk, |_| EVEN)
}

/// Prints the duration of a run against its lower bound. Equal stages can reach the bound, so the rest is the
/// overhead of Sprag. A scheduler that does not know the lengths cannot reach the bound for unequal stages.
fn makespan(desk: &Desk<'_>, seconds: fn(usize) -> f64) -> anyhow::Result<()> {
    let (took, least) = (sleeping(desk, seconds)?, least(seconds));
    let lengths: Vec<f64> = (0..COUNT).map(seconds).collect();
    let (shortest, longest) =
        (lengths.iter().copied().fold(f64::MAX, f64::min), lengths.iter().copied().fold(0.0, f64::max));
    println!("makespan of {COUNT} stages of {shortest} to {longest} s in {SLOTS} slots");
    println!("  took {took:.2} s; lower bound {least:.2} s: {:.3} (limit 1.05)", took / least);
    let ideal = without_us(&lengths);
    println!("  same order without overhead: {ideal:.2} s, {:.3}", took / ideal);
    Ok(())
}

/// Returns the duration without overhead: each stage starts as soon as a slot is free, stages of earlier
/// levels first.
fn without_us(lengths: &[f64]) -> f64 {
    let mut ends: Vec<Option<f64>> = vec![None; lengths.len()];
    let mut slots = [0.0f64; SLOTS];
    while let Some(now) = (ends.contains(&None)).then(|| slots.iter().copied().fold(f64::MAX, f64::min)) {
        let is_over = |need: &usize, at: f64| ends[*need].is_some_and(|end| end <= at);
        let next = (0..lengths.len())
            .find(|at| ends[*at].is_none() && needs(*at).iter().all(|need| is_over(need, now)));
        let free = slots.iter().position(|slot| *slot == now).expect("it is the least of them");
        match next {
            Some(at) => {
                ends[at] = Some(now + lengths[at]);
                slots[free] = now + lengths[at];
            }
            // The slot waits for the next stage to end.
            None => slots[free] = slots.iter().copied().filter(|slot| *slot > now).fold(f64::MAX, f64::min),
        }
    }
    ends.into_iter().flatten().fold(0.0, f64::max)
}

/// Runs stages one after the other; each of them crashes once.
fn chain(desk: &Desk<'_>) -> anyhow::Result<()> {
    let mut stages = String::new();
    for at in 0..CHAIN {
        let needs: Vec<String> = (at > 0).then(|| format!("s{}", at - 1)).into_iter().collect();
        let once = desk.home.join(format!("crashed-{at}"));
        let script = format!(
            "if [ ! -e '{0}' ]; then date -u +%FT%T.%3NZ >'{0}.new'; mv '{0}.new' '{0}'; exit 3; fi",
            once.display()
        );
        stages += &desk.stage(&format!("s{at}"), &needs, &script)?;
    }
    let records = desk.run(&stages)?;
    let (worktrees, spawns, landed) =
        (records.outcomes("add_worktree"), records.outcomes("spawn"), records.outcomes("land"));
    let of = |times: &BTreeMap<String, (i64, i64)>, start: &str| {
        times.iter().find(|(key, _)| key.starts_with(start)).map(|(_, times)| *times)
    };
    let (mut starts, mut merges, mut crashes) = (Vec::new(), Vec::new(), Vec::new());
    let mut ready = records.0[0].at;
    for at in 0..CHAIN {
        let worktree = of(&worktrees, &format!("s{at}/1/")).context("no worktree")?;
        let spawn = of(&spawns, &format!("s{at}/1/")).context("no agent")?;
        starts.push(spawn.1 - ready - (worktree.1 - worktree.0));
        let ends = records.ends(&format!("s{at}"));
        let crashed = millis(fs::read_to_string(desk.home.join(format!("crashed-{at}")))?.trim())?;
        crashes.push(ends.first().context("no end")? - crashed);
        let land = of(&landed, &format!("s{at}/")).context("the stage did not land")?;
        merges.push(land.1 - ends.last().context("no end")?);
        ready = land.1;
    }
    println!("a chain of {CHAIN} stages, each of which crashes once (ms)   median      most");
    for (what, mut times, promised) in [
        ("  from ready to an agent at work, without `worktree add`", starts, "150"),
        ("  from the end of an agent to the landing of its work", merges, "-"),
        ("  from a crash to its record", crashes, "100"),
    ] {
        times.sort_unstable();
        let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
        println!("{what:<57} {median:>7} {most:>9}   (limit {promised})");
    }
    Ok(())
}

pub struct Desk<'a> {
    pub program: &'a Path,
    pub home: std::path::PathBuf,
    pub project: std::path::PathBuf,
}

impl<'a> Desk<'a> {
    pub fn new(program: &'a Path, root: &Path) -> anyhow::Result<Desk<'a>> {
        let desk = Desk { program, home: root.join("home"), project: root.join("project") };
        fs::create_dir_all(&desk.home)?;
        fs::create_dir_all(&desk.project)?;
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "bench"],
            &["config", "user.email", "bench@localhost"],
            &["commit", "-q", "--allow-empty", "-m", "start"],
            &["switch", "-q", "-c", "elsewhere"],
        ] {
            let made = desk.command("git").args(args).status()?;
            ensure!(made.success(), "git {args:?} failed");
        }
        Ok(desk)
    }

    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.current_dir(&self.project).env_clear().env("PATH", path).env("HOME", &self.home);
        // The sandbox is not part of this measurement.
        command.env("SPRAG_SANDBOX", "off");
        command
    }

    /// Writes the script of an agent that runs `script` and commits a file.
    pub fn script(&self, id: &str, script: &str) -> anyhow::Result<std::path::PathBuf> {
        let path = self.home.join(format!("{id}.sh"));
        fs::write(&path, format!("set -e\n{script}\necho {id} >{id}\ngit add -A\ngit commit -qm {id}\n"))?;
        Ok(path)
    }

    fn stage(&self, id: &str, needs: &[String], script: &str) -> anyhow::Result<String> {
        let path = self.script(id, script)?;
        Ok(format!(
            "  - id: {id}\n    working_dir: .\n    dependencies: [{}]\n    client: {{command: [sh, {}]}}\n    acceptance: [\"test -f {id}\"]\n",
            needs.join(", "),
            path.display()
        ))
    }

    fn run(&self, stages: &str) -> anyhow::Result<Records> {
        let plan = self.home.join("plan.md");
        let text = format!(
            "# Bench\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nslots: {SLOTS}\nbackoff: 1s\nstages:\n{stages}```\n"
        );
        fs::write(&plan, text)?;
        let mut command = self.command(self.program);
        command.arg("run").arg(&plan).args(["--trust", "--foreground"]).stdout(Stdio::null());
        let ended = command.status()?;
        ensure!(ended.success(), "the run ended with {ended}");
        let log = fs::read_to_string(self.project.join(".git/sprag/run/plans/p.jsonl"))?;
        let records: anyhow::Result<Vec<Record>> = log.lines().map(Record::read).collect();
        Ok(Records(records?))
    }
}

struct Record {
    at: i64,
    kind: String,
    body: Value,
}

impl Record {
    fn read(line: &str) -> anyhow::Result<Record> {
        let value: Value = serde_json::from_str(line)?;
        let at = millis(value["at"].as_str().unwrap_or_default())?;
        Ok(Record {
            at,
            kind: value["kind"].as_str().unwrap_or_default().to_owned(),
            body: value["body"].clone(),
        })
    }
}

/// Returns the milliseconds of a time such as `2026-01-01T10:20:30.400Z` since midnight. A run over midnight
/// gives a wrong result.
fn millis(text: &str) -> anyhow::Result<i64> {
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<i64>().ok());
    let parts = (part(11, 13), part(14, 16), part(17, 19), part(20, 23));
    let (Some(hours), Some(minutes), Some(seconds), Some(millis)) = parts else {
        anyhow::bail!("`{text}` is not a time");
    };
    Ok(((hours * 60 + minutes) * 60 + seconds) * 1000 + millis)
}

struct Records(Vec<Record>);

impl Records {
    /// Returns the start and end of all effects of a kind, by their keys without the run.
    fn outcomes(&self, effect: &str) -> BTreeMap<String, (i64, i64)> {
        let mut times = BTreeMap::new();
        for record in &self.0 {
            let key = record.body["key"]
                .as_str()
                .and_then(|key| key.split_once('/'))
                .map(|(_, key)| key.to_owned());
            let Some(key) = key else { continue };
            if record.kind == "effect.intent" && record.body["effect"]["effect"] == effect {
                times.insert(key, (record.at, record.at));
            } else if record.kind == "effect.outcome"
                && let Some(known) = times.get_mut(&key)
            {
                known.1 = record.at;
            }
        }
        times
    }

    /// Returns the times at which the run recorded the end of a stage's sessions.
    fn ends(&self, stage: &str) -> Vec<i64> {
        let of_stage =
            self.0.iter().filter(|record| record.kind == "session.ended" && record.body["stage"] == stage);
        of_stage.map(|record| record.at).collect()
    }
}
