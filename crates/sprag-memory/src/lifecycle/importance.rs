//! How much a record matters once it is old: what it is, how it went, and whether a person was behind it. It
//! decides what a summary keeps whole, and ranks no learnings.

use sprag_base::record::Record;

use crate::episode::EPISODE;

/// From 0 to 1.
pub fn importance(record: &Record) -> f32 {
    let body = &record.body;
    let is = |name: &str, value: &str| body[name] == value;
    let base = match record.kind.as_str() {
        // Somebody thought it worth a sentence.
        "observed" => 0.6,
        EPISODE => 0.5,
        "prompted" => 0.3,
        "warned" => 0.3,
        "tool.finished" => 0.1,
        _ => 0.05,
    };
    let outcome = match () {
        () if is("outcome", "fixed") => 0.2,
        () if is("outcome", "failed") => 0.1,
        () if is("outcome", "passed") => -0.2,
        () => 0.0,
    };
    let cost = match body["tries"].as_u64() {
        Some(tries) if tries >= 4 => 0.2,
        Some(3) => 0.1,
        _ => 0.0,
    };
    let users = if record.kind == "prompted" && is("author", "user") { 0.1 } else { 0.0 };
    let held = if is("verdict", "hold") { 0.1 } else { 0.0 };
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
        assert!(of(EPISODE, json!({"outcome": "fixed", "tries": 2})) >= 0.6);
        assert!(of(EPISODE, json!({"outcome": "passed", "tries": 2})) < 0.6);
        assert!(of("tool.finished", json!({"outcome": "failed", "verdict": "hold"})) < 0.6);
        assert!(of("prompted", json!({"author": "user"})) > of("prompted", json!({"author": "client"})));
        assert!(of("observed", json!({"tries": 99, "outcome": "fixed", "verdict": "hold"})) <= 1.0);
    }
}
