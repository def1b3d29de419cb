use proptest::prelude::*;
use serde_json::{Value, json};

use sprag_base::record::RecordAuthor;

use super::*;

fn day(days: i64) -> Timestamp {
    Timestamp::from_millis(1_794_733_261_000).plus_seconds(days * 86_400)
}

fn told(kind: &str, session: &str, at: Timestamp, body: Value) -> Record {
    let mut record = Record::new(kind, at, body);
    record.session = Some(SessionId::new(session));
    record.actor = Some(RecordAuthor { client: Text::from("claude"), agent: None, role: None });
    record
}

fn call(session: &str, tool: &str, outcome: &str) -> Record {
    told("tool.finished", session, day(0), json!({"tool": tool, "outcome": outcome}))
}

fn fold(records: &[Record]) -> Stats {
    let mut stats = Stats::default();
    for record in records.iter() {
        stats.apply(record);
    }
    stats
}

#[test]
fn sessions_with_learnings_are_set_beside_those_without() {
    let shown = json!({"occasion": "start", "shown": [{"id": "a", "score": 0.5}]});
    let prompt = |session: &str, text: &str| {
        told("prompted", session, day(0), json!({"author": "user", "text": text}))
    };
    let stats = fold(&[
        told("session.started", "with", day(0), json!({})),
        told("learning.surfaced", "with", day(0), shown),
        call("with", "Bash", "ok"),
        told("verified", "with", day(0), json!({"status": "passed"})),
        prompt("without", "No is a fine word to start with"),
        call("without", "Bash", "failed"),
        call("without", "Bash", "failed"),
        call("without", "Read", "ok"),
        call("without", "Bash", "ok"),
        prompt("without", "no, the other one"),
        told("verified", "without", day(0), json!({"status": "passed"})),
        told("verified", "without", day(0), json!({"status": "failed"})),
        told("debt.opened", "without", day(0), json!({})),
        told("session.started", "idle", day(0), json!({})),
    ]);
    let SessionComparison { with, without } = stats.compared();
    assert_eq!((with.sessions, with.calls, with.passed, with.indebted), (1, 1.0, Some(1.0), 0.0));
    assert_eq!((without.sessions, without.calls, without.failures, without.retries), (1, 4.0, 2.0, 1.0));
    assert_eq!((without.corrections, without.passed, without.indebted), (1.0, Some(0.0), 1.0));
    assert_eq!(stats.weeks(1, day(0))[0].sessions, 3);
}

#[test]
fn a_command_about_a_session_begins_none() {
    let mut record = told("session.started", "s", day(0), json!({}));
    record.actor = Some(RecordAuthor::reporter());
    assert_eq!(fold(&[record]).weeks(1, day(0))[0].sessions, 0);
}

#[test]
fn weeks_are_counted_from_monday_and_quiet_ones_are_there() {
    let about = |days: i64| told("learning.dismissed", "s", day(days), json!({"ids": ["a"]}));
    // The first day is a Sunday.
    let stats = fold(&[about(0), about(1), about(7), about(8), about(21)]);
    let dismissed: Vec<u32> = stats.weeks(5, day(21)).iter().map(|week| week.dismissed).collect();
    assert_eq!(dismissed, [0, 1, 2, 1, 1]);
    assert_eq!(sparkline(&dismissed), ".▄█▄▄");
}

#[test]
fn a_trend_needs_something_to_compare_with() {
    assert_eq!(trend(&[0, 0, 0, 0, 1, 1, 1, 1]), None);
    assert_eq!(trend(&[9, 1, 1, 1, 1, 2, 2, 2, 0]), Some(50));
    assert_eq!(trend(&[1; 7]), None);
}

proptest! {
    /// Folding in two parts gives the same result as folding once.
    #[test]
    fn a_fold_may_be_kept(kinds in prop::collection::vec(0..6usize, 0..40), at in 0..40usize) {
        let names = ["learning.surfaced", "learning.dismissed", "learning.referred", "tool.finished", "reflection.skipped", "learning.rejected"];
        let records: Vec<Record> = kinds.iter().enumerate().map(|(day_of, kind)| {
            let body = json!({
                "ids": ["a"], "occasion": "start", "shown": [{"id": "a", "score": 1.0}], "tool": "Bash", "outcome": "failed",
                "summary": "some words", "stage": "schema", "reason": "x", "decider": "auto",
            });
            told(names[*kind], &format!("s{}", day_of % 3), day(day_of as i64), body)
        }).collect();
        let at = at.min(records.len());
        let kept = serde_json::to_string(&fold(&records[..at])).unwrap();
        let mut resumed: Stats = serde_json::from_str(&kept).unwrap();
        records[at..].iter().for_each(|record| resumed.apply(record));
        prop_assert_eq!(resumed, fold(&records));
    }
}
