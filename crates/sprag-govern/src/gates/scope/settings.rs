//! Settings of the scope gate.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub required: Required,
    /// Tools that write, each with the members of its input that name the paths.
    pub writers: Vec<String>,
    /// Tools that change nothing.
    pub readers: Vec<String>,
    /// Whether the repository has intents. Detected, not configured.
    #[serde(default)]
    pub found: StrayMode,
}

/// When a change needs an intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Required {
    Never,
    /// Where the repository has a file of intents.
    #[default]
    Auto,
    Always,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrayMode {
    #[default]
    Nothing,
    Intents,
}

pub(crate) const SECTION: SettingSection = SettingSection {
    name: "intent",
    defaults: "\
# Intents: the reason for a change, and the paths that it may change.
[intent]
# Require an intent for changes: `auto` (where an intents file exists), `always`, or `never`.
required = \"auto\"
# Tools of other MCP servers that write files, each with the members of its input that name them:
# `mcp__files__move source destination`.
writers = []
# Such tools that change nothing (`mcp__docs__*`). Any other tool may change anything: it needs an intent, and
# Sprag checks its changes afterwards.
readers = []
",
    keys: &[
        SettingKey { name: "required", tighten: Tighten::Ranked(&["never", "auto", "always"]) },
        SettingKey { name: "writers", tighten: Tighten::More },
        SettingKey { name: "readers", tighten: Tighten::Never },
    ],
};

impl Settings {
    pub fn is_on(&self) -> bool {
        match (self.required, self.found) {
            (Required::Never, _) | (Required::Auto, StrayMode::Nothing) => false,
            (Required::Auto, StrayMode::Intents) | (Required::Always, _) => true,
        }
    }

    /// Returns the members of a tool's input that name written paths, for a tool that is known to write.
    pub(super) fn members_of(&self, tool: &str) -> Option<&str> {
        self.writers.iter().find_map(|writer| {
            let (name, members) = writer.split_once(' ').unwrap_or((writer.as_str(), ""));
            fits(name, tool).then_some(members)
        })
    }

    pub(super) fn only_reads(&self, tool: &str) -> bool {
        self.members_of(tool).is_none() && self.readers.iter().any(|reader| fits(reader, tool))
    }
}

/// Reports whether a tool matches a name, or a prefix with `*`.
fn fits(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => pattern == tool,
    }
}
