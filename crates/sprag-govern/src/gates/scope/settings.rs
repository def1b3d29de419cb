//! What the scope gate is told.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub required: Required,
    /// Tools that write, each with the members of its input that name what.
    pub writers: Vec<String>,
    /// Tools that change nothing.
    pub readers: Vec<String>,
    /// Whether the repository has intents. Found by looking, not written by anyone.
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
# Intents: why a change is made, and where it may be made.
[intent]
# A change needs one: `auto` where there is a file of intents, `always`, or `never`.
required = \"auto\"
# Tools of other servers that write files, each with the members of its input that name them:
# `mcp__files__move source destination`.
writers = []
# Such tools that change nothing (`mcp__docs__*`). All others may change anything: they need an intent, and what
# they have changed is looked at afterwards.
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

    /// Members of its input that name what a tool writes, if it is one that is known to write.
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

/// A name, or the start of one.
fn fits(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => pattern == tool,
    }
}
