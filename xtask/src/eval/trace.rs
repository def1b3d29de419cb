//! `cargo xtask eval trace`: scores how often a refactoring is proved, and whether any other change is
//! proved.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, thread};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::Report;
use super::share::Share;

#[derive(Clone, Debug, Deserialize)]
struct Row {
    id: String,
    label: String,
    kind: String,
    origin: String,
    #[serde(default)]
    disputed: Option<String>,
}

impl Row {
    fn is_refactor(&self) -> bool {
        self.label == "AST_REFACTOR"
    }

    /// Reports whether the label has better evidence than a commit message.
    fn is_core(&self) -> bool {
        self.origin == "synthetic"
            || ["format:", "purity:", "bugfix:"].iter().any(|kind| self.kind.starts_with(kind))
    }
}

struct Told {
    is_proved: bool,
    ms: f64,
}

pub fn score(sprag: &Path, data: &Path) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir()?;
    let unpacked = Command::new("tar")
        .args(["xzf"])
        .arg(data.join("pairs.tar.gz").canonicalize()?)
        .current_dir(folder.path())
        .status()
        .context("cannot start `tar`")?;
    ensure!(unpacked.success(), "`tar` cannot unpack the pairs");
    let mut rows: Vec<Row> = Vec::new();
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    for name in ["manifest.jsonl", "traps.jsonl"] {
        let text = fs::read_to_string(data.join(name)).with_context(|| format!("no `{name}`"))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            rows.push(serde_json::from_str(line).with_context(|| format!("a line of `{name}`"))?);
        }
        told.append(&mut ask(sprag, folder.path(), text)?);
    }
    Ok(report(&rows, &told))
}

/// Sends the rows unchanged: the classifier reads only `id` and `files`.
fn ask(sprag: &Path, root: &Path, lines: String) -> anyhow::Result<BTreeMap<String, Told>> {
    let mut child = Command::new(sprag)
        .args(["trace", "classify", "--jsonl", "--timing", "--jobs", "1", "--root"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", sprag.display()))?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().ok().context("the writer failed")??;
    ensure!(output.status.success(), "`trace classify` failed: {}", output.status);
    let mut told = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let answer: Value = serde_json::from_str(line).context("an answer is not JSON")?;
        let id = answer["id"].as_str().context("an answer without `id`")?.to_owned();
        let is_proved = answer["verdict"] == "PROVED";
        ensure!(is_proved == answer["proof"].is_object(), "`{id}`: proved and proof disagree");
        told.insert(id, Told { is_proved, ms: answer["ms"].as_f64().unwrap_or_default() });
    }
    Ok(told)
}

fn report(rows: &[Row], told: &BTreeMap<String, Told>) -> Report {
    let mut report = Report::default();
    let proved = |row: &Row| told.get(&row.id).is_some_and(|told| told.is_proved);
    let right = |row: &Row| proved(row) == row.is_refactor();
    let rows: Vec<Row> = rows.iter().filter(|row| row.disputed.is_none()).cloned().collect();
    let of = |so: &dyn Fn(&Row) -> bool| -> Vec<Row> { rows.iter().filter(|row| so(row)).cloned().collect() };
    let refactors = |so: &dyn Fn(&Row) -> bool| of(&|row| row.is_refactor() && so(row));
    let plain = of(&|row| row.origin != "trap");
    let core = of(&|row| row.is_core());
    for (name, share, least) in [
        ("all, accuracy", Share::of(&plain, right), 0.80),
        ("core, accuracy", Share::of(&core, right), 0.92),
        ("core, recall", Share::of(&refactors(&|row| row.is_core()), proved), 0.82),
        ("synthetic, recall", Share::of(&refactors(&|row| row.origin == "synthetic"), proved), 0.97),
        (
            "formatter, recall",
            Share::of(&refactors(&|row| row.kind.starts_with("format:")), proved),
            14.0 / 15.0,
        ),
        (
            "pure moves, recall",
            Share::of(&refactors(&|row| row.kind.starts_with("purity:")), proved),
            25.0 / 71.0,
        ),
        ("mechanical, recall", Share::of(&of(&|row| row.kind == "commit:mechanical"), proved), 0.50),
        ("structural, recall", Share::of(&of(&|row| row.kind == "commit:structural"), proved), 0.08),
    ] {
        report.lines.push(format!("{name:<22} {share}"));
        report.want(name, share, least);
    }
    for (name, group) in [
        ("false proofs, gold", of(&|row| !row.is_refactor() && row.origin != "trap" && row.is_core())),
        ("false proofs, traps", of(&|row| row.origin == "trap")),
    ] {
        let share = Share::of(&group, proved);
        report.lines.push(format!("{name:<22} {share}"));
        report.want_most(name, share, 0.0);
        report
            .errors
            .push((name, group.iter().filter(|row| proved(row)).map(|row| row.id.clone()).collect()));
    }
    let mut times: Vec<f64> = told.values().map(|told| told.ms).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    report.lines.push(format!("{:<22} median {:.1}, p95 {:.1}", "ms of a change set", at(0.5), at(0.95)));
    let lost = rows.iter().filter(|row| row.is_refactor() && !proved(row));
    report.errors.push(("not proved", lost.map(|row| format!("{}  {}", row.id, row.kind)).collect()));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, label: &str, kind: &str, origin: &str) -> Row {
        Row { id: id.into(), label: label.into(), kind: kind.into(), origin: origin.into(), disputed: None }
    }

    #[test]
    fn one_proved_trap_is_a_missed_target() {
        let rows =
            [row("a", "AST_REFACTOR", "syn:x", "synthetic"), row("t", "INTENT_EVOLUTION", "trap:x", "trap")];
        let told = |trap: bool| {
            let answer = |is_proved| Told { is_proved, ms: 1.0 };
            BTreeMap::from([("a".to_owned(), answer(true)), ("t".to_owned(), answer(trap))])
        };
        assert!(report(&rows, &told(false)).missed.is_empty());
        assert_eq!(report(&rows, &told(true)).missed, ["false proofs, traps 1.000 (1/1), target at most 0"]);
    }
}
