//! Which backends learnings are mirrored to. The log is the original; a backend is a copy that others can
//! read.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::settings::{Key, Name, Section, Tighten};
use sprag_base::text::Text;

use crate::learning::Learning;
use crate::{destination, records};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub discovery: Vec<Name>,
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
            discovery: ["config", "total-recall", "mcp", "markdown"].map(Name::Borrowed).to_vec(),
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
    destination::is_for_all(learning)
}

/// A backend has taken something over. Body: [`Acked`].
pub const ACKED: &str = "backend.acked";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Acked {
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
        if record.kind == ACKED
            && let Ok(acked) = serde_json::from_value::<Acked>(record.body.clone())
        {
            let took = self.by_backend.entry(acked.backend.to_string()).or_default();
            took.extend(acked.took.into_iter().map(|(id, digest)| (id.to_string(), digest)));
        }
    }
}

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

/// Whether a record is one that backends want to hear of.
pub fn concerns(record: &Record) -> bool {
    [records::ACCEPTED, records::CORRECTED, records::SUPERSEDED, records::ARCHIVED, records::RESTORED]
        .contains(&record.kind.as_str())
}
