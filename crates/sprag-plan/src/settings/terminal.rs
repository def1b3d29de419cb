//! With what a window is opened, for people who want to see an agent in one.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminalSettings {
    pub command: Vec<String>,
}

pub const SECTION: SettingSection = SettingSection {
    name: "terminal",
    defaults: "\
# Windows that Sprag opens when it is asked to (`sprag run attach STAGE --window`).
[terminal]
# The program and its arguments; what is to run in the window comes after them. Empty: the first one known.
command = []
",
    keys: &[SettingKey { name: "command", tighten: Tighten::Never }],
};

/// Programs that open a window, and what comes before a command there.
pub const KNOWN: [(&str, &[&str]); 11] = [
    ("kitty", &[]),
    ("wezterm", &["start", "--"]),
    ("alacritty", &["-e"]),
    ("ghostty", &["-e"]),
    ("foot", &[]),
    ("gnome-terminal", &["--"]),
    ("konsole", &["-e"]),
    ("xfce4-terminal", &["-x"]),
    ("tilix", &["-e"]),
    ("terminator", &["-x"]),
    ("xterm", &["-e"]),
];
