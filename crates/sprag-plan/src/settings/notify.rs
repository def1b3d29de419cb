//! Whom people want told when a run needs them.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotifySettings {
    pub command: Vec<String>,
}

pub const SECTION: SettingSection = SettingSection {
    name: "notify",
    defaults: "\
# Being told when a stage of a run needs a person.
[notify]
# The program and its arguments; what is to be told comes after them as one more. Empty: `sprag status --live` rings.
command = []
",
    keys: &[SettingKey { name: "command", tighten: Tighten::Never }],
};
