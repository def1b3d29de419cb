//! Which backends learnings are mirrored to. The log is the original; a backend is a copy that others can
//! read.

use serde::{Deserialize, Serialize};

use crate::memory::learning::{Learning, Scope};
use crate::policy::{Key, Section, Tighten};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub discovery: Vec<String>,
    pub always: Vec<String>,
    pub overrides: Overrides,
    pub mcp: Mcp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overrides {
    pub total_recall: bool,
    pub mcp: bool,
    pub markdown: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mcp {
    pub command: Vec<String>,
    pub seconds: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            discovery: ["config", "total-recall", "mcp", "markdown"].map(str::to_owned).to_vec(),
            always: Vec::new(),
            overrides: Overrides { total_recall: true, mcp: true, markdown: true },
            mcp: Mcp { command: Vec::new(), seconds: 10 },
        }
    }
}

impl Overrides {
    pub fn is_on(&self, backend: &str) -> bool {
        match backend {
            "total-recall" => self.total_recall,
            "mcp" => self.mcp,
            "markdown" => self.markdown,
            _ => true,
        }
    }
}

/// Whether a learning may leave the log at all: what is personal or of a session alone never does.
pub fn is_shared(learning: &Learning) -> bool {
    match learning.candidate.scope {
        Scope::Project | Scope::Team => true,
        Scope::Personal | Scope::Ephemeral => false,
    }
}

/// A backend has taken something over. Body: the backend's name and the ids of what it took.
pub const ACKED: &str = "backend.acked";

pub const SECTION: Section = Section {
    name: "backends",
    defaults: "\
# Where learnings are mirrored to, besides the log. Personal ones never are.
[backends]
# What is looked for, in this order; all that are found are used. `config` stands for `always` below.
discovery = [\"config\", \"total-recall\", \"mcp\", \"markdown\"]
# Backends that are used without looking for them.
always = []
",
    keys: &[
        Key { name: "discovery", tighten: Tighten::Never },
        Key { name: "always", tighten: Tighten::Never },
    ],
};

/// Less of it is a project's own matter: it keeps learnings where they are.
const SWITCH: Tighten = Tighten::Ranked(&["true", "false"]);

pub const MORE: &[Section] = &[
    Section {
        name: "backends.overrides",
        defaults: "\
# `false`: not used, found or not.
[backends.overrides]
total_recall = true
mcp = true
markdown = true
",
        keys: &[
            Key { name: "total_recall", tighten: SWITCH },
            Key { name: "mcp", tighten: SWITCH },
            Key { name: "markdown", tighten: SWITCH },
        ],
    },
    Section {
        name: "backends.mcp",
        defaults: "\
# A server with memory tools (`create_entities` and the like), as a program and its arguments.
[backends.mcp]
command = []
# Seconds one exchange with it may take.
seconds = 10
",
        keys: &[
            Key { name: "command", tighten: Tighten::Never },
            Key { name: "seconds", tighten: Tighten::Lower },
        ],
    },
];
