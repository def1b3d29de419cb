//! When changes are written down, and what is made of a declaration that does not hold.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: TraceMode,
    pub class_mismatch: Mismatch,
    /// A comment that says something else is a change of behaviour.
    pub docs_are_behaviour: bool,
}

/// Where changes are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceMode {
    Off,
    /// Where there are intents, or a project directory of ours.
    #[default]
    Auto,
    Always,
}

/// What is done about a refactoring that is none.
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
# Records of what was changed, and why.
[trace]
# They are written: `auto` where there are intents or a `.sprag` directory, `always`, or `off`.
mode = \"auto\"
# A change that was declared a refactoring and is seen to change behaviour: `hold` the stop, `note` it, or `off`.
class_mismatch = \"hold\"
# Comments and docstrings that change make a refactoring a change of behaviour: `true` or `false`.
docs_are_behaviour = false
",
    keys: &[
        SettingKey { name: "mode", tighten: Tighten::Ranked(&["off", "auto", "always"]) },
        SettingKey { name: "class_mismatch", tighten: Tighten::Ranked(&["off", "note", "hold"]) },
        SettingKey { name: "docs_are_behaviour", tighten: Tighten::Ranked(&["false", "true"]) },
    ],
};
