//! A proof: what was done to the left side and to the right side so that both are the same. It holds no opinion of
//! the prover: `check` replays it on the sources and believes nothing else.

use serde::{Deserialize, Serialize};

/// The rules a proof was made under; a checker of other rules refuses it.
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

/// How far was looked for others who use a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameSearchScope {
    /// The files of the change: there was nothing else.
    Change,
    /// All files of the tree that the change led to.
    Tree,
}

/// The sources a proof is about, by the hash of their bytes.
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

/// One step of a replay. Positions are bytes of the named side's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ProofStep {
    /// A name that is seen beyond one function: all of its uses on the left become the name on the right.
    Rename { from: String, to: String },
    /// A declaration of one side whose uses become what it stands for.
    Inline { side: ProofSide, file: usize, at: usize, name: String },
    /// A file that goes by another path.
    Move { file: usize },
}
