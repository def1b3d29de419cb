//! Settings of notifications for people when a run needs them.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotifySettings {
    pub command: Vec<String>,
}

pub const SECTION: SettingSection = SettingSection {
    name: "notify",
    defaults: "\
# Notifications when a stage of a run needs a person.
[notify]
# The program and its arguments; Sprag adds the message as the last argument. Empty: `sprag status --live` rings.
command = []
",
    keys: &[SettingKey { name: "command", tighten: Tighten::Never }],
};
