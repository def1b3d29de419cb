//! Settings of the program that opens a window for an agent.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminalSettings {
    pub command: Vec<String>,
}

pub const SECTION: SettingSection = SettingSection {
    name: "terminal",
    defaults: "\
# Windows that Sprag opens on request (`sprag run attach STAGE --window`).
[terminal]
# The program and its arguments; Sprag adds the command to run. Empty: the first known program.
command = []
",
    keys: &[SettingKey { name: "command", tighten: Tighten::Never }],
};

/// Programs that open a window, and the arguments before a command.
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
