//! Why work could not be merged.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::ids::StageId;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeFailure {
    /// Checks of the work alone failed.
    Red { report: Text<4000> },
    /// Checks failed only together with another stage.
    Pair { with: StageId },
}
