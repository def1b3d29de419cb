//! One memory from the records of several clones. Each writes a file of its own, so that nothing conflicts;
//! whoever reads them has them in another order. What counts is the order in time: where what came late
//! leaves another picture, further records set it right.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use sprag_base::record::{Projection as _, Record};
use sprag_base::redact;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::destination::{is_content, is_for_all};
use crate::learning::{Learning, LearningStatus};
use crate::learnings::Learnings;
use crate::records::{self, LearningIds, Superseded};

/// The member of a record that says which clone it came from.
pub const FROM: &str = "from";
/// What stands there in a record that only sets the picture right.
pub const SETTLED: &str = "union";

/// A record of another clone as it may stand in our log: only what is known and in form, and nothing of it
/// from a time that has not come.
pub fn taken(record: &Record, clone: &str, now: Timestamp) -> Option<Record> {
    let is_timely = record.at <= now.plus_seconds(24 * 60 * 60);
    if record.v != sprag_base::record::VERSION
        || !is_content(&record.kind)
        || !is_id(&record.id)
        || !is_timely
    {
        return None;
    }
    let body = match record.kind.as_str() {
        records::ACCEPTED | records::CORRECTED => {
            let learning = serde_json::from_value::<Learning>(record.body.clone()).ok()?;
            (is_id(learning.id.as_str()) && is_for_all(&learning)).then(|| json!(learning))?
        }
        records::SUPERSEDED => {
            let it = serde_json::from_value::<Superseded>(record.body.clone()).ok()?;
            (is_id(it.id.as_str()) && is_id(it.by.as_str())).then(|| json!(it))?
        }
        _ => {
            let it = serde_json::from_value::<LearningIds>(record.body.clone()).ok()?;
            (!it.ids.is_empty() && it.ids.iter().all(|id| is_id(id.as_str()))).then(|| json!(it))?
        }
    };
    let mut taken = Record::new(&record.kind, record.at, redact::value(body).into_inner());
    taken.id.clone_from(&record.id);
    taken.session.clone_from(&record.session);
    taken.actor.clone_from(&record.actor);
    taken.rest.insert(FROM.to_owned(), json!(clone));
    Some(taken)
}

/// Leaves out of what is new what no honest clone writes: a second text under the name of a learning that is
/// there, and one said to be superseded by what nobody has.
pub fn retain_honest(known: &[Record], new: &mut Vec<Record>) {
    let accepted = |record: &Record| {
        let id = record.body["id"].as_str().filter(|_| record.kind == records::ACCEPTED);
        id.map(str::to_owned)
    };
    let mut there: BTreeSet<String> = known.iter().filter_map(accepted).collect();
    new.retain(|record| accepted(record).is_none_or(|id| there.insert(id)));
    let is_there = |id: &Value| id.as_str().is_some_and(|id| there.contains(id));
    new.retain(|record| record.kind != records::SUPERSEDED || is_there(&record.body["by"]));
}

/// Whether a record came from another clone, or sets right what did.
pub fn is_foreign(record: &Record) -> bool {
    record.rest.contains_key(FROM)
}

fn is_id(text: &str) -> bool {
    (6..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Learnings a record is about.
pub fn ids(record: &Record) -> Vec<String> {
    let body = &record.body;
    let one = body["id"].as_str().map(str::to_owned);
    let many = body["ids"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    one.into_iter().chain(many).collect()
}

/// What has to be added to records in the order they came, so that these learnings are as if all had come
/// in the order they were made.
pub fn settling(records: &[Record], about: &BTreeSet<String>) -> Vec<(&'static str, Value)> {
    let concerned: Vec<&Record> =
        records.iter().filter(|record| ids(record).iter().any(|id| about.contains(id))).collect();
    let is_settling = |record: &Record| record.rest.get(FROM).is_some_and(|from| from == SETTLED);
    let made: BTreeMap<(Timestamp, &str), &Record> = concerned
        .iter()
        .filter(|record| !is_settling(record))
        .map(|record| ((record.at, record.id.as_str()), *record))
        .collect();
    let (mut is, mut wanted) = (Learnings::default(), Learnings::default());
    concerned.iter().for_each(|record| is.apply(record));
    made.values().for_each(|record| wanted.apply(record));
    let mut settled = Vec::new();
    for id in about {
        let (Some(now), Some(right)) = (is.get(id), wanted.get(id)) else { continue };
        let mut status = now.status();
        if now.learning != right.learning {
            settled.push((records::CORRECTED, json!(right.learning)));
            status = if status == LearningStatus::Superseded { status } else { LearningStatus::Active };
        }
        let about = || json!(LearningIds { ids: vec![Text::from(id.as_str())], how: Text::default() });
        if status != right.status() {
            match right.status() {
                LearningStatus::Active => settled.push((records::RESTORED, about())),
                LearningStatus::Archived => settled.push((records::ARCHIVED, about())),
                LearningStatus::Stale => {
                    settled.extend([(records::RESTORED, about()), (records::WENT_STALE, about())])
                }
                LearningStatus::Superseded => {}
            }
        }
        if let Some(by) = right.superseded_by.clone().filter(|by| now.superseded_by.as_ref() != Some(by)) {
            let id = Text::from(id.as_str());
            settled.push((records::SUPERSEDED, json!(Superseded { id, by, why: Text::default() })));
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use sprag_base::ids::SessionId;

    use super::*;
    use crate::learning::Candidate;

    const LEARNINGS: [&str; 3] = ["learning-a", "learning-b", "learning-c"];

    fn learning(id: &str, summary: &str) -> Value {
        let candidate = Candidate::read(&json!({
            "category": "domain", "summary": format!("a statement numbered {summary}"), "tags": ["x"],
            "detail": "more about it than the summary has", "criteria_met": ["stable_fact"],
        }));
        json!(Learning::new(id, candidate.unwrap(), &SessionId::new("s"), None, Timestamp::from_millis(0)))
    }

    /// One thing that happened to one learning, at its time.
    fn made(at: usize, id: &str, what: usize) -> Record {
        let about = json!({"ids": [id]});
        let (kind, body) = match what {
            0 => (records::CORRECTED, learning(id, &at.to_string())),
            1 => (records::ARCHIVED, about),
            2 => (records::RESTORED, about),
            3 => (records::WENT_STALE, about),
            4 => (records::VERIFIED, about),
            _ => (records::SUPERSEDED, json!({"id": id, "by": format!("learning-{at}")})),
        };
        Record { id: format!("record-{at:04}"), ..Record::new(kind, Timestamp::from_millis(at as i64), body) }
    }

    fn take_in(log: &mut Vec<Record>, new: Vec<Record>) {
        let about = new.iter().flat_map(ids).collect();
        log.extend(new);
        let next = log.len();
        for (at, (kind, body)) in settling(log, &about).into_iter().enumerate() {
            let mut record = Record::new(kind, Timestamp::from_millis(1_000_000), body);
            record.id = format!("settled-{next}-{at}");
            record.rest.insert(FROM.to_owned(), json!(SETTLED));
            log.push(record);
        }
    }

    fn picture(log: &[Record]) -> Vec<(String, LearningStatus, Option<Text<64>>)> {
        let mut folded = Learnings::default();
        log.iter().for_each(|record| folded.apply(record));
        let shown = |entry: &crate::learnings::LearningEntry| {
            (entry.learning.candidate.summary.to_string(), entry.status(), entry.superseded_by.clone())
        };
        folded.all().map(shown).collect()
    }

    proptest! {
        /// Whatever the order in which the files of other clones come, the picture is the same.
        #[test]
        fn the_union_does_not_depend_on_the_order(
            steps in prop::collection::vec((0usize..3, prop_oneof![9 => 0usize..5, 1 => Just(5usize)]), 0..20),
            order in prop::collection::vec(0usize..4, 23),
            first in 0usize..4,
        ) {
            let accepted = LEARNINGS.iter().enumerate().map(|(at, id)| {
                let body = learning(id, "0");
                Record { id: format!("accepted-{at}"), ..Record::new(records::ACCEPTED, Timestamp::from_millis(-1), body) }
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
        let good = taken(&record(records::ACCEPTED, learning("learning-a", "1")), "c", now).unwrap();
        assert!(is_foreign(&good) && good.rest[FROM] == "c");
        let mut personal = learning("learning-a", "1");
        personal["scope"] = json!("personal");
        assert_eq!(taken(&record(records::ACCEPTED, personal), "c", now), None);
        let mut shapeless = learning("learning-a", "1");
        shapeless["tags"] = json!([]);
        assert_eq!(taken(&record(records::ACCEPTED, shapeless), "c", now), None);
        assert_eq!(
            taken(&record(records::SURFACED, json!({})), "c", now),
            None,
            "how others use it is theirs"
        );
        assert_eq!(taken(&record(records::ARCHIVED, json!({"ids": ["../../x"]})), "c", now), None);
        let future = Record {
            at: now.plus_seconds(90_000),
            ..record(records::ARCHIVED, json!({"ids": ["learning-a"]}))
        };
        assert_eq!(taken(&future, "c", now), None);
    }
}
