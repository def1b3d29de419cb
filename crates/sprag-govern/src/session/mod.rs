//! The state of one client session, folded from its journal. A record may carry `set`, the parts that
//! changed; a snapshot carries all parts. Parts that this version does not know stay unchanged, so that an
//! older program next to a newer one loses nothing.

pub mod open_prompt;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_intent::SelectedIntent;

use crate::approval::RefusedCall;
use crate::breaker::Breaker;
use crate::event::Input;
use crate::facts::SessionChanges;
use crate::gates::completion::{self, CheckRun};
use crate::gates::review::ReviewGate;
use crate::gates::{Ask, GateStates};
use crate::obligation::Obligation;
use crate::session_facts::{SessionFacts, part, read_json_into};
use crate::trackers::Ticket;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub about: SessionFacts,
    pub breaker: Breaker,
    pub stops: StopState,
    pub(crate) gates: GateStates,
    unknown: Map<String, Value>,
}

/// The obligations that the session's stops found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopState {
    /// Open after the last judged stop, by gate.
    pub owed: Vec<OwedDuty>,
    /// Released as debts, until their gate has no obligation again.
    pub released: Vec<ReleasedDuty>,
    /// How often a stop with this digest passed because the agent asked the user a question.
    pub asked: BTreeMap<Digest, u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleasedDuty {
    pub gate: Text<32>,
    pub digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedDuty {
    pub gate: Text<32>,
    pub obligation: Obligation,
}

/// Names of the parts of a `set` that could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnreadableParts(pub Vec<String>);

impl Session {
    /// Returns the obligations that the session has now: those of its last stop, and those that its gates
    /// found later. A released obligation is a debt and is not included.
    pub fn open(&self, id: &SessionId) -> Vec<OwedDuty> {
        if self.about.ended {
            return Vec::new();
        }
        let mut owed = self.stops.owed.clone();
        for (gate, obligation) in self.gates.open(id) {
            owed.retain(|known| known.gate.as_str() != gate);
            let is_let_go =
                |let_go: &ReleasedDuty| let_go.gate.as_str() == gate && let_go.digest == obligation.digest;
            if !self.stops.released.iter().any(is_let_go) {
                owed.push(OwedDuty { gate: Text::from(gate), obligation });
            }
        }
        owed
    }

    /// Returns the state of the session's review.
    pub fn review(&self) -> &ReviewGate {
        &self.gates.review
    }

    /// Returns the intent that the session serves, and the time of its selection.
    pub fn selected_intent(&self) -> Option<(&SelectedIntent, Option<Timestamp>)> {
        self.gates.scope.chosen.as_ref().map(|chosen| (chosen, self.gates.scope.since))
    }

    /// Returns the ticket in work, or the last closed one.
    pub fn ticket(&self) -> Option<&Ticket> {
        self.gates.reflection.ticket()
    }

    /// Returns the refused calls that a person may allow now.
    pub fn open_refusals(self) -> impl Iterator<Item = RefusedCall> {
        self.gates.permission.open().chain(self.gates.scope.open())
    }

    /// Returns the state of each gate that has several states.
    pub fn gate_states(&self) -> Vec<(&'static str, &'static str)> {
        self.gates.states()
    }

    /// Returns the checks that the session must pass for this event.
    pub fn check_run(
        &self,
        input: &Input,
        settings: &completion::Settings,
        changes: Option<&SessionChanges>,
    ) -> Option<CheckRun> {
        self.gates.completion.plan(&Ask { session: &self.about, input, settings }, changes)
    }

    /// Drops single-use approvals, because their use cannot be recorded.
    pub fn forget_single_use(&mut self) {
        self.gates.forget_single_use();
    }

    /// Returns all parts, for a snapshot.
    pub fn whole(&self) -> Map<String, Value> {
        self.changes(&Session::default())
    }

    /// Returns the parts that differ from `before`.
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

    /// Folds one `set`. A part that cannot be read keeps its value, and its name is returned.
    pub fn apply(&mut self, set: Map<String, Value>) -> UnreadableParts {
        let unreadable = set.into_iter().filter(|(name, value)| !self.read(name, &value.to_string()));
        UnreadableParts(unreadable.map(|(name, _)| name).collect())
    }

    /// Reads one part from its JSON. Returns `false` if it cannot be read; the part then keeps its value.
    pub fn read(&mut self, name: &str, json: &str) -> bool {
        match name {
            "about" => read_json_into(&mut self.about, json),
            "breaker" => read_json_into(&mut self.breaker, json),
            "stops" => read_json_into(&mut self.stops, json),
            _ => self.gates.read(name, json).unwrap_or_else(|| match serde_json::from_str(json) {
                Ok(value) => {
                    self.unknown.insert(name.to_owned(), value);
                    true
                }
                Err(_) => false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::session_facts::Activity;

    #[test]
    fn a_part_of_a_newer_version_survives() {
        let mut session = Session::default();
        let Value::Object(set) = json!({"about": {"started": null, "worked": true, "ended": false, "client": null}, "gate.future": {"x": 1}})
        else {
            unreachable!()
        };
        assert_eq!(session.apply(set), UnreadableParts::default());
        assert!(session.about.activity.has_worked());
        assert_eq!(session.whole()["gate.future"], json!({"x": 1}));
    }

    #[test]
    fn a_part_that_cannot_be_read_is_named_and_kept() {
        let mut session = Session::default();
        session.about.activity = Activity::Worked;
        let Value::Object(set) = json!({"about": 3}) else { unreachable!() };
        assert_eq!(session.apply(set), UnreadableParts(vec!["about".to_owned()]));
        assert!(session.about.activity.has_worked());
    }

    #[test]
    fn nothing_changed_is_an_empty_set() {
        let session = Session::default();
        assert!(session.changes(&session.clone()).is_empty());
    }
}
