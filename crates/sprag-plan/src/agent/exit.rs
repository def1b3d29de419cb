//! The end of the agent of a session, as its supervisor records it.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::activity::AgentActivity;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub v: u32,
    pub ended: ExitStatus,
    pub by: EndedBy,
    pub at: Timestamp,
    /// How long it ran.
    pub millis: u64,
    /// The last known activity; a record of an earlier version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Box<AgentActivity>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
    /// The agent was never started.
    Refused {
        why: Text<500>,
    },
    /// The agent was never started, because its sandbox could not be set up.
    Unconfined {
        why: Text<500>,
    },
}

/// The cause of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    Itself,
    /// The time of the agent was used up.
    Deadline,
    /// A request to the supervisor.
    Told,
    /// The budget of the agent was used up.
    Budget,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_reads_as_it_is_meant() {
        let at = Timestamp::from_millis(0);
        let exit = Exit { v: 1, ended: ExitStatus::Code(0), by: EndedBy::Itself, at, millis: 5, seen: None };
        let text = serde_json::to_string(&exit).unwrap();
        assert_eq!(
            text,
            r#"{"v":1,"ended":{"code":0},"by":"itself","at":"1970-01-01T00:00:00.000Z","millis":5}"#
        );
        assert_eq!(serde_json::from_str::<Exit>(&text).unwrap(), exit);
    }
}
