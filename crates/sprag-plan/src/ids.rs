//! Names of stages, effects and commits.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

/// Names a stage of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StageId(pub Text<63>);

impl StageId {
    pub fn new(id: &str) -> StageId {
        StageId(Text::new(id))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The branch it is worked at on. In a directory of its own: whoever may make a lock beside a branch may replace
    /// it, and all beside it.
    pub fn branch(&self) -> String {
        format!("sprag/{}/work", self.as_str())
    }

    /// Whose branch it is, if it is a stage's.
    pub fn of_branch(branch: &str) -> Option<StageId> {
        branch.strip_prefix("sprag/")?.strip_suffix("/work").map(StageId::new)
    }
}

/// One run of one agent for one stage: `run/stage/attempt/number`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectKey(pub Text<200>);

/// A commit by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub Text<64>);
