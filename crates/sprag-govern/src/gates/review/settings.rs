//! When a review is wanted, of what, and who may give it.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{Key, Name, Section, Tighten};
use sprag_policy::{Pattern, Watch};

use crate::gates::review::template::{Template, Weight};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
    pub markers: Vec<Name>,
    pub agents: Vec<Name>,
    pub gates: Gated,
    pub templates: Templates,
    /// What the rules that want a review are about. Made from them, not written by anyone.
    #[serde(default)]
    pub watch: Option<Watch>,
    /// Templates from files.
    #[serde(default)]
    pub texts: Vec<Template>,
}

/// From loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Never,
    Prompt,
    Always,
}

/// `review.gates`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gated {
    pub tools: Vec<GatePattern>,
    pub approval_scope: Scope,
    pub approval_ttl_seconds: u32,
}

/// How far an approval reaches. From loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Session,
    Prompt,
    Tool,
}

/// `templates`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Templates {
    pub active: String,
    pub weights: Vec<Weight>,
}

/// A pattern of the rules' language that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GatePattern(String);

impl GatePattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GatePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Pattern::parse(&text).map_err(|bad| bad.to_string())?;
        Ok(GatePattern(text))
    }
}

impl From<GatePattern> for String {
    fn from(pattern: GatePattern) -> String {
        pattern.0
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            mode: Mode::Prompt,
            markers: ["#review", "#roz"].map(Name::Borrowed).to_vec(),
            agents: ["sprag-reviewer", "sprag:sprag-reviewer"].map(Name::Borrowed).to_vec(),
            gates: Gated { tools: Vec::new(), approval_scope: Scope::Prompt, approval_ttl_seconds: 0 },
            templates: Templates::default(),
            watch: None,
            texts: Vec::new(),
        }
    }
}

impl Policy {
    /// Whether a prompt asks for a review: by its first word, and nothing less.
    pub fn is_marked(&self, prompt: &str) -> bool {
        let Some(first) = prompt.split_whitespace().next().map(str::to_lowercase) else {
            return false;
        };
        let first = first.trim_end_matches([':', ',']);
        self.mode != Mode::Never && self.markers.iter().any(|marker| marker.to_lowercase() == first)
    }

    /// The agent to be started, by the name that works without the plugin.
    pub fn agent(&self) -> &str {
        self.agents.first().map_or("sprag-reviewer", AsRef::as_ref)
    }
}

pub const SECTION: Section = Section {
    name: "review",
    defaults: "\
# A review by somebody who is not the author, before a stop or before a tool call.
[review]
# `prompt`: when a prompt starts with a marker; `always`: whenever a session that worked stops; `never`.
# Gated tools wait for a review whatever this says.
mode = \"prompt\"
# First words of a prompt that ask for a review.
markers = [\"#review\", \"#roz\"]
# Agents that review, as the client names them.
agents = [\"sprag-reviewer\", \"sprag:sprag-reviewer\"]
",
    keys: &[
        Key { name: "mode", tighten: Tighten::Ranked(&["never", "prompt", "always"]) },
        Key { name: "markers", tighten: Tighten::More },
        // Whoever names the reviewer could name the author.
        Key { name: "agents", tighten: Tighten::Never },
    ],
};

pub const MORE: &[Section] = &[
    Section {
        name: "review.gates",
        defaults: "\
# Tool calls that wait for a review.
[review.gates]
# Patterns as in rules: `Bash:gh issue close*`, `mcp__tissue__close_issue`, `Write:deploy/**`.
tools = []
# What an approval opens: such calls of the `session`, those until the next `prompt`, or one `tool` call.
approval_scope = \"prompt\"
# Seconds after which an approval opens nothing any more; 0: it does not age.
approval_ttl_seconds = 0
",
        keys: &[
            Key { name: "tools", tighten: Tighten::More },
            Key { name: "approval_scope", tighten: Tighten::Ranked(&["session", "prompt", "tool"]) },
            // The lowest value is the loosest.
            Key { name: "approval_ttl_seconds", tighten: Tighten::Never },
        ],
    },
    Section {
        name: "templates",
        defaults: "\
# How an agent is told that a review is due: `v1` (short) and `v2` (in steps) are built in, others are files
# `templates/block-ID.md` beside the configuration. `sprag review stats` compares them.
[templates]
# Always this one, by id.
active = \"\"
# Else by weight: [\"v1=1\", \"v2=3\"]. Without any it is `v1`.
weights = []
",
        keys: &[
            Key { name: "active", tighten: Tighten::Never },
            Key { name: "weights", tighten: Tighten::Never },
        ],
    },
];
