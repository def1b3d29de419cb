//! Every change leaves a record of what it changed and which intent it served.

use serde::{Deserialize, Serialize};

use crate::fact::Needs;
use crate::gates::{Asked, Cx, Gate};
use crate::policy::{Key, Section, Tighten};
use crate::verdict::Vote;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub docs_are_behaviour: bool,
}

impl Gate for Trace {
    type Policy = Policy;

    const ABOUT: &'static str = "writes down what was changed, and for which intent";
    const SECTION: Section = Section {
        name: "trace",
        defaults: "\
# Records of what was changed, and why.
[trace]
# A changed comment or docstring counts as changed behaviour.
docs_are_behaviour = false
",
        keys: &[Key { name: "docs_are_behaviour", tighten: Tighten::Ranked(&["false", "true"]) }],
    };

    fn needs(&self, _asked: &Asked<'_, Policy>) -> Needs {
        Needs::NONE
    }

    fn step(&mut self, _cx: &mut Cx<'_, Policy>) -> Vote {
        Vote::Pass
    }
}
