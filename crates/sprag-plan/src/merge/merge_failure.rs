//! Why work could not be merged.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::ids::StageId;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeFailure {
    /// By itself already.
    Red { report: Text<4000> },
    /// Only together with another one.
    Pair { with: StageId },
}
