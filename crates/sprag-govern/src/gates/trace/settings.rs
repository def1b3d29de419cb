//! Settings of the trace gate.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: TraceMode,
    pub class_mismatch: Mismatch,
    /// A changed comment counts as a change of behaviour.
    pub docs_are_behaviour: bool,
}

/// Where Sprag records changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceMode {
    Off,
    /// In repositories with intents or with a `.sprag` directory.
    #[default]
    Auto,
    Always,
}

/// The reaction to a declared refactoring that changes behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mismatch {
    Off,
    Note,
    #[default]
    Hold,
}

pub(crate) const SECTION: SettingSection = SettingSection {
    name: "trace",
    defaults: "\
# Records of changes and their reasons.
[trace]
# Record changes: `auto` (where there are intents or a `.sprag` directory), `always`, or `off`.
mode = \"auto\"
# A declared refactoring that visibly changes behaviour: `hold` the stop, `note` it, or `off`.
class_mismatch = \"hold\"
# A changed comment or docstring counts as a change of behaviour: `true` or `false`.
docs_are_behaviour = false
",
    keys: &[
        SettingKey { name: "mode", tighten: Tighten::Ranked(&["off", "auto", "always"]) },
        SettingKey { name: "class_mismatch", tighten: Tighten::Ranked(&["off", "note", "hold"]) },
        SettingKey { name: "docs_are_behaviour", tighten: Tighten::Ranked(&["false", "true"]) },
    ],
};
