//! The figures of the memory on sets with a key, as `sprag memory eval` prints them, and the minimum of each.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Report;

/// The set, row and figure, and its minimum.
struct Floor {
    set: &'static str,
    row: &'static str,
    figure: &'static str,
    least: f64,
}

const fn floor(set: &'static str, row: &'static str, figure: &'static str, least: f64) -> Floor {
    Floor { set, row, figure, least }
}

const FLOORS: &[Floor] = &[
    floor("gitcommits", "all", "recall_5", 0.950),
    floor("gitcommits", "all", "recall_10", 0.970),
    floor("gitcommits", "all, with a file", "recall_10", 0.985),
    floor("gitcommits", "all", "abstained", 0.80),
    floor("gitcommits", "all", "answered", 0.95),
    floor("cosqa", "all", "recall_10", 0.85),
    floor("cacm", "all", "ndcg_10", 0.50),
    floor("dedup", "sts", "auc", 0.91),
    floor("dedup", "sts", "recall_at_90", 0.42),
];

pub fn score(sprag: &Path, data: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let mut found = Vec::new();
    for (set, kind) in
        [("gitcommits", "retrieval"), ("cosqa", "retrieval"), ("cacm", "retrieval"), ("dedup", "dedup")]
    {
        let dir = data.join(set);
        if dir.is_dir() {
            report.lines.push(format!("{set}:"));
            report.lines.extend(ask(sprag, kind, &dir, &[])?.lines().map(|line| format!("  {line}")));
            let told: Value = serde_json::from_str(&ask(sprag, kind, &dir, &["--json"])?)?;
            found.push((set, told));
        }
    }
    for floor in FLOORS {
        let Some((_, told)) = found.iter().find(|(set, _)| *set == floor.set) else { continue };
        let value = value(told, floor);
        if value.is_none_or(|value| value < floor.least) {
            report.missed.push(format!(
                "{} {} of `{}`: {}, target at least {}",
                floor.set,
                floor.figure,
                floor.row,
                value.map_or("nothing".to_owned(), |value| format!("{value:.4}")),
                floor.least
            ));
        }
    }
    let guards = found.iter().find(|(set, _)| *set == "dedup").and_then(|(_, told)| row(told, "guards"));
    if guards.is_some_and(|guards| guards["wrongly_rejected"] != 0) {
        report.missed.push("the duplicate check rejected a pair that differs in a guard".to_owned());
    }
    Ok(report)
}

fn row<'v>(told: &'v Value, name: &str) -> Option<&'v Value> {
    told["rows"].as_array()?.iter().find(|row| row["name"] == name)
}

fn value(told: &Value, floor: &Floor) -> Option<f64> {
    let figure = &row(told, floor.row)?[floor.figure];
    figure.as_f64().or_else(|| figure["value"].as_f64())
}

fn ask(sprag: &Path, kind: &str, dir: &Path, more: &[&str]) -> anyhow::Result<String> {
    let home = tempfile::tempdir()?;
    let output = Command::new(sprag)
        .args(["memory", "eval", kind])
        .arg(dir.canonicalize()?)
        .args(more)
        .env_clear()
        .envs([("HOME", home.path()), ("SPRAG_HOME", home.path())])
        .current_dir(home.path())
        .output()
        .with_context(|| format!("cannot start `{}`", sprag.display()))?;
    ensure!(
        output.status.success(),
        "`sprag memory eval {kind}`: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_found_with_and_without_an_interval() {
        let told = json!({"rows": [{"name": "all", "recall_5": {"value": 0.9}, "answered": 0.8}]});
        assert_eq!(value(&told, &floor("x", "all", "recall_5", 0.0)), Some(0.9));
        assert_eq!(value(&told, &floor("x", "all", "answered", 0.0)), Some(0.8));
        assert_eq!(value(&told, &floor("x", "some", "answered", 0.0)), None);
    }
}
