//! The learnings that each session was shown, and their use: a fold of the log. So Sprag can also settle a
//! session whose end it did not see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::records::MemoryRecord;
use crate::usage::{self, UsageChange};

/// A session that was silent for this long has ended.
pub const LOST_SECONDS: i64 = 24 * 60 * 60;
/// The limit on sessions. Older ones are settled or never will be.
const SESSIONS: usize = 2000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposures {
    sessions: BTreeMap<SessionId, Exposure>,
}

/// The learnings that one session was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    pub shown: Vec<ShownTo>,
    /// The session skipped its reflection, so its exposure proves nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_skipped: bool,
    pub last: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownTo {
    pub id: Text<64>,
    pub fate: ExposureFate,
}

/// The use of a learning by a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExposureFate {
    Open,
    Used,
    Dismissed,
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client reported the end, or the session was silent for a day after a stop.
    Done,
    /// The session ended in the middle of a turn, so the use of its learnings is unknown.
    Crashed,
}

impl Exposures {
    pub fn get(&self, session: &SessionId) -> Option<&Exposure> {
        self.sessions.get(session)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Exposure)> {
        self.sessions.iter()
    }
}

impl Exposure {
    /// Returns the learnings that were shown but not used. A record of the dismissal closes them.
    pub fn dismissals(&self, ending: SessionEnd) -> Vec<Text<64>> {
        if self.has_skipped || ending == SessionEnd::Crashed {
            return Vec::new();
        }
        self.shown
            .iter()
            .filter(|shown| shown.fate == ExposureFate::Open)
            .map(|shown| shown.id.clone())
            .collect()
    }

    fn apply_change(&mut self, id: &str, change: UsageChange) {
        let at = self.shown.iter().position(|shown| shown.id.as_str() == id);
        match (change, at) {
            (UsageChange::Surfaced, None) => {
                self.shown.push(ShownTo { id: Text::from(id), fate: ExposureFate::Open })
            }
            (
                UsageChange::Referred | UsageChange::Implied | UsageChange::Rated { is_useful: true },
                Some(at),
            ) => {
                self.shown[at].fate = ExposureFate::Used;
            }
            (UsageChange::Dismissed, Some(at)) if self.shown[at].fate == ExposureFate::Open => {
                self.shown[at].fate = ExposureFate::Dismissed;
            }
            _ => {}
        }
    }
}

impl Projection for Exposures {
    const NAME: &'static str = "exposures";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["learning.", "reflection.skipped"];

    fn apply(&mut self, record: &Record) {
        let (Some(session), Some(told)) = (&record.session, MemoryRecord::read(record)) else { return };
        let changes = usage::changes(&told);
        let is_shown = matches!(told, MemoryRecord::Surfaced(_)) && !changes.is_empty();
        if is_shown && !self.sessions.contains_key(session) && self.sessions.len() >= SESSIONS {
            let oldest = self.sessions.iter().min_by_key(|(_, exposure)| exposure.last);
            if let Some(oldest) = oldest.map(|(session, _)| session.clone()) {
                self.sessions.remove(&oldest);
            }
        }
        let exposure = if is_shown {
            self.sessions.entry(session.clone()).or_default()
        } else {
            match self.sessions.get_mut(session) {
                Some(exposure) => exposure,
                None => return,
            }
        };
        exposure.last = exposure.last.max(record.at);
        exposure.has_skipped |= matches!(told, MemoryRecord::Skipped(_));
        for (id, change) in changes.iter() {
            exposure.apply_change(id, *change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(kind: &str, session: &str, body: Value) -> Record {
        let mut record = Record::new(kind, Timestamp::from_millis(0), body);
        record.session = Some(SessionId::new(session));
        record
    }

    fn shown(session: &str, ids: &[&str]) -> Record {
        let shown: Vec<Value> = ids.iter().map(|id| json!({"id": id, "score": 0.5})).collect();
        told("learning.surfaced", session, json!({"occasion": "start", "shown": shown}))
    }

    fn about(kind: &str, session: &str, id: &str) -> Record {
        told(kind, session, json!({ "ids": [id] }))
    }

    fn left(records: &[Record], session: &str, ending: SessionEnd) -> Vec<String> {
        let mut exposures = Exposures::default();
        for record in records.iter() {
            exposures.apply(record);
        }
        let exposure = exposures.get(&SessionId::new(session)).cloned().unwrap_or_default();
        exposure.dismissals(ending).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_was_neither_named_nor_used_is_dismissed_once() {
        let mut records = vec![shown("s", &["a", "b", "c"]), shown("s", &["a"]), shown("t", &["a"])];
        records.push(about("learning.referred", "s", "b"));
        records.push(about("learning.implied", "s", "c"));
        assert_eq!(left(&records, "s", SessionEnd::Done), ["a"]);
        records.push(about("learning.dismissed", "s", "a"));
        assert_eq!(left(&records, "s", SessionEnd::Done), [""; 0], "told twice, it counts once");
        assert_eq!(left(&records, "t", SessionEnd::Done), ["a"]);
    }

    #[test]
    fn a_session_that_skipped_or_crashed_proves_nothing() {
        let mut records = vec![shown("s", &["a"])];
        assert_eq!(left(&records, "s", SessionEnd::Crashed), [""; 0]);
        records.push(told("reflection.skipped", "s", json!({"why": "a typo"})));
        assert_eq!(left(&records, "s", SessionEnd::Done), [""; 0]);
    }

    #[test]
    fn what_was_never_shown_is_no_exposure() {
        assert_eq!(left(&[about("learning.referred", "s", "a")], "s", SessionEnd::Done), [""; 0]);
    }
}
