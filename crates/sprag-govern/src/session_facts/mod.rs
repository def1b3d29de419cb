//! Plain facts of a session, which gates read and `decide` keeps.

pub(crate) mod tasks;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_intent::SelectedIntent;

use crate::session_facts::tasks::Tasks;

/// Plain facts of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
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
    /// A call that may change something was let through.
    pub worked: bool,
    /// One was since the last stop that was looked into.
    #[serde(default)]
    pub changed: bool,
    /// A stop was passed over since, because something still ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_over: bool,
    /// Its records were lost: what it owed before is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Under which name the worktree is kept as it was before the first of them.
    #[serde(default)]
    pub start: Option<Text<256>>,
    /// Files it wrote, where there is no git to tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<Text<400>>,
    /// The client's own list of tasks.
    #[serde(default, skip_serializing_if = "Tasks::is_unused")]
    pub tasks: Tasks,
    /// Agents it has started that have not stopped yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningAgent>,
    /// The agent asks its user something with a tool, and has no answer yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Text<128>>,
    /// What it says it works for, as the scope gate let it choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<SelectedIntent>,
    /// The stage of a plan it works on. Once it is one's, it stays that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Text<64>>,
    pub ended: bool,
    /// The process that calls our hooks. Commands that are a person's refuse below it.
    pub client: Option<Process>,
}

/// An agent at work for the session's own.
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

/// How long an agent that was never heard of again counts as running.
pub(crate) const FORGOTTEN_SECONDS: i64 = 2 * 60 * 60;

pub(crate) const RUNNING: usize = 64;

pub(crate) const TOUCHED: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    /// In the system's own unit: tells a process from a later one with the same number.
    pub start: u64,
}
