//! Settings of the reflection gate.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingName, SettingSection, Tighten};
use sprag_memory::write_gate::{self, WriteGate};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub session: SessionMode,
    pub ticketing: Ticketing,
    pub overrides: TrackerSwitches,
    pub auto_skip: AutoSkip,
    pub write_gate: WriteGate,
}

/// How often Sprag asks a session without a tracker, from never to always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    Off,
    Once,
    Always,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ticketing {
    pub discovery: Vec<SettingName>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackerSwitches {
    pub tissue: bool,
    pub beads: bool,
    pub github: bool,
    pub tasks: bool,
    pub session: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoSkip {
    pub enabled: bool,
    pub line_threshold: u64,
    pub decider: SkipDecider,
}

/// How to treat a small change, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkipDecider {
    /// Skips the reflection without asking.
    Always,
    /// Asks the agent.
    Agent,
    /// Treats a small change like any other.
    Never,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            session: SessionMode::Once,
            ticketing: Ticketing {
                discovery: ["tissue", "beads", "github", "tasks", "session"]
                    .map(SettingName::Borrowed)
                    .to_vec(),
            },
            overrides: TrackerSwitches {
                tissue: true,
                beads: true,
                github: true,
                tasks: true,
                session: true,
            },
            auto_skip: AutoSkip { enabled: true, line_threshold: 5, decider: SkipDecider::Agent },
            write_gate: WriteGate::default(),
        }
    }
}

impl Settings {
    /// Reports whether a tracker is listed and enabled.
    pub fn has(&self, tracker: &str) -> bool {
        self.ticketing.discovery.iter().any(|name| name == tracker) && self.overrides.is_on(tracker)
    }
}

impl TrackerSwitches {
    pub fn is_on(&self, tracker: &str) -> bool {
        match tracker {
            "tissue" => self.tissue,
            "beads" => self.beads,
            "github" => self.github,
            "tasks" => self.tasks,
            "session" => self.session,
            _ => true,
        }
    }
}

impl AutoSkip {
    /// Reports whether small closings are skipped without a message.
    pub fn is_silent(&self) -> bool {
        self.enabled && self.decider == SkipDecider::Always
    }

    pub fn skips(&self, lines: u64) -> bool {
        self.is_silent() && lines < self.line_threshold
    }
}

pub(crate) const SECTION: SettingSection = SettingSection {
    name: "reflection",
    defaults: "\
# Ask for learnings when a ticket is closed and, without a tracker, when a session changed more than
# `gate.auto_skip.line_threshold` lines.
[reflection]
# Sessions without a tracker, and the end of the client's task list: ask `once` a session, `always`, or `off`.
session = \"once\"
",
    keys: &[SettingKey { name: "session", tighten: Tighten::Ranked(&["off", "once", "always"]) }],
};

const SWITCH: Tighten = Tighten::Ranked(&["false", "true"]);

pub(crate) const MORE: &[SettingSection] = &[
    SettingSection {
        name: "ticketing",
        defaults: "\
# Trackers. The first one that is used here names the work item. Sprag detects closed tickets of all of them.
[ticketing]
discovery = [\"tissue\", \"beads\", \"github\", \"tasks\", \"session\"]
",
        keys: &[SettingKey { name: "discovery", tighten: Tighten::More }],
    },
    SettingSection {
        name: "ticketing.overrides",
        defaults: "\
# `false` ignores this tracker.
[ticketing.overrides]
tissue = true
beads = true
github = true
tasks = true
session = true
",
        keys: &[
            SettingKey { name: "tissue", tighten: SWITCH },
            SettingKey { name: "beads", tighten: SWITCH },
            SettingKey { name: "github", tighten: SWITCH },
            SettingKey { name: "tasks", tighten: SWITCH },
            SettingKey { name: "session", tighten: SWITCH },
        ],
    },
    SettingSection {
        name: "gate.auto_skip",
        defaults: "\
# Small changes.
[gate.auto_skip]
enabled = true
# Number of added and removed lines from which a change is not small.
line_threshold = 5
# A ticket closed with fewer lines: `agent` asks the agent, `always` skips silently, `never` ignores the size.
decider = \"agent\"
",
        keys: &[
            SettingKey { name: "enabled", tighten: Tighten::Ranked(&["true", "false"]) },
            SettingKey { name: "line_threshold", tighten: Tighten::Lower },
            SettingKey { name: "decider", tighten: Tighten::Ranked(&["always", "agent", "never"]) },
        ],
    },
    write_gate::SECTION,
];
