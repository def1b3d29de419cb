//! The importance of an old record: its kind, its outcome, and whether a person caused it. Summaries keep
//! important records; the value does not rank learnings.

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;

use crate::records::{JournalStep, MemoryRecord};

/// Returns the importance from 0 to 1.
pub fn importance(record: &Record) -> f32 {
    let step = JournalStep::read(record);
    let tries = match MemoryRecord::read(record) {
        Some(MemoryRecord::Episode(episode)) => episode.tries,
        _ => 0,
    };
    let base = match record.kind.as_str() {
        // The author wrote it on purpose.
        "observed" => 0.6,
        "episode" => 0.5,
        "prompted" => 0.3,
        "warned" => 0.3,
        "tool.finished" => 0.1,
        _ => 0.05,
    };
    let outcome = match step.outcome.as_str() {
        "fixed" => 0.2,
        "failed" => 0.1,
        "passed" => -0.2,
        _ => 0.0,
    };
    let cost = match tries {
        0..=2 => 0.0,
        3 => 0.1,
        _ => 0.2,
    };
    let users = if record.kind == "prompted" && step.author.as_str() == "user" { 0.1 } else { 0.0 };
    let held = if step.verdict.as_str() == "hold" { 0.1 } else { 0.0 };
    f32::clamp(base + outcome + cost + users + held, 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use sprag_base::time::Timestamp;

    use super::*;

    fn of(kind: &str, body: Value) -> f32 {
        importance(&Record::new(kind, Timestamp::from_millis(0), body))
    }

    #[test]
    fn notes_and_what_helped_matter_and_single_calls_do_not() {
        assert!(of("observed", json!({"note": "x"})) >= 0.6);
        assert!(of("episode", json!({"outcome": "fixed", "tries": 2})) >= 0.6);
        assert!(of("episode", json!({"outcome": "passed", "tries": 2})) < 0.6);
        assert!(of("tool.finished", json!({"outcome": "failed", "verdict": "hold"})) < 0.6);
        assert!(of("prompted", json!({"author": "user"})) > of("prompted", json!({"author": "client"})));
        assert!(of("observed", json!({"tries": 99, "outcome": "fixed", "verdict": "hold"})) <= 1.0);
    }
}
