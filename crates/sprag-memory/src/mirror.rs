//! Which backends learnings are mirrored to. The log is the original; a backend is a copy that others can
//! read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::settings::{SettingKey, SettingName, SettingSection, Tighten};
use sprag_base::text::Text;

use crate::destination;
use crate::learning::Learning;
use crate::records::MemoryRecord;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MirrorSettings {
    pub discovery: Vec<SettingName>,
    pub always: Vec<String>,
    pub overrides: BackendSwitches,
    pub mcp: McpBackend,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendSwitches {
    pub total_recall: bool,
    pub mcp: bool,
    pub markdown: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpBackend {
    pub command: Vec<String>,
    pub seconds: u32,
}

impl Default for MirrorSettings {
    fn default() -> MirrorSettings {
        MirrorSettings {
            discovery: ["config", "total-recall", "mcp", "markdown"].map(SettingName::Borrowed).to_vec(),
            always: Vec::new(),
            overrides: BackendSwitches { total_recall: true, mcp: true, markdown: true },
            mcp: McpBackend { command: Vec::new(), seconds: 10 },
        }
    }
}

impl BackendSwitches {
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
    destination::is_for_all(learning)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MirrorAck {
    pub backend: Text<32>,
    /// What it took: of which learning, and a digest of what was said of it.
    pub took: Vec<(Text<64>, Digest)>,
}

/// What every backend was told last of each learning, folded from the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mirrored {
    by_backend: BTreeMap<String, BTreeMap<String, Digest>>,
}

impl Mirrored {
    pub fn has(&self, backend: &str, id: &str, digest: Digest) -> bool {
        self.by_backend.get(backend).and_then(|took| took.get(id)) == Some(&digest)
    }
}

impl Projection for Mirrored {
    const NAME: &'static str = "mirrored";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["backend."];

    fn apply(&mut self, record: &Record) {
        if let Some(MemoryRecord::Acked(acked)) = MemoryRecord::read(record) {
            let took = self.by_backend.entry(acked.backend.to_string()).or_default();
            took.extend(acked.took.into_iter().map(|(id, digest)| (id.to_string(), digest)));
        }
    }
}

pub const SECTION: SettingSection = SettingSection {
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
        SettingKey { name: "discovery", tighten: Tighten::Never },
        SettingKey { name: "always", tighten: Tighten::Never },
    ],
};

/// Less of it is a project's own matter: it keeps learnings where they are.
const SWITCH: Tighten = Tighten::Ranked(&["true", "false"]);

pub const MORE: &[SettingSection] = &[
    SettingSection {
        name: "backends.overrides",
        defaults: "\
# `false`: not used, found or not.
[backends.overrides]
total_recall = true
mcp = true
markdown = true
",
        keys: &[
            SettingKey { name: "total_recall", tighten: SWITCH },
            SettingKey { name: "mcp", tighten: SWITCH },
            SettingKey { name: "markdown", tighten: SWITCH },
        ],
    },
    SettingSection {
        name: "backends.mcp",
        defaults: "\
# A server with memory tools (`create_entities` and the like), as a program and its arguments.
[backends.mcp]
command = []
# Seconds one exchange with it may take.
seconds = 10
",
        keys: &[
            SettingKey { name: "command", tighten: Tighten::Never },
            SettingKey { name: "seconds", tighten: Tighten::Lower },
        ],
    },
];

/// Whether a record is one that backends want to hear of.
pub fn concerns(record: &Record) -> bool {
    matches!(
        record.kind.as_str(),
        "learning.accepted"
            | "learning.corrected"
            | "learning.superseded"
            | "learning.archived"
            | "learning.restored"
    )
}
