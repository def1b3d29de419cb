//! Plain facts of a session. Gates read them and `decide` updates them.

pub mod hook_calls;
pub(crate) mod tasks;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_intent::SelectedIntent;

use crate::session_facts::hook_calls::HookCalls;
use crate::session_facts::tasks::Tasks;

/// Plain facts of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Time of its first event.
    pub started: Option<Timestamp>,
    /// Directory in which it started.
    #[serde(default)]
    pub cwd: String,
    /// Worktree in which it started.
    #[serde(default)]
    pub root: String,
    /// Commit that was checked out at the start.
    #[serde(default)]
    pub head: Option<Text<64>>,
    #[serde(flatten)]
    pub activity: Activity,
    /// The records were lost, so earlier obligations are unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Name of the baseline: the worktree before the first change.
    #[serde(default)]
    pub start: Option<Text<256>>,
    /// Files that it wrote; used outside git only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<Text<400>>,
    /// The client's own list of tasks.
    #[serde(default, skip_serializing_if = "Tasks::is_unused")]
    pub tasks: Tasks,
    /// Agents that it started and that still run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningAgent>,
    /// The agent asked the user a question with a tool and has no answer yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Text<128>>,
    /// The selected intent, as the scope gate accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<SelectedIntent>,
    /// The stage of a plan that it works on. It never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Text<64>>,
    pub ended: bool,
    /// The process that calls Sprag's hooks. Commands for people refuse to run below it.
    pub client: Option<Process>,
    /// How that process sends events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ClientChannel>,
    /// The registrations of the hooks.
    #[serde(default, skip_serializing_if = "HookCalls::is_unused")]
    pub hooks: HookCalls,
}

/// The changes of a session that Sprag knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "ActivityFlags", into = "ActivityFlags")]
pub enum Activity {
    /// No call that may change something passed.
    #[default]
    None,
    /// Such a call passed, but none since the last judged stop.
    Worked,
    /// Such a call passed since the last judged stop.
    Changed,
    /// Sprag ignored a stop after the change, because work still ran.
    ChangedAndPassedOver,
}

impl Activity {
    pub fn has_worked(self) -> bool {
        self >= Activity::Worked
    }

    pub fn has_changed(self) -> bool {
        self >= Activity::Changed
    }

    pub(crate) fn is_passed_over(self) -> bool {
        self == Activity::ChangedAndPassedOver
    }
}

/// The form of [`Activity`] in the journal.
#[derive(Serialize, Deserialize)]
struct ActivityFlags {
    worked: bool,
    #[serde(default)]
    changed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    passed_over: bool,
}

impl From<ActivityFlags> for Activity {
    fn from(flags: ActivityFlags) -> Activity {
        match (flags.worked, flags.changed, flags.passed_over) {
            (_, true, true) => Activity::ChangedAndPassedOver,
            (_, true, false) => Activity::Changed,
            (true, false, _) => Activity::Worked,
            (false, false, _) => Activity::None,
        }
    }
}

impl From<Activity> for ActivityFlags {
    fn from(activity: Activity) -> ActivityFlags {
        ActivityFlags {
            worked: activity.has_worked(),
            changed: activity.has_changed(),
            passed_over: activity.is_passed_over(),
        }
    }
}

/// A running agent that the session's own agent started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAgent {
    pub agent: Text<128>,
    pub since: Timestamp,
}

impl SessionFacts {
    pub fn is_waited_for(&self, now: Timestamp) -> bool {
        self.running.iter().any(|running| now.seconds_since(running.since) < FORGOTTEN_SECONDS)
    }

    pub(crate) fn agent_started(&mut self, agent: &Text<128>, now: Timestamp) {
        self.agent_stopped(agent);
        if self.running.len() < RUNNING {
            self.running.push(RunningAgent { agent: agent.clone(), since: now });
        }
    }

    pub(crate) fn agent_stopped(&mut self, agent: &Text<128>) {
        self.running.retain(|running| running.agent != *agent);
    }

    pub(crate) fn touch(&mut self, path: &str) {
        let path = Text::from(path);
        if self.touched.len() < TOUCHED && !self.touched.contains(&path) {
            self.touched.push(path);
        }
    }
}

pub(crate) fn part<T: Serialize + PartialEq>(set: &mut Map<String, Value>, name: &str, now: &T, before: &T) {
    if now != before {
        set.insert(name.to_owned(), serde_json::to_value(now).expect("state is plain data with text keys"));
    }
}

pub(crate) fn read_json_into<T: DeserializeOwned>(slot: &mut T, json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(read) => {
            *slot = read;
            true
        }
        Err(_) => false,
    }
}

/// Seconds after which a silent agent no longer counts as running.
pub(crate) const FORGOTTEN_SECONDS: i64 = 2 * 60 * 60;

pub(crate) const RUNNING: usize = 64;

pub(crate) const TOUCHED: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// Start time in the unit of the system. It distinguishes a process from a later one with the same pid.
    pub start: u64,
}

/// How a client sends events to its hooks. An event that comes in another way is forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientChannel {
    pub stdin: StdinKind,
    /// Namespace of the process ids.
    pub namespace: u64,
}

/// Kind of the standard input of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinKind {
    /// A socket that the client created.
    ClientSocket,
    Socket,
    Pipe,
    File,
    Other,
}

/// The process of a client and its channel, as a hook saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenClient {
    pub process: Process,
    pub channel: ClientChannel,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_journal_keeps_three_flags_for_the_activity() {
        let forms = [
            (Activity::None, json!({"worked": false, "changed": false})),
            (Activity::Worked, json!({"worked": true, "changed": false})),
            (Activity::Changed, json!({"worked": true, "changed": true})),
            (Activity::ChangedAndPassedOver, json!({"worked": true, "changed": true, "passed_over": true})),
        ];
        for (activity, flags) in forms {
            assert_eq!(serde_json::to_value(activity).unwrap(), flags);
            assert_eq!(serde_json::from_value::<Activity>(flags).unwrap(), activity);
        }
    }
}
