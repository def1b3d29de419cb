//! Settings of the review gate: when a review is due, for which calls, and who may review.

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
    /// The calls that review rules concern. Computed from the rules, not configured.
    #[serde(default)]
    pub watch: Option<RuleFilter>,
    /// Templates from files.
    #[serde(default)]
    pub texts: Vec<Template>,
}

/// When a review is due, from loose to strict.
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

/// The reach of an approval, from loose to strict.
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

/// A valid pattern of the rule language.
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
    /// Reports whether the first word of a prompt asks for a review.
    pub fn is_marked(&self, prompt: &str) -> bool {
        let Some(first) = prompt.split_whitespace().next().map(str::to_lowercase) else {
            return false;
        };
        let first = first.trim_end_matches([':', ',']);
        self.mode != ReviewMode::Never && self.markers.iter().any(|marker| marker.to_lowercase() == first)
    }

    /// Returns the agent to start, by the name that works without the plugin.
    pub fn agent(&self) -> &str {
        self.agents.first().map_or("sprag-reviewer", AsRef::as_ref)
    }
}

pub const SECTION: SettingSection = SettingSection {
    name: "review",
    defaults: "\
# Reviews by an agent or person who is not the author, before a stop or before a tool call.
[review]
# When to review: `prompt` (a prompt starts with a marker), `always` (at the stop of a session), or `never`.
# Gated tools wait for a review in every mode.
mode = \"prompt\"
# First words of a prompt that ask for a review.
markers = [\"#review\", \"#roz\"]
# Agents that may review, by the client's name for them.
agents = [\"sprag-reviewer\", \"sprag:sprag-reviewer\"]
",
    keys: &[
        SettingKey { name: "mode", tighten: Tighten::Ranked(&["never", "prompt", "always"]) },
        SettingKey { name: "markers", tighten: Tighten::More },
        // A project that names the reviewer could name the author.
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
# Calls that an approval allows: those of the `session`, those until the next `prompt`, or one `tool` call.
approval_scope = \"prompt\"
# Seconds after which an approval expires; 0 means never.
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
# Texts that ask an agent for a review: `v1` (short) and `v2` (in steps) are built in. Others are files
# `templates/block-ID.md` next to the configuration. `sprag review stats` compares them.
[templates]
# Always use this one, by id.
active = \"\"
# Otherwise choose by weight: [\"v1=1\", \"v2=3\"]. Without weights Sprag uses `v1`.
weights = []
",
        keys: &[
            SettingKey { name: "active", tighten: Tighten::Never },
            SettingKey { name: "weights", tighten: Tighten::Never },
        ],
    },
];
