//! The judge: a program chosen by the user that merges learnings and reads old sessions. Only commands call
//! it, never a hook. The judge only proposes.

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
# The judge of `sprag memory consolidate` and `sprag memory backfill`.
[memory]
# A program with its arguments. It reads one JSON object and prints one. Empty: no judge.
judge = []
# Time limit for one answer, in seconds.
judge_seconds = 120
",
    keys: &[
        SettingKey { name: "judge", tighten: Tighten::Never },
        SettingKey { name: "judge_seconds", tighten: Tighten::Never },
    ],
};
