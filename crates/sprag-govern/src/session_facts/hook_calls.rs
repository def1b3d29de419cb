//! Recognises an event that reaches Sprag twice, because two settings register its hooks: a plugin and
//! `sprag init`, for example. The client sends the same event to both at the same time.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::event::Input;
use crate::verdict::Ruling;

/// Milliseconds between two calls of one event at most. A client starts all hooks of an event together.
const TOGETHER_MILLIS: i64 = 10_000;
/// Number of events that Sprag remembers: more than the parallel calls of an agent.
const HEARD: usize = 32;
/// Number of registrations that Sprag remembers.
const REGISTRATIONS: usize = 4;

/// The registrations of Sprag's hooks that called it in a session, and the events that they sent last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCalls {
    /// How the client called the program, by registration.
    #[serde(default)]
    registrations: Vec<Text<400>>,
    /// The first event of the session, and all new ones once there are two registrations.
    #[serde(default)]
    heard: Vec<HeardEvent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HeardEvent {
    event: Digest,
    /// Index of the registration.
    by: usize,
    at: Timestamp,
    answer: HeardAnswer,
}

/// The answer to an event that another registration sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeardAnswer {
    Passed,
    /// Sprag held the call or asked about it.
    Refused,
}

impl HookCalls {
    pub(crate) fn is_unused(&self) -> bool {
        self.registrations.is_empty()
    }

    /// Reports whether the session knows this registration.
    pub fn knows(&self, registration: &Text<400>) -> bool {
        self.registrations.contains(registration)
    }

    /// Returns the answer to the same event, if another registration sent it before.
    pub fn repeated(&self, input: &Input) -> Option<HeardAnswer> {
        let by = self.index_of(input.registration.as_ref()?);
        let is_other = |heard: &&HeardEvent| heard.by != by && is_together(heard.at, input.at);
        let mut others = self.heard.iter().filter(is_other).peekable();
        others.peek()?;
        let event = digest(input);
        others.find(|heard| heard.event == event).map(|heard| heard.answer)
    }

    /// Adds a registration to those that called in this session.
    pub fn add(&mut self, registration: &Text<400>) {
        if !self.knows(registration) && self.registrations.len() < REGISTRATIONS {
            self.registrations.push(registration.clone());
        }
    }

    /// Remembers an event and its answer. With a single registration only the first one counts, because no
    /// second call can follow the others.
    pub(crate) fn hear(&mut self, input: &Input, ruling: &Ruling) {
        let Some(registration) = &input.registration else {
            return;
        };
        let is_first = self.registrations.is_empty();
        if !is_first && self.registrations.len() == 1 && self.knows(registration) {
            return;
        }
        self.add(registration);
        let answer = match ruling {
            Ruling::Pass | Ruling::Allow { .. } => HeardAnswer::Passed,
            Ruling::Ask { .. } | Ruling::Hold { .. } => HeardAnswer::Refused,
        };
        self.heard.retain(|heard| is_together(heard.at, input.at));
        if self.heard.len() >= HEARD {
            self.heard.remove(0);
        }
        let by = self.index_of(registration);
        self.heard.push(HeardEvent { event: digest(input), by, at: input.at, answer });
    }

    fn index_of(&self, registration: &Text<400>) -> usize {
        let known = self.registrations.iter().position(|known| known == registration);
        known.unwrap_or(self.registrations.len())
    }
}

fn is_together(one: Timestamp, other: Timestamp) -> bool {
    (one.millis() - other.millis()).abs() <= TOGETHER_MILLIS
}

/// Returns the digest of an event. Two registrations get the same payload, so their events are equal.
fn digest(input: &Input) -> Digest {
    Digest::hash_parts([format!("{:?}", (&input.event, &input.actor))])
}

#[cfg(test)]
mod tests {
    use sprag_base::ids::SessionId;

    use super::*;
    use crate::event::{Event, StopRequest};

    fn stop(by: &str, millis: i64) -> Input {
        let event = Event::StopRequested(StopRequest::default());
        let input = Input::new(Timestamp::from_millis(millis), SessionId::new("s"), event);
        Input { registration: Some(Text::from(by)), ..input }
    }

    #[test]
    fn equal_stops_count_once_for_two_registrations_in_any_order() {
        let mut calls = HookCalls::default();
        let mut counted = 0;
        for (by, at) in [("a", 0), ("b", 1), ("b", 20), ("a", 21), ("a", 40), ("b", 41), ("c", 42)] {
            let input = stop(by, at);
            match calls.repeated(&input) {
                Some(_) => calls.add(&Text::from(by)),
                None => {
                    counted += 1;
                    calls.hear(&input, &Ruling::Pass);
                }
            }
        }
        assert_eq!(counted, 3);
    }

    #[test]
    fn a_single_registration_repeats_nothing() {
        let mut calls = HookCalls::default();
        for at in 0..3 {
            assert_eq!(calls.repeated(&stop("a", at)), None);
            calls.hear(&stop("a", at), &Ruling::Pass);
        }
        assert_eq!(calls.heard.len(), 1);
    }

    #[test]
    fn an_equal_stop_counts_once_the_other_registration_is_gone() {
        let mut calls = HookCalls::default();
        calls.hear(&stop("a", 0), &Ruling::Pass);
        assert_eq!(calls.repeated(&stop("b", 5)), Some(HeardAnswer::Passed));
        assert_eq!(calls.repeated(&stop("b", TOGETHER_MILLIS + 1)), None);
    }
}
