use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn at(days: i64) -> Timestamp {
    Timestamp::parse("2026-06-01T12:00:00Z").unwrap().plus_seconds(days * 86_400)
}

fn record(id: usize, kind: &str, days: i64, body: Value) -> Record {
    let mut record = Record::new(kind, at(days), body);
    record.id = format!("r{id}");
    record.session = Some(SessionId::new(format!("s{}", id % 3)));
    record
}

fn any_record() -> impl Strategy<Value = Record> {
    (0..1000usize, 0..5usize, 0..4usize).prop_map(|(id, kind, text)| {
        let kinds = ["tool.finished", "observed", "episode", "prompted", "learning.accepted"];
        let body = json!({
            "tool": "Bash", "outcome": (["ok", "failed", "fixed"][text % 3]), "note": format!("note {text}"),
            "command": "make", "error": "x", "fix": format!("fix {text}"), "tries": text, "author": "user",
        });
        record(id, kinds[kind], 0, body)
    })
}

fn told(records: &[Record]) -> TierSummary {
    let mut summary = TierSummary::of_day(at(0));
    for record in records.iter() {
        summary.add(record);
    }
    summary
}

#[test]
fn a_day_keeps_what_matters_and_counts_the_rest() {
    let summary = told(&[
        record(1, "tool.finished", 0, json!({"tool": "Bash", "outcome": "failed"})),
        record(2, "tool.finished", 0, json!({"tool": "Bash", "outcome": "ok"})),
        record(3, "observed", 0, json!({"note": "the cache is keyed by path"})),
        record(4, "observed", 0, json!({"note": "the cache is keyed by path"})),
        record(5, "learning.accepted", 0, json!({})),
    ]);
    assert_eq!((summary.records, summary.of.as_str(), summary.sessions.len()), (4, "2026-06-01", 3));
    assert_eq!(summary.tools[&Text::from("Bash")], (2, 1));
    let kept: Vec<&str> = summary.kept.iter().map(|whole| whole.text.as_str()).collect();
    assert_eq!(kept, ["the cache is keyed by path"]);
}

fn part(of: i64, month: &str, to: u64, count: usize) -> Record {
    let mut summary = TierSummary::of_day(at(of));
    (0..count).for_each(|id| summary.add(&record(id, "observed", of, json!({"note": format!("{of} {id}")}))));
    summary.cursor = Some(LogCursor { month: Text::from(month), to, last: Text::from("r") });
    Record::new("summary", at(of + 8), json!(summary))
}

#[test]
fn a_part_that_was_told_twice_counts_once() {
    let mut summaries = Summaries::default();
    for part in [part(0, "2026-06", 100, 2), part(0, "2026-06", 100, 2), part(0, "2026-06", 150, 1)] {
        summaries.apply(&part);
    }
    assert_eq!(summaries.days.values().map(|day| day.records).collect::<Vec<_>>(), [3]);
    assert_eq!(summaries.cursor("2026-06").unwrap().to, 150);
    assert_eq!(summaries.cursor("2026-05"), None);
}

#[test]
fn weeks_and_months_are_told_once_they_are_cold() {
    let mut summaries = Summaries::default();
    // The first of June 2026 is a Monday.
    for it in [part(0, "2026-06", 1, 1), part(6, "2026-06", 2, 1), part(7, "2026-06", 3, 1)].iter() {
        summaries.apply(it);
    }
    assert_eq!(summaries.due(at(36)), []);
    let due = summaries.due(at(37));
    assert_eq!(
        due.iter().map(|it| (it.span, it.of.as_str(), it.records)).collect::<Vec<_>>(),
        [(SummarySpan::Week, "2026-06-01", 2)]
    );
    for it in due.iter() {
        summaries.apply(&Record::new("summary", at(37), json!(it)));
    }
    let later: Vec<(SummarySpan, u64)> =
        summaries.due(at(70)).iter().map(|it| (it.span, it.records)).collect();
    assert_eq!(later, [(SummarySpan::Week, 1), (SummarySpan::Month, 3)]);
}

proptest! {
    /// A summary does not depend on how the records of a day are split.
    #[test]
    fn parts_add_up(records in prop::collection::vec(any_record(), 0..60), at_record in 0..60usize) {
        // Ids are unique.
        let mut records = records;
        records.sort_by(|a, b| a.id.cmp(&b.id));
        records.dedup_by(|a, b| a.id == b.id);
        let at_record = at_record.min(records.len());
        let mut parts = told(&records[..at_record]);
        parts.merge(&told(&records[at_record..]));
        prop_assert_eq!(parts, told(&records));
    }
}
