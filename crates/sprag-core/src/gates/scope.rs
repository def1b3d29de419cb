//! A change serves an intent and stays in its scope. Where a repository has no intents, nothing is asked.

use serde::{Deserialize, Serialize};

use crate::fact::Needs;
use crate::gates::{Asked, Cx, Gate};
use crate::intent::Chosen;
use crate::policy::{Key, Section, Tighten};
use crate::verdict::Vote;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scope {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub required: Required,
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

impl Gate for Scope {
    type Policy = Policy;

    const ABOUT: &'static str = "a change serves an intent and stays in its scope";
    const SECTION: Section = Section {
        name: "intent",
        defaults: "\
# Intents: why a change is made, and where it may be made.
[intent]
# A change needs one: `auto` where there is a file of intents, `always`, or `never`.
required = \"auto\"
",
        keys: &[Key { name: "required", tighten: Tighten::Ranked(&["never", "auto", "always"]) }],
    };

    fn needs(&self, _asked: &Asked<'_, Policy>) -> Needs {
        Needs::NONE
    }

    fn step(&mut self, _cx: &mut Cx<'_, Policy>) -> Vote {
        Vote::Pass
    }
}
