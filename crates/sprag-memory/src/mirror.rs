//! The backends that mirror learnings. The log is the original; a backend holds a copy for other programs.

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

/// Reports whether a learning may leave the log. Personal and ephemeral learnings never do.
pub fn is_shared(learning: &Learning) -> bool {
    destination::is_for_all(learning)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MirrorAck {
    pub backend: Text<32>,
    /// The accepted learnings, each with a digest of the mirrored state.
    pub took: Vec<(Text<64>, Digest)>,
}

/// The last state that each backend accepted for each learning: a fold of the log.
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
# Backends that mirror the learnings of the log. Personal learnings are never mirrored.
[backends]
# Backends to look for, in this order. Sprag uses all that it finds. `config` stands for `always` below.
discovery = [\"config\", \"total-recall\", \"mcp\", \"markdown\"]
# Backends to use without a search.
always = []
",
    keys: &[
        SettingKey { name: "discovery", tighten: Tighten::Never },
        SettingKey { name: "always", tighten: Tighten::Never },
    ],
};

/// A project may turn a backend off, because that keeps learnings local.
const SWITCH: Tighten = Tighten::Ranked(&["true", "false"]);

pub const MORE: &[SettingSection] = &[
    SettingSection {
        name: "backends.overrides",
        defaults: "\
# `false`: never use this backend.
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
# A server with memory tools such as `create_entities`, as a program with its arguments.
[backends.mcp]
command = []
# Time limit for one request, in seconds.
seconds = 10
",
        keys: &[
            SettingKey { name: "command", tighten: Tighten::Never },
            SettingKey { name: "seconds", tighten: Tighten::Lower },
        ],
    },
];

/// Reports whether backends need this record.
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
