//! The results of sessions with and without learnings: the real test of a memory.

use serde::{Deserialize, Serialize};

use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::records::JournalStep;

/// The totals of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTotals {
    pub started: Timestamp,
    /// The session was shown a learning.
    pub is_informed: bool,
    pub calls: u32,
    pub failures: u32,
    /// Repeated calls of a tool right after it failed.
    pub retries: u32,
    pub prompts: u32,
    pub corrections: u32,
    pub debts: u32,
    /// The last result of the checks.
    pub passed: Option<bool>,
    /// The tool that failed last, until another tool is used.
    failed: Option<Text<64>>,
}

/// Sessions with learnings compared to sessions without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionComparison {
    pub with: SessionMeans,
    pub without: SessionMeans,
}

/// Means over sessions with at least one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SessionMeans {
    pub sessions: u32,
    pub calls: f32,
    pub failures: f32,
    pub retries: f32,
    pub corrections: f32,
    /// The share of sessions whose checks passed at the end, among sessions with checks.
    pub passed: Option<f32>,
    /// The share of sessions with a debt.
    pub indebted: f32,
}

impl SessionTotals {
    pub(super) fn new(at: Timestamp) -> SessionTotals {
        SessionTotals { started: at, ..SessionTotals::default() }
    }

    pub(super) fn add_record(&mut self, record: &Record) {
        match record.kind.as_str() {
            "learning.surfaced" => self.is_informed = true,
            "tool.finished" => {
                let step = JournalStep::read(record);
                let tool = step.tool.unwrap_or_default();
                self.calls += 1;
                self.retries += u32::from(self.failed.as_ref() == Some(&tool));
                let has_failed = step.outcome.as_str() == "failed";
                self.failures += u32::from(has_failed);
                self.failed = has_failed.then_some(tool);
            }
            "prompted" => {
                let step = JournalStep::read(record);
                if step.author.as_str() == "user" {
                    self.corrections += u32::from(self.prompts > 0 && is_correction(&step.text));
                    self.prompts += 1;
                }
            }
            "verified" => self.passed = Some(JournalStep::read(record).status.as_str() == "passed"),
            "debt.opened" => self.debts += 1,
            _ => {}
        }
    }
}

impl SessionComparison {
    pub(super) fn from_totals<'a>(runs: impl Iterator<Item = &'a SessionTotals>) -> SessionComparison {
        let (with, without): (Vec<&SessionTotals>, Vec<&SessionTotals>) =
            runs.filter(|run| run.calls > 0).partition(|run| run.is_informed);
        SessionComparison {
            with: SessionMeans::from_totals(&with),
            without: SessionMeans::from_totals(&without),
        }
    }
}

impl SessionMeans {
    fn from_totals(runs: &[&SessionTotals]) -> SessionMeans {
        let count = runs.len().max(1) as f32;
        let mean =
            |of: &dyn Fn(&SessionTotals) -> u32| runs.iter().map(|run| of(run)).sum::<u32>() as f32 / count;
        let checked: Vec<bool> = runs.iter().filter_map(|run| run.passed).collect();
        let passed = checked.iter().filter(|passed| **passed).count() as f32;
        SessionMeans {
            sessions: runs.len() as u32,
            calls: mean(&|run| run.calls),
            failures: mean(&|run| run.failures),
            retries: mean(&|run| run.retries),
            corrections: mean(&|run| run.corrections),
            passed: (!checked.is_empty()).then(|| passed / checked.len() as f32),
            indebted: mean(&|run| u32::from(run.debts > 0)),
        }
    }
}

/// Words that start a correction by the user.
const CORRECTIONS: &[&str] = &[
    "no",
    "nope",
    "not",
    "wrong",
    "don't",
    "dont",
    "do not",
    "stop",
    "undo",
    "revert",
    "actually",
    "instead",
    "that's not",
    "thats not",
    "that is not",
    "this is not",
    "you forgot",
    "you missed",
    "i said",
    "i meant",
    "i told you",
    "again",
    "still",
    "why did you",
    "that's wrong",
    "it's wrong",
];

fn is_correction(prompt: &str) -> bool {
    let start: String = prompt.trim_start().chars().take(40).collect::<String>().to_lowercase();
    let ends_there = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'');
    CORRECTIONS.iter().any(|word| start.strip_prefix(word).is_some_and(ends_there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_known_by_its_beginning() {
        for text in [
            "No, the other file",
            "  wrong: it is red",
            "don't touch main",
            "Actually, use sqlite",
            "still red",
        ] {
            assert!(is_correction(text), "{text}");
        }
        for text in
            ["now add a test", "nothing else", "notes go there", "stopwatch please", "add no more", ""]
        {
            assert!(!is_correction(text), "{text}");
        }
    }
}
