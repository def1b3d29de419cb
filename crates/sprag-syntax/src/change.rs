//! What is judged and what comes of it: plain data, the same for every caller.

use std::collections::BTreeSet;

use crate::proof::{NameSearchScope, Proof};
use crate::reason::UnprovenReason;

/// All files that change together. What is judged is the whole of it.
#[derive(Clone, Debug, Default)]
pub struct ChangeSet<'a> {
    pub files: Vec<ChangedFile<'a>>,
}

/// A file on both sides; `None` is a side on which it does not exist.
#[derive(Clone, Debug, Default)]
pub struct ChangedFile<'a> {
    pub path_before: Option<&'a str>,
    pub path_after: Option<&'a str>,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

/// How much may be looked at, counted in nodes of syntax trees: the same change gets the same answer on a slow
/// machine and on a fast one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBudget {
    pub nodes: usize,
    pub depth: ProofDepth,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofDepth {
    /// Only whether the trees are equal without comments: for single writes.
    Shallow,
    Full,
}

impl NodeBudget {
    /// After a single write.
    pub const WRITE: NodeBudget = NodeBudget { nodes: 20_000, depth: ProofDepth::Shallow };
    /// For a commit or at the end of a turn.
    pub const COMMIT: NodeBudget = NodeBudget { nodes: 2_000_000, depth: ProofDepth::Full };
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeJudgement {
    pub verdict: Classification,
    pub level: Option<ProofLevel>,
    pub api: ApiChange,
    /// What a proof takes for granted about files that are not in the change.
    pub claims: Claims,
}

impl ChangeJudgement {
    /// Without a proof.
    pub fn without_proof(verdict: Classification, api: ApiChange) -> ChangeJudgement {
        ChangeJudgement { verdict, level: None, api, claims: Claims::new() }
    }

    /// Returns a proof as one that holds in the whole tree, where nobody else has its names.
    pub fn confirmed_in_tree(mut self) -> ChangeJudgement {
        if let Classification::Proved(proof) = &mut self.verdict {
            proof.world = NameSearchScope::Tree;
        }
        self
    }

    /// Takes a proof back whose names somebody else in the tree may have.
    pub fn refuted_in_tree(self) -> ChangeJudgement {
        match self.verdict {
            Classification::Proved(_) => ChangeJudgement::without_proof(
                Classification::Unproven(UnprovenReason::RenameEscapes),
                self.api,
            ),
            _ => self,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classification {
    /// Behaviour is kept, and `check` can be asked again.
    Proved(Proof),
    /// Something definite differs.
    Changed(Witness),
    Unproven(UnprovenReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProofLevel {
    /// The same tree without comments.
    L1,
    /// The same after sugar, names of locals and the order of units.
    L2,
    /// The same after inlining.
    L3,
}

impl ProofLevel {
    pub fn name(self) -> &'static str {
        match self {
            ProofLevel::L1 => "L1",
            ProofLevel::L2 => "L2",
            ProofLevel::L3 => "L3",
        }
    }
}

/// The first place where the sides differ for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    pub path: String,
    /// The qualified name of the unit, empty at the top of a file.
    pub unit: String,
    pub before: Option<Excerpt>,
    pub after: Option<Excerpt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// 1-based.
    pub line: u32,
    /// At most 200 characters.
    pub text: String,
}

/// What others can see of a change: qualified names of public units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiChange {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub renamed: Vec<(String, String)>,
}

/// Names that a proof takes for the change's own. It holds in a tree only if no file of it spells them that is not in
/// the change.
pub type Claims = BTreeSet<String>;
