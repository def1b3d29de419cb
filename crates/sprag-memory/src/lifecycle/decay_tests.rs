use proptest::prelude::*;
use serde_json::{Value, json};

use sprag_base::record::{Projection as _, Record};

use super::*;
use crate::learnings::Learnings;

const DAY: i64 = 24 * 60 * 60;
const START: i64 = 1_794_733_261_000;

fn day(days: i64) -> Timestamp {
    Timestamp::from_millis(START).plus_seconds(days * DAY)
}

/// Builds a learning and its history: pairs of a day and a kind.
fn story(category: &str, criterion: &str, happened: &[(i64, &str)]) -> Learnings {
    let mut learnings = Learnings::default();
    let body = json!({
        "id": "0190f3c1", "schema_version": 2, "session": "s", "at": day(0), "category": category,
        "summary": "the cache is keyed by path alone", "detail": "rename a file and the old entry is served",
        "tags": ["cache"], "criteria_met": [criterion], "scope": "project", "confidence": "medium",
    });
    learnings.apply(&Record::new("learning.accepted", day(0), body));
    for (at, kind) in happened {
        learnings.apply(&Record::new(kind, day(*at), body_of(kind)));
    }
    learnings
}

fn body_of(kind: &str) -> Value {
    match kind {
        "learning.surfaced" => json!({"occasion": "start", "shown": [{"id": "0190f3c1", "score": 0.5}]}),
        _ => json!({"ids": ["0190f3c1"]}),
    }
}

fn at(learnings: &Learnings, days: i64) -> Decay {
    decay(learnings.all(), &DecaySettings::default(), day(days))
}

const PASSED_OVER: [(i64, &str); 3] =
    [(1, "learning.dismissed"), (2, "learning.dismissed"), (3, "learning.dismissed")];

#[test]
fn one_that_was_passed_over_leaves_after_ninety_days_and_says_so_before() {
    let learnings = story("pattern", "stable_fact", &PASSED_OVER);
    assert_eq!(at(&learnings, 82), Decay::default());
    assert_eq!(at(&learnings, 83).soon[0].days_left, 7);
    assert!(at(&learnings, 89).archive.is_empty());
    let due = &at(&learnings, 90).archive[0];
    assert_eq!(due.why.as_str(), "90 days without use; shown 0 times, dismissed 3 times, never used");
}

#[test]
fn one_that_nobody_was_shown_stays() {
    assert_eq!(at(&story("pattern", "stable_fact", &[]), 4000), Decay::default());
    let twice = story("pattern", "stable_fact", &PASSED_OVER[..2]);
    assert_eq!(at(&twice, 4000), Decay::default());
}

#[test]
fn a_reference_and_a_verification_start_the_clock_anew_and_being_shown_does_not() {
    for kind in ["learning.referred", "learning.implied", "learning.verified", "learning.restored"] {
        let learnings = story("pattern", "stable_fact", &[&PASSED_OVER[..], &[(60, kind)]].concat());
        assert!(at(&learnings, 149).archive.is_empty(), "{kind}");
        assert_eq!(at(&learnings, 150).archive.len(), 1, "{kind}");
    }
    let shown = [&PASSED_OVER[..], &[(60, "learning.surfaced"), (89, "learning.surfaced")]].concat();
    assert_eq!(at(&story("pattern", "stable_fact", &shown), 90).archive.len(), 1);
}

#[test]
fn five_times_shown_in_vain_need_thirty_days() {
    let shown: Vec<(i64, &str)> = (1..=5).map(|day| (day, "learning.surfaced")).collect();
    let learnings = story("debugging", "stable_fact", &shown);
    assert!(at(&learnings, 29).archive.is_empty());
    assert_eq!(at(&learnings, 30).archive.len(), 1);
    let used = [&shown[..], &[(2, "learning.implied")]].concat();
    assert!(at(&story("debugging", "stable_fact", &used), 4000).archive.is_empty());
}

#[test]
fn who_is_of_use_often_enough_stays_whatever_its_age() {
    let with = |uses: usize| [&PASSED_OVER[..], &vec![(4, "learning.referred"); uses][..]].concat();
    for (category, least) in
        [("pattern", 3), ("pitfall", 3), ("domain", 2), ("convention", 2), ("process", 1)]
    {
        let leaves = |uses: usize| !at(&story(category, "stable_fact", &with(uses)), 4000).archive.is_empty();
        assert!(leaves(least - 1) && !leaves(least), "{category}");
    }
}

#[test]
fn what_a_user_asked_for_is_only_flagged() {
    let found = at(&story("pattern", "explicit_request", &PASSED_OVER), 400);
    assert_eq!((found.archive.len(), found.flagged.len()), (0, 1));
    assert_eq!(at(&story("pattern", "explicit_request", &PASSED_OVER), 85), Decay::default());
}

#[test]
fn what_is_archived_is_not_archived_again() {
    let again = [&PASSED_OVER[..], &[(90, "learning.archived")]].concat();
    assert_eq!(at(&story("pattern", "stable_fact", &again), 400), Decay::default());
}

#[test]
fn a_hit_rate_starts_at_a_quarter() {
    let rate =
        |referred, implied, dismissed| hit_rate(&Uses { referred, implied, dismissed, ..Uses::default() });
    assert_eq!([rate(0, 0, 0), rate(1, 0, 0), rate(0, 2, 0), rate(0, 0, 4)], [0.25, 0.4, 1.0 / 3.0, 0.125]);
}

proptest! {
    /// Being shown never delays the archive.
    #[test]
    fn surfacing_keeps_nothing_alive(shown in prop::collection::vec(4..89i64, 0..20), days in 0..200i64) {
        let more: Vec<(i64, &str)> = shown.into_iter().map(|day| (day, "learning.surfaced")).collect();
        let plain = at(&story("pattern", "stable_fact", &PASSED_OVER), days);
        let surfaced = at(&story("pattern", "stable_fact", &[&PASSED_OVER[..], &more].concat()), days);
        prop_assert!(surfaced.archive.len() >= plain.archive.len());
    }

    /// A learning that was referred to in time is never archived.
    #[test]
    fn what_is_referred_to_stays(
        happened in prop::collection::vec((0..300i64, 0..4usize), 0..60), referred in 0..300i64, after in 0..90i64,
    ) {
        let kinds = ["learning.surfaced", "learning.dismissed", "learning.implied", "learning.stale"];
        let mut all: Vec<(i64, &str)> = happened.into_iter().map(|(day, kind)| (day, kinds[kind])).collect();
        all.push((referred, "learning.referred"));
        all.sort();
        prop_assert!(at(&story("pitfall", "stable_fact", &all), referred + after).archive.is_empty());
    }
}
