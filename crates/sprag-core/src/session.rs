//! The state of one client session: a fold of its journal. Every record may carry `set`, the
//! parts that changed; a snapshot carries all of them. Parts this version does not know are kept
//! as they are, so that an older program beside a newer one loses nothing.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::breaker::Breaker;
use crate::digest::Digest;
use crate::gates::Gates;
use crate::obligation::Obligation;
use crate::text::Text;
use crate::time::Timestamp;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub about: About,
    pub breaker: Breaker,
    pub stops: Stops,
    pub gates: Gates,
    unknown: Map<String, Value>,
}

/// Plain facts of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// When its first event came.
    pub started: Option<Timestamp>,
    /// Where it started.
    #[serde(default)]
    pub cwd: String,
    /// The worktree it started in.
    #[serde(default)]
    pub root: String,
    /// The commit that was checked out then.
    #[serde(default)]
    pub head: Option<Text<64>>,
    /// A write or exec call was let through.
    pub worked: bool,
    pub ended: bool,
    /// The process that calls our hooks. Commands that are a person's refuse below it.
    pub client: Option<Process>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// In the system's own unit: tells a process from a later one with the same number.
    pub start: u64,
}

/// What the session's stops have come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stops {
    /// Open after the last stop that was judged, by gate.
    pub owed: Vec<Owed>,
    /// Let go as debt already, until its gate is content again.
    pub released: Vec<Released>,
    /// How often a stop with this digest passed because the agent asked the user something.
    pub asked: BTreeMap<Digest, u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Released {
    pub gate: Text<32>,
    pub digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owed {
    pub gate: Text<32>,
    pub obligation: Obligation,
}

/// Names of the parts that a `set` held and that could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unreadable(pub Vec<String>);

impl Session {
    /// All parts, for a snapshot.
    pub fn whole(&self) -> Map<String, Value> {
        self.changes(&Session::default())
    }

    /// The parts that differ from `before`.
    pub fn changes(&self, before: &Session) -> Map<String, Value> {
        let mut set = Map::new();
        part(&mut set, "about", &self.about, &before.about);
        part(&mut set, "breaker", &self.breaker, &before.breaker);
        part(&mut set, "stops", &self.stops, &before.stops);
        self.gates.changes(&before.gates, &mut set);
        for (name, value) in &self.unknown {
            part(&mut set, name, value, before.unknown.get(name).unwrap_or(&Value::Null));
        }
        set
    }

    /// Folds one `set`. A part that cannot be read keeps its value and is named.
    pub fn apply(&mut self, set: Map<String, Value>) -> Unreadable {
        let mut unreadable = Unreadable::default();
        for (name, value) in set {
            let read = match name.as_str() {
                "about" => take(&mut self.about, value),
                "breaker" => take(&mut self.breaker, value),
                "stops" => take(&mut self.stops, value),
                _ => match self.gates.set(&name, value) {
                    Ok(read) => read,
                    Err(value) => {
                        self.unknown.insert(name.clone(), value);
                        true
                    }
                },
            };
            if !read {
                unreadable.0.push(name);
            }
        }
        unreadable
    }
}

pub(crate) fn part<T: Serialize + PartialEq>(set: &mut Map<String, Value>, name: &str, now: &T, before: &T) {
    if now != before {
        set.insert(name.to_owned(), serde_json::to_value(now).expect("state is plain data with text keys"));
    }
}

pub(crate) fn take<T: DeserializeOwned>(slot: &mut T, value: Value) -> bool {
    match serde_json::from_value(value) {
        Ok(read) => {
            *slot = read;
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_newer_version_survives() {
        let mut session = Session::default();
        let Value::Object(set) = json!({"about": {"started": null, "worked": true, "ended": false, "client": null}, "gate.future": {"x": 1}})
        else {
            unreachable!()
        };
        assert_eq!(session.apply(set), Unreadable::default());
        assert!(session.about.worked);
        assert_eq!(session.whole()["gate.future"], json!({"x": 1}));
    }

    #[test]
    fn a_part_that_cannot_be_read_is_named_and_kept() {
        let mut session = Session::default();
        session.about.worked = true;
        let Value::Object(set) = json!({"about": 3}) else { unreachable!() };
        assert_eq!(session.apply(set), Unreadable(vec!["about".to_owned()]));
        assert!(session.about.worked);
    }

    #[test]
    fn nothing_changed_is_an_empty_set() {
        let session = Session::default();
        assert!(session.changes(&session.clone()).is_empty());
    }
}
