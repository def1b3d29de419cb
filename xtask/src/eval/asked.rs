//! The answers of the program: one process answers all rows in order.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::json;

use sprag_base::result::Discard as _;

use super::rows::Row;

/// The directory that the labels assume. The program reads nothing from it.
const CWD: &str = "/home/test/project";
const HOME: &str = "/home/test";

/// An answer of the program. An unusable answer counts as wrong everywhere, so that a missing program does
/// not look precise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub id: Option<String>,
    pub verdict: String,
    pub matched: bool,
    pub uncertain: bool,
    #[serde(skip)]
    pub lost: bool,
}

impl Answer {
    pub fn is(&self, verdicts: &[&str]) -> bool {
        verdicts.contains(&self.verdict.as_str())
    }

    fn lost() -> Answer {
        Answer { verdict: "none".to_owned(), lost: true, ..Answer::default() }
    }
}

pub fn ask(sprag: &Path, args: &[&str], rows: &[Row]) -> anyhow::Result<Vec<Answer>> {
    let home = tempfile::tempdir()?;
    let mut child = Command::new(sprag)
        .args(["policy", "check", "--jsonl"])
        .args(args)
        .env_clear()
        .envs([("HOME", home.path()), ("SPRAG_HOME", home.path())])
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot start `{}`", sprag.display()))?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    let lines: Vec<String> = rows.iter().map(|row| question(row) + "\n").collect();
    // A separate thread writes, because the input and the output are longer than the pipes.
    let writer = thread::spawn(move || lines.iter().try_for_each(|line| stdin.write_all(line.as_bytes())));
    let output = child.wait_with_output()?;
    writer.join().discard("a program that ended early shows by its missing answers");
    ensure!(output.status.success(), "`sprag policy check` ended with {}", output.status);
    Ok(answers(rows, &output.stdout))
}

fn question(row: &Row) -> String {
    let mut question = json!({"id": row.id, "cmd": row.cmd, "cwd": CWD, "home": HOME});
    if let Some(pattern) = &row.pattern {
        question["pattern"] = json!(pattern);
    }
    question.to_string()
}

fn answers(rows: &[Row], output: &[u8]) -> Vec<Answer> {
    let mut lines = output.split(|byte| *byte == b'\n');
    let answer = |row: &Row| {
        let answer: Option<Answer> = lines.next().and_then(|line| serde_json::from_slice(line).ok());
        answer
            .filter(|answer| answer.is(&["allow", "ask", "deny", "none"]))
            // An answer with another id does not count.
            .filter(|answer| answer.id.as_ref().is_none_or(|id| *id == row.id))
            .unwrap_or_else(Answer::lost)
    };
    rows.iter().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_belong_to_their_questions() {
        let row = |id: &str| Row { id: id.to_owned(), ..Row::default() };
        let rows = [row("a"), row("b"), row("c"), row("d")];
        let output = b"{\"id\":\"a\",\"verdict\":\"deny\",\"matched\":true}\nnot json\n{\"id\":\"x\",\"verdict\":\"allow\"}\n";
        let told: Vec<(String, bool)> =
            answers(&rows, output).into_iter().map(|answer| (answer.verdict, answer.lost)).collect();
        let none = ("none".to_owned(), true);
        assert_eq!(told, [("deny".to_owned(), false), none.clone(), none.clone(), none]);
    }
}
