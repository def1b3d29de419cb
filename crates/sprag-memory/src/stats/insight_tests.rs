use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection as _, Record, RecordAuthor};

use super::*;
use crate::lifecycle::decay;

const DAY: i64 = 24 * 60 * 60;

fn day(days: i64) -> Timestamp {
    Timestamp::from_millis(1_794_733_261_000).plus_seconds(days * DAY)
}

/// A growing log, and its insights at the end.
#[derive(Default)]
struct Story {
    learnings: Learnings,
    stats: Stats,
    settings: CurrentSettings,
    days: i64,
}

impl Story {
    fn told(&mut self, kind: &str, session: &str, body: Value) {
        let mut record = Record::new(kind, day(self.days), body);
        record.session = Some(SessionId::new(session));
        record.actor = Some(RecordAuthor { client: Text::from("claude"), agent: None, role: None });
        self.learnings.apply(&record);
        self.stats.apply(&record);
    }

    fn learns(&mut self, id: &str, category: &str, summary: &str) {
        self.learns_by(id, category, summary, "stable_fact");
    }

    fn learns_by(&mut self, id: &str, category: &str, summary: &str, criterion: &str) {
        let body = json!({
            "id": id, "schema_version": 2, "session": "own", "at": day(self.days), "category": category,
            "summary": summary, "detail": "a detail that is long enough to be one", "tags": ["x"],
            "criteria_met": [criterion], "scope": "project", "confidence": "medium",
        });
        self.told("learning.accepted", "own", body);
    }

    fn happens(&mut self, kind: &str, id: &str, times: usize) {
        for time in 0..times {
            let body = match kind {
                "learning.surfaced" => json!({"occasion": "start", "shown": [{"id": id, "score": 0.5}]}),
                _ => json!({ "ids": [id] }),
            };
            self.told(kind, &format!("s{time}"), body);
        }
    }

    fn rejects(&mut self, stage: &str, summary: &str) {
        self.told("learning.rejected", "own", json!({"summary": summary, "stage": stage, "reason": "vague"}));
    }

    fn says(&self) -> Vec<Insight> {
        let policy = decay::DecaySettings::default();
        insights(&self.learnings, &self.stats, &policy, &self.settings, day(self.days))
    }

    fn kinds(&self) -> Vec<InsightKind> {
        self.says().into_iter().map(|insight| insight.kind).collect()
    }
}

#[test]
fn nothing_is_said_of_an_empty_log() {
    assert_eq!(Story::default().says(), []);
}

#[test]
fn what_leaves_within_a_week_is_named() {
    let mut story = Story::default();
    story.learns("aaaaaa", "domain", "orders close at midnight");
    story.happens("learning.dismissed", "aaaaaa", 3);
    assert_eq!(story.kinds(), []);
    story.days = 85;
    let said = &story.says()[0];
    assert_eq!((said.kind, said.ids[0].as_str()), (InsightKind::DecayWarning, "aaaaaa"));
    assert!(said.what.as_str().contains("will be archived in 5 days"), "{}", said.what);
    assert_eq!(said.next.as_str(), "if it is still true, run `sprag memory verify aaaaaa`");
}

#[test]
fn use_in_three_other_sessions_is_worth_a_wider_scope() {
    let mut story = Story::default();
    story.learns("aaaaaa", "domain", "orders close at midnight");
    story.told("learning.referred", "own", json!({"ids": ["aaaaaa"]}));
    story.happens("learning.referred", "aaaaaa", 2);
    assert!(!story.kinds().contains(&InsightKind::HighCrossPollination));
    story.happens("learning.implied", "aaaaaa", 3);
    assert_eq!(story.kinds(), [InsightKind::HighCrossPollination]);
}

#[test]
fn good_ones_that_fell_silent_and_good_ones_nobody_sees() {
    let mut story = Story::default();
    story.learns("aaaaaa", "domain", "orders close at midnight");
    story.happens("learning.referred", "aaaaaa", 2);
    story.happens("learning.surfaced", "aaaaaa", 2);
    assert_eq!(story.kinds(), [InsightKind::HighValueRare]);
    story.days = 60;
    assert_eq!(story.kinds(), [InsightKind::StaleTop]);
}

#[test]
fn a_category_that_is_hardly_of_use() {
    let mut story = Story::default();
    story.learns("aaaaaa", "process", "the release is cut on friday");
    story.learns("bbbbbb", "process", "hotfixes start at the last tag");
    story.happens("learning.dismissed", "aaaaaa", 5);
    story.happens("learning.dismissed", "bbbbbb", 3);
    story.happens("learning.implied", "bbbbbb", 1);
    assert!(!story.kinds().contains(&InsightKind::LowHitCategory), "nine are too few");
    story.happens("learning.dismissed", "aaaaaa", 1);
    assert!(story.kinds().contains(&InsightKind::LowHitCategory));
}

#[test]
fn one_criterion_for_everything_is_a_stamp() {
    let mut story = Story::default();
    let topics =
        ["orders", "parsers", "caches", "tokens", "queues", "graphs", "ledgers", "invoices", "robots"];
    for (at, topic) in topics.iter().enumerate() {
        story.learns(&format!("id{at}aaaa"), "domain", &format!("{topic} have to be looked at"));
    }
    assert!(!story.kinds().contains(&InsightKind::RubberStamping), "nine are too few");
    story.learns("tenth0", "domain", "printers are on the second floor");
    assert!(story.kinds().contains(&InsightKind::RubberStamping));
    story.learns_by("eleven", "domain", "the second printer jams", "behavior_changing");
    story.learns_by("twelve", "domain", "paper is in the cellar", "behavior_changing");
    assert!(!story.kinds().contains(&InsightKind::RubberStamping));
}

#[test]
fn a_gate_that_keeps_out_what_comes_back_is_too_strict() {
    let mut story = Story::default();
    for at in 0..9 {
        story.learns(&format!("id{at}aaaa"), "domain", &format!("orders of kind {at} close at hour {at}"));
    }
    story.rejects("specificity", "the ledger is rounded half to even");
    assert!(!story.kinds().contains(&InsightKind::GateTooStrict));
    story.learns("tenth0", "domain", "the ledger is rounded half to even, not half up");
    let said = story.says().into_iter().find(|insight| insight.kind == InsightKind::GateTooStrict).unwrap();
    assert!(said.what.as_str().contains("1 of 1 at `specificity`"), "{}", said.what);
    assert_eq!(said.change, None, "the write gate is nobody's to loosen but a person's");
}

#[test]
fn a_gate_that_keeps_out_most_is_too_strict_and_one_that_keeps_out_nothing_useless_too_loose() {
    let mut story = Story::default();
    story.learns("aaaaaa", "domain", "orders close at midnight");
    (0..9).for_each(|at| story.rejects("plausibility", &format!("thing {at}")));
    assert!(story.kinds().contains(&InsightKind::GateTooStrict));
    let mut story = Story::default();
    for at in 0..10 {
        story.learns(&format!("id{at}aaaa"), "domain", &format!("orders of kind {at} close at hour {at}"));
        story.happens("learning.dismissed", &format!("id{at}aaaa"), 1);
    }
    assert!(story.kinds().contains(&InsightKind::GateTooLoose));
    assert!(!story.kinds().contains(&InsightKind::GateTooStrict));
}

#[test]
fn a_skip_before_a_learning_was_one_too_many() {
    let mut story = Story {
        settings: CurrentSettings { line_threshold: 5, ..CurrentSettings::default() },
        ..Story::default()
    };
    story.told("reflection.skipped", "own", json!({"why": "auto: 3 lines changed", "decider": "auto"}));
    assert_eq!(story.kinds(), []);
    story.days = 3;
    story.learns("aaaaaa", "domain", "orders close at midnight");
    let said = &story.says()[0];
    let change = said.change.clone().unwrap();
    assert_eq!(
        (said.kind, change.key, change.to.as_str()),
        (InsightKind::SkipMiss, "gate.auto_skip.line_threshold", "2")
    );
    let mut late = Story::default();
    late.told("reflection.skipped", "own", json!({"why": "a typo", "decider": "agent"}));
    late.days = 20;
    late.learns("aaaaaa", "domain", "orders close at midnight");
    assert_eq!(late.kinds(), []);
}

#[test]
fn what_is_shown_in_vain_is_shown_less() {
    let mut story = Story {
        settings: CurrentSettings { strategy: "moderate".to_owned(), ..CurrentSettings::default() },
        ..Story::default()
    };
    for id in ["aaaaaa", "bbbbbb", "cccccc"] {
        let before = story.says().last().and_then(|insight| insight.change.clone());
        assert_eq!(before, None);
        story.learns(id, "domain", "orders close at midnight");
        story.happens("learning.surfaced", id, 5);
        story.happens("learning.dismissed", id, 5);
        assert_eq!(story.kinds().last(), Some(&InsightKind::OverSurfaced));
    }
    let change = story.says().last().and_then(|insight| insight.change.clone()).unwrap();
    assert_eq!((change.key, change.to.as_str()), ("retrieval.strategy", "conservative"));
}
