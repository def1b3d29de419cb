//! The number of instructions of a hook call, counted by callgrind. A busy machine hardly changes this
//! number, unlike the time, so it can fail a build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::budgets::Budgets;
use super::saved::Saved;
use super::scene::Scene;
use crate::process;

const OUT: &str = "callgrind.out";

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    pub counted: u64,
    /// The number in `budgets.json`.
    pub last: Option<u64>,
    pub max: Option<u64>,
}

impl Row {
    /// Reports whether the case exceeds its budget. A case without a budget does.
    pub fn is_over(&self) -> bool {
        self.max.is_none_or(|max| self.counted > max)
    }
}

/// Returns the path of valgrind, or an error. Callers ask before the first measurement, so that a missing
/// valgrind fails early.
pub fn valgrind() -> anyhow::Result<PathBuf> {
    process::find("valgrind").context("valgrind is not on PATH\n  next: apt-get install valgrind")
}

pub fn measure(
    valgrind: &Path,
    folder: &Path,
    scenes: &mut [(Scene, Saved)],
    budgets: &Budgets,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (scene, saved) in scenes {
        let counted = count(valgrind, folder, scene)?;
        saved.restore()?;
        let budget = budgets.cases.get(scene.case.name);
        rows.push(Row {
            case: scene.case.name.to_owned(),
            counted,
            last: budget.map(|budget| budget.last),
            max: budget.map(|budget| budget.max),
        });
    }
    Ok(rows)
}

fn count(valgrind: &Path, folder: &Path, scene: &Scene) -> anyhow::Result<u64> {
    let log = watch(valgrind, folder, scene)?;
    collected(&log).with_context(|| format!("valgrind counted nothing: {}", log.trim()))
}

/// Returns the profile of the call in the format of callgrind.
pub fn profile(valgrind: &Path, folder: &Path, scene: &Scene) -> anyhow::Result<String> {
    watch(valgrind, folder, scene)?;
    fs::read_to_string(folder.join(OUT)).context("valgrind left no profile")
}

/// Makes the call under callgrind, leaves the profile in the folder and returns the log.
fn watch(valgrind: &Path, folder: &Path, scene: &Scene) -> anyhow::Result<String> {
    let out = folder.join(OUT);
    let log = folder.join("callgrind.log");
    let settings = [
        "--tool=callgrind".to_owned(),
        "--demangle=no".to_owned(),
        format!("--callgrind-out-file={}", out.display()),
        format!("--log-file={}", log.display()),
    ];
    let program = scene.program().display().to_string();
    let arguments: Vec<&str> =
        settings.iter().map(String::as_str).chain([program.as_str(), "hook", "claude"]).collect();
    let output = scene.command_of(valgrind, &arguments)?.stdout(Stdio::piped()).output()?;
    let log = fs::read_to_string(&log).context("valgrind left no log")?;
    ensure!(output.status.success(), "valgrind ended with {}: {}", output.status, log.trim());
    let reply = String::from_utf8_lossy(&output.stdout);
    let case = scene.case;
    ensure!(case.says.is(&reply), "`{}` answered `{}` under valgrind", case.name, reply.trim());
    Ok(log)
}

/// Returns the number from the line `==4711== Collected : 123456`.
fn collected(log: &str) -> Option<u64> {
    let counts = log.lines().find_map(|line| line.split_once("Collected :"))?.1;
    counts.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_log() {
        let log =
            "==12== Events    : Ir\n==12== Collected : 187210\n==12== \n==12== I   refs:      187,210\n";
        assert_eq!(collected(log), Some(187_210));
        assert_eq!(collected("==12== Killed"), None);
    }

    #[test]
    fn no_budget_is_no_pass() {
        let row = |max| Row { case: "x".to_owned(), counted: 10, last: None, max };
        assert!(row(None).is_over());
        assert!(row(Some(9)).is_over());
        assert!(!row(Some(10)).is_over());
    }
}
