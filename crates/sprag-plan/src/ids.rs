//! Names of stages, effects and commits.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

/// Id of a stage of a plan.
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

    /// Returns the name of the branch of the stage. The branch has a directory of its own because a process
    /// that can create lock files beside a branch could replace the branch.
    pub fn branch(&self) -> String {
        format!("sprag/{}/work", self.as_str())
    }

    /// Returns the stage of a branch; `None` if the branch does not belong to a stage.
    pub fn of_branch(branch: &str) -> Option<StageId> {
        branch.strip_prefix("sprag/")?.strip_suffix("/work").map(StageId::new)
    }
}

/// Key of one effect: `run/stage/attempt/number`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectKey(pub Text<200>);

/// Id of a commit or tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub Text<64>);
