//! When a review is wanted, of what, and who may give it.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingName, SettingSection, Tighten};
use sprag_policy::{Pattern, RuleFilter};

use crate::gates::review::template::{Template, TemplateWeight};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: ReviewMode,
    pub markers: Vec<SettingName>,
    pub agents: Vec<SettingName>,
    pub gates: GatedTools,
    pub templates: Templates,
    /// What the rules that want a review are about. Made from them, not written by anyone.
    #[serde(default)]
    pub watch: Option<RuleFilter>,
    /// Templates from files.
    #[serde(default)]
    pub texts: Vec<Template>,
}

/// From loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewMode {
    Never,
    Prompt,
    Always,
}

/// `review.gates`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatedTools {
    pub tools: Vec<GatePattern>,
    pub approval_scope: ApprovalScope,
    pub approval_ttl_seconds: u32,
}

/// How far an approval reaches. From loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalScope {
    Session,
    Prompt,
    Tool,
}

/// `templates`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Templates {
    pub active: String,
    pub weights: Vec<TemplateWeight>,
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

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mode: ReviewMode::Prompt,
            markers: ["#review", "#roz"].map(SettingName::Borrowed).to_vec(),
            agents: ["sprag-reviewer", "sprag:sprag-reviewer"].map(SettingName::Borrowed).to_vec(),
            gates: GatedTools {
                tools: Vec::new(),
                approval_scope: ApprovalScope::Prompt,
                approval_ttl_seconds: 0,
            },
            templates: Templates::default(),
            watch: None,
            texts: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether a prompt asks for a review: by its first word, and nothing less.
    pub fn is_marked(&self, prompt: &str) -> bool {
        let Some(first) = prompt.split_whitespace().next().map(str::to_lowercase) else {
            return false;
        };
        let first = first.trim_end_matches([':', ',']);
        self.mode != ReviewMode::Never && self.markers.iter().any(|marker| marker.to_lowercase() == first)
    }

    /// The agent to be started, by the name that works without the plugin.
    pub fn agent(&self) -> &str {
        self.agents.first().map_or("sprag-reviewer", AsRef::as_ref)
    }
}

pub const SECTION: SettingSection = SettingSection {
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
        SettingKey { name: "mode", tighten: Tighten::Ranked(&["never", "prompt", "always"]) },
        SettingKey { name: "markers", tighten: Tighten::More },
        // Whoever names the reviewer could name the author.
        SettingKey { name: "agents", tighten: Tighten::Never },
    ],
};

pub const MORE: &[SettingSection] = &[
    SettingSection {
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
            SettingKey { name: "tools", tighten: Tighten::More },
            SettingKey { name: "approval_scope", tighten: Tighten::Ranked(&["session", "prompt", "tool"]) },
            // The lowest value is the loosest.
            SettingKey { name: "approval_ttl_seconds", tighten: Tighten::Never },
        ],
    },
    SettingSection {
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
            SettingKey { name: "active", tighten: Tighten::Never },
            SettingKey { name: "weights", tighten: Tighten::Never },
        ],
    },
];
