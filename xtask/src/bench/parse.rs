//! The time that the shipped program takes to read a command line: typical lines, and a line of a megabyte,
//! which must need bounded work.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use super::stats::Spread;

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    #[serde(flatten)]
    pub spread: Spread,
}

/// Command lines as agents write them.
const TYPICAL: &[&str] = &[
    "ls -la",
    "git status --short",
    "cargo test --workspace 2>&1 | tail -20",
    "cd crates/core && cargo build --release",
    "grep -rn 'fn main' src --include='*.rs' | head -5",
    "git add src/lib.rs && git commit -m 'Read empty files' && git push",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "npm ci && npm run build && npm test -- --watch=false",
    "sed -i 's/old/new/g' README.md && git diff --stat",
    "curl -s https://example.com/api | jq '.items[] | .name'",
    "python3 -c 'import json; print(json.load(open(\"a.json\"))[\"x\"])'",
    "find . -name '*.tmp' -mtime +7 -print",
    "if [ -f Makefile ]; then make -j4; else echo none; fi",
    "docker compose up -d && docker compose logs --tail=50 web",
    "cat > notes.md <<'EOF'\n# Notes\nrm -rf / is only text here\nEOF",
    "FOO=1 BAR=\"$HOME/x\" timeout 30 ./run.sh --fast",
];

pub fn measure(program: &Path, rounds: usize) -> anyhow::Result<Vec<Row>> {
    let mut lines = Vec::new();
    for _ in 0..rounds {
        lines.extend(TYPICAL.iter().map(|cmd| json!({ "cmd": cmd }).to_string()));
    }
    let long = "echo aaaaaaaaaaaaaaaa && ".repeat(40_000);
    let long = vec![json!({ "cmd": long[..1_000_000] }).to_string(); 20];
    Ok(vec![
        Row { case: "(a typical command line)".to_owned(), spread: Spread::of(&times(program, &lines)?) },
        Row { case: "(a line of a megabyte)".to_owned(), spread: Spread::of(&times(program, &long)?) },
    ])
}

/// Returns the time that the program reports for each line.
fn times(program: &Path, lines: &[String]) -> anyhow::Result<Vec<Duration>> {
    let mut child = Command::new(program)
        .args(["policy", "check", "--jsonl", "--timed"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the program")?;
    let mut input = child.stdin.take().context("no stdin")?;
    let mut output = BufReader::new(child.stdout.take().context("no stdout")?);
    let mut times = Vec::with_capacity(lines.len());
    for line in lines {
        writeln!(input, "{line}")?;
        let mut answer = String::new();
        output.read_line(&mut answer)?;
        let answer: Value = serde_json::from_str(&answer).context("an answer is not JSON")?;
        let nanos = answer["read_ns"].as_u64().context("an answer without `read_ns`")?;
        times.push(Duration::from_nanos(nanos));
    }
    drop(input);
    ensure!(child.wait()?.success(), "`policy check` failed");
    Ok(times)
}
