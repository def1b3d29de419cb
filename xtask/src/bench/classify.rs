//! The time that `trace classify` takes to distinguish refactoring from new behaviour, as the shipped program
//! reports it. It gets the same change in every language, in a file of usual length: once as a rename and
//! once as new behaviour.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::stats::Spread;

/// A function of each language, with placeholders for its number, a local and a literal.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "unit.py",
        "",
        "def work_N(items, limit):\n    LOCAL = 0\n    for item in items:\n        if item.size > limit:\n            LOCAL += item.size * VALUE\n    return LOCAL\n\n\n",
    ),
    (
        "unit.js",
        "",
        "function workN(items, limit) {\n  let LOCAL = 0;\n  for (const item of items) {\n    if (item.size > limit) {\n      LOCAL += item.size * VALUE;\n    }\n  }\n  return LOCAL;\n}\n\n",
    ),
    (
        "unit.ts",
        "",
        "function workN(items: Item[], limit: number): number {\n  let LOCAL = 0;\n  for (const item of items) {\n    if (item.size > limit) {\n      LOCAL += item.size * VALUE;\n    }\n  }\n  return LOCAL;\n}\n\n",
    ),
    (
        "unit.rs",
        "",
        "fn work_N(items: &[Item], limit: u64) -> u64 {\n    let mut LOCAL = 0;\n    for item in items {\n        if item.size > limit {\n            LOCAL += item.size * VALUE;\n        }\n    }\n    LOCAL\n}\n\n",
    ),
    (
        "unit.go",
        "package p\n\n",
        "func workN(items []Item, limit int) int {\n\tLOCAL := 0\n\tfor _, item := range items {\n\t\tif item.size > limit {\n\t\t\tLOCAL += item.size * VALUE\n\t\t}\n\t}\n\treturn LOCAL\n}\n\n",
    ),
    (
        "Unit.java",
        "class Unit {\n",
        "int workN(Item[] items, int limit) {\n  int LOCAL = 0;\n  for (Item item : items) {\n    if (item.size > limit) {\n      LOCAL += item.size * VALUE;\n    }\n  }\n  return LOCAL;\n}\n\n",
    ),
];

/// The number of functions that makes a source of about 17 KB, the median of changed files.
const UNITS: usize = 85;

pub fn run(program: &Path, rounds: usize) -> anyhow::Result<()> {
    println!("classify one change set in a file of about 17 KB (ms)");
    println!("{:<12} {:<8} {:>8} {:>8}", "file", "change", "median", "p99");
    for (path, head, function) in FUNCTIONS {
        let tail = if head.contains("class") { "}\n" } else { "" };
        let source = |local: &str, value: &str| {
            let units = (0..UNITS).map(|number| {
                let of_this = if number == UNITS / 2 { (local, value) } else { ("total", "2") };
                function
                    .replace('N', &number.to_string())
                    .replace("LOCAL", of_this.0)
                    .replace("VALUE", of_this.1)
            });
            format!("{head}{}{tail}", units.collect::<String>())
        };
        let before = source("total", "2");
        for (name, after, verdict) in
            [("rename", source("sum", "2"), "PROVED"), ("new", source("total", "3"), "CHANGED")]
        {
            let line = json!({
                "id": name,
                "files": [{"path_before": path, "path_after": path, "before_text": before, "after_text": after}],
            });
            let times = times(program, &line.to_string(), rounds.min(200), verdict)?;
            let spread = Spread::of(&times);
            println!(
                "{path:<12} {name:<8} {:>8.2} {:>8.2}",
                spread.median_us / 1000.0,
                spread.p99_us / 1000.0
            );
        }
    }
    Ok(())
}

fn times(program: &Path, line: &str, rounds: usize, verdict: &str) -> anyhow::Result<Vec<Duration>> {
    let mut child = Command::new(program)
        .args(["trace", "classify", "--jsonl", "--timing", "--jobs", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the program")?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let input = format!("{line}\n").repeat(rounds);
    // A separate thread writes, because the input and the output are longer than the pipes.
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().ok().context("the writer failed")??;
    ensure!(output.status.success(), "`trace classify` failed");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).context("an answer is not JSON")?;
            ensure!(answer["verdict"] == verdict, "answered {}, expected {verdict}", answer["verdict"]);
            let ms = answer["ms"].as_f64().context("an answer without `ms`")?;
            Ok(Duration::from_secs_f64(ms / 1000.0))
        })
        .collect()
}
