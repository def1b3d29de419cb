//! A program of the user's choice that reads for Sprag what no rule can: it merges learnings and reads old
//! sessions. It is asked by commands alone, never on the way of an agent, and proposes; others decide.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySettings {
    pub judge: Vec<String>,
    pub judge_seconds: u32,
}

impl Default for MemorySettings {
    fn default() -> MemorySettings {
        MemorySettings { judge: Vec::new(), judge_seconds: 120 }
    }
}

pub const SECTION: SettingSection = SettingSection {
    name: "memory",
    defaults: "\
# Who reads for `sprag memory consolidate` and `sprag memory backfill`.
[memory]
# A program and its arguments: it reads one JSON object and prints one. Empty: nobody.
judge = []
# Seconds it may take for one answer.
judge_seconds = 120
",
    keys: &[
        SettingKey { name: "judge", tighten: Tighten::Never },
        SettingKey { name: "judge_seconds", tighten: Tighten::Never },
    ],
};
