//! A proof: the steps that make the left and the right side equal. `check` replays it on the sources and
//! relies on nothing else.

use serde::{Deserialize, Serialize};

/// The rules under which a proof was made; a checker with other rules refuses it.
pub const RULES: &str = "sprag-1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub v: u32,
    pub rules: String,
    pub level: String,
    pub world: NameSearchScope,
    pub before_root: String,
    pub after_root: String,
    pub files: Vec<ProofSources>,
    pub steps: Vec<ProofStep>,
}

/// The files that were searched for other uses of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameSearchScope {
    /// Only the files of the change.
    Change,
    /// All files of the tree after the change.
    Tree,
}

/// The sources of a proof, by the hash of their bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofSources {
    pub path_before: Option<String>,
    pub path_after: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofSide {
    Before,
    After,
}

/// One step of a replay. Positions are byte offsets in the source of the named side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ProofStep {
    /// Renames a name that is visible outside one function: all its uses on the left become the name on the
    /// right.
    Rename { from: String, to: String },
    /// Replaces the uses of a declaration of one side by its value.
    Inline { side: ProofSide, file: usize, at: usize, name: String },
    /// Moves a file to another path.
    Move { file: usize },
}
