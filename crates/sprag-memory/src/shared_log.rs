//! Merges records of several clones into one memory. Each clone writes its own file, so that git finds no
//! conflicts, and each reader sees another order. The order in time counts: if late records lead to another
//! state, Sprag adds records that correct it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use sprag_base::record::{Projection as _, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::redact;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::destination::{is_content, is_for_all};
use crate::learning::LearningStatus;
use crate::learnings::Learnings;
use crate::records::{LearningIds, MemoryRecord, Superseded};

/// The member that names the clone of a record.
pub const FROM: &str = "from";
/// The value of that member in a correcting record.
pub const SETTLED: &str = "union";

/// Returns a record of another clone in the form for this log. Accepts only known, well-formed records that
/// are not from the future.
pub fn taken(record: &Record, clone: &str, now: Timestamp) -> Option<Record> {
    let is_timely = record.at <= now.plus_seconds(24 * 60 * 60);
    if record.v != sprag_base::record::VERSION
        || !is_content(&record.kind)
        || !is_id(&record.id)
        || !is_timely
    {
        return None;
    }
    let mut said = MemoryRecord::read(record)?;
    let is_in_form = match &mut said {
        MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning) => {
            is_id(learning.id.as_str()) && is_for_all(learning)
        }
        MemoryRecord::Superseded(it) => is_id(it.id.as_str()) && is_id(it.by.as_str()),
        about => {
            about.ids_mut().is_some_and(|ids| !ids.is_empty() && ids.iter().all(|id| is_id(id.as_str())))
        }
    };
    if !is_in_form {
        return None;
    }
    let mut taken = Record::new(&record.kind, record.at, redact::value(said.body()).into_inner());
    taken.id.clone_from(&record.id);
    taken.session.clone_from(&record.session);
    taken.actor.clone_from(&record.actor);
    taken.rest.insert(FROM.to_owned(), json!(clone));
    Some(taken)
}

/// Removes records that no honest clone writes: a second text for an existing learning, and a learning
/// superseded by an unknown one.
pub fn retain_honest(known: &[Record], new: &mut Vec<Record>) {
    let accepted = |record: &Record| match MemoryRecord::read(record) {
        Some(MemoryRecord::Accepted(learning)) => Some(learning.id),
        _ => None,
    };
    let mut there: BTreeSet<Text<64>> = known.iter().filter_map(accepted).collect();
    new.retain(|record| accepted(record).is_none_or(|id| there.insert(id)));
    new.retain(|record| match MemoryRecord::read(record) {
        Some(MemoryRecord::Superseded(superseded)) => there.contains(&superseded.by),
        _ => true,
    });
}

/// Reports whether a record came from another clone, or corrects the state after such records.
pub fn is_foreign(record: &Record) -> bool {
    record.rest.contains_key(FROM)
}

fn is_id(text: &str) -> bool {
    (6..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the learnings that a record is about.
pub fn ids(record: &Record) -> Vec<String> {
    let ids = match MemoryRecord::read(record) {
        Some(MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning)) => vec![learning.id],
        Some(MemoryRecord::Superseded(superseded)) => vec![superseded.id],
        Some(MemoryRecord::Rated(rating)) => vec![rating.id],
        Some(MemoryRecord::Outcome(outcome)) => outcome.ids,
        Some(mut told) => told.ids_mut().map(std::mem::take).unwrap_or_default(),
        None => Vec::new(),
    };
    ids.iter().map(ToString::to_string).collect()
}

/// Returns the records that correct these learnings, so that their state equals that of all records in order
/// of time.
pub fn settling(records: &[Record], about: &BTreeSet<String>) -> Vec<MemoryRecord> {
    let concerned: Vec<&Record> =
        records.iter().filter(|record| ids(record).iter().any(|id| about.contains(id))).collect();
    let is_settling = |record: &Record| record.rest.get(FROM).is_some_and(|from| from == SETTLED);
    let made: BTreeMap<(Timestamp, &str), &Record> = concerned
        .iter()
        .filter(|record| !is_settling(record))
        .map(|record| ((record.at, record.id.as_str()), *record))
        .collect();
    let (mut is, mut wanted) = (Learnings::default(), Learnings::default());
    for record in concerned.iter() {
        is.apply(record);
    }
    for record in made.values() {
        wanted.apply(record);
    }
    let mut settled = Vec::new();
    for id in about {
        let (Some(now), Some(right)) = (is.get(id), wanted.get(id)) else { continue };
        let mut status = now.status();
        if now.learning != right.learning {
            settled.push(MemoryRecord::Corrected(Box::new(right.learning.clone())));
            status = if status == LearningStatus::Superseded { status } else { LearningStatus::Active };
        }
        let about = || LearningIds { ids: vec![Text::from(id.as_str())], how: Text::default() };
        if status != right.status() {
            match right.status() {
                LearningStatus::Active => settled.push(MemoryRecord::Restored(about())),
                LearningStatus::Archived => settled.push(MemoryRecord::Archived(about())),
                LearningStatus::Stale => {
                    settled.extend([MemoryRecord::Restored(about()), MemoryRecord::WentStale(about())])
                }
                LearningStatus::Superseded => {}
            }
        }
        if let Some(by) = right.superseded_by.clone().filter(|by| now.superseded_by.as_ref() != Some(by)) {
            let id = Text::from(id.as_str());
            settled.push(MemoryRecord::Superseded(Superseded { id, by, why: Text::default() }));
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use sprag_base::ids::SessionId;

    use super::*;
    use crate::learning::{Candidate, Learning};

    const LEARNINGS: [&str; 3] = ["learning-a", "learning-b", "learning-c"];

    fn learning(id: &str, summary: &str) -> Value {
        let candidate = Candidate::read(&json!({
            "category": "domain", "summary": format!("a statement numbered {summary}"), "tags": ["x"],
            "detail": "more about it than the summary has", "criteria_met": ["stable_fact"],
        }));
        json!(Learning::new(id, candidate.unwrap(), &SessionId::new("s"), None, Timestamp::from_millis(0)))
    }

    /// Builds one change of one learning, at its time.
    fn made(at: usize, id: &str, what: usize) -> Record {
        let about = json!({"ids": [id]});
        let (kind, body) = match what {
            0 => ("learning.corrected", learning(id, &at.to_string())),
            1 => ("learning.archived", about),
            2 => ("learning.restored", about),
            3 => ("learning.stale", about),
            4 => ("learning.verified", about),
            _ => ("learning.superseded", json!({"id": id, "by": format!("learning-{at}")})),
        };
        Record { id: format!("record-{at:04}"), ..Record::new(kind, Timestamp::from_millis(at as i64), body) }
    }

    fn take_in(log: &mut Vec<Record>, new: Vec<Record>) {
        let about = new.iter().flat_map(ids).collect();
        log.extend(new);
        let next = log.len();
        for (at, settled) in settling(log, &about).into_iter().enumerate() {
            let mut record = settled.record(Timestamp::from_millis(1_000_000));
            record.id = format!("settled-{next}-{at}");
            record.rest.insert(FROM.to_owned(), json!(SETTLED));
            log.push(record);
        }
    }

    fn picture(log: &[Record]) -> Vec<(String, LearningStatus, Option<Text<64>>)> {
        let mut folded = Learnings::default();
        for record in log.iter() {
            folded.apply(record);
        }
        let shown = |entry: &crate::learnings::LearningEntry| {
            (entry.learning.candidate.summary.to_string(), entry.status(), entry.superseded_by.clone())
        };
        folded.all().map(shown).collect()
    }

    proptest! {
        /// The result does not depend on the order of the other clones' files.
        #[test]
        fn the_union_does_not_depend_on_the_order(
            steps in prop::collection::vec((0usize..3, prop_oneof![9 => 0usize..5, 1 => Just(5usize)]), 0..20),
            order in prop::collection::vec(0usize..4, 23),
            first in 0usize..4,
        ) {
            let accepted = LEARNINGS.iter().enumerate().map(|(at, id)| {
                let body = learning(id, "0");
                Record { id: format!("accepted-{at}"), ..Record::new("learning.accepted", Timestamp::from_millis(-1), body) }
            });
            let changes = steps.iter().enumerate().map(|(at, (id, what))| made(at, LEARNINGS[*id], *what));
            let all: Vec<Record> = accepted.chain(changes).collect();
            let of = |clone: usize| -> Vec<Record> {
                all.iter().zip(&order).filter(|(_, of)| **of == clone).map(|(record, _)| record.clone()).collect()
            };
            let mut pictures = Vec::new();
            for shift in [first, first + 1, first + 2, first + 3] {
                let mut log = Vec::new();
                for clone in 0..4 {
                    take_in(&mut log, of((clone + shift) % 4));
                }
                pictures.push(picture(&log));
            }
            let mut in_time = Vec::new();
            take_in(&mut in_time, all.clone());
            prop_assert_eq!(pictures[0].len(), LEARNINGS.len());
            for found in &pictures {
                prop_assert_eq!(found, &picture(&in_time));
            }
        }
    }

    #[test]
    fn only_what_is_in_form_and_for_all_is_taken() {
        let now = Timestamp::from_millis(0);
        let record =
            |kind: &str, body: Value| Record { id: "record-0001".to_owned(), ..Record::new(kind, now, body) };
        let good = taken(&record("learning.accepted", learning("learning-a", "1")), "c", now).unwrap();
        assert!(is_foreign(&good) && good.rest[FROM] == "c");
        let mut personal = learning("learning-a", "1");
        personal["scope"] = json!("personal");
        assert_eq!(taken(&record("learning.accepted", personal), "c", now), None);
        let mut shapeless = learning("learning-a", "1");
        shapeless["tags"] = json!([]);
        assert_eq!(taken(&record("learning.accepted", shapeless), "c", now), None);
        assert_eq!(
            taken(&record("learning.surfaced", json!({})), "c", now),
            None,
            "usage stays in its clone"
        );
        assert_eq!(taken(&record("learning.archived", json!({"ids": ["../../x"]})), "c", now), None);
        let future = Record {
            at: now.plus_seconds(90_000),
            ..record("learning.archived", json!({"ids": ["learning-a"]}))
        };
        assert_eq!(taken(&future, "c", now), None);
    }
}
