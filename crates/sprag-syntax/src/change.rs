//! Inputs and results of the classification, as plain data.

use std::collections::BTreeSet;

use crate::proof::{NameSearchScope, Proof};
use crate::reason::UnprovenReason;

/// All files that change together. The classification covers the whole set.
#[derive(Clone, Debug, Default)]
pub struct ChangeSet<'a> {
    pub files: Vec<ChangedFile<'a>>,
}

/// A file on both sides; `None` if the file does not exist on a side.
#[derive(Clone, Debug, Default)]
pub struct ChangedFile<'a> {
    pub path_before: Option<&'a str>,
    pub path_after: Option<&'a str>,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

/// The work limit, counted in nodes of syntax trees. So the result does not depend on the speed of the
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBudget {
    pub nodes: usize,
    pub depth: ProofDepth,
}

/// The amount of effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofDepth {
    /// Only compares the trees without comments; used for single writes.
    Shallow,
    Full,
}

impl NodeBudget {
    /// Limit after a single write.
    pub const WRITE: NodeBudget = NodeBudget { nodes: 20_000, depth: ProofDepth::Shallow };
    /// Limit for a commit or at the end of a turn.
    pub const COMMIT: NodeBudget = NodeBudget { nodes: 2_000_000, depth: ProofDepth::Full };
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeJudgement {
    pub verdict: Classification,
    pub level: Option<ProofLevel>,
    pub api: ApiChange,
    /// Assumptions of the proof about files outside the change.
    pub claims: Claims,
}

impl ChangeJudgement {
    /// Creates a judgement without a proof.
    pub fn without_proof(verdict: Classification, api: ApiChange) -> ChangeJudgement {
        ChangeJudgement { verdict, level: None, api, claims: Claims::new() }
    }

    /// Extends a proof to the whole tree, after a search found its names in no other file.
    pub fn confirmed_in_tree(mut self) -> ChangeJudgement {
        if let Classification::Proved(proof) = &mut self.verdict {
            proof.world = NameSearchScope::Tree;
        }
        self
    }

    /// Withdraws a proof whose names another file of the tree may use.
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
    /// The change keeps behaviour; `check` can replay the proof.
    Proved(Proof),
    /// The two sides differ for certain.
    Changed(Witness),
    Unproven(UnprovenReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProofLevel {
    /// The same tree without comments.
    L1,
    /// The same after removing sugar, renaming locals and reordering units.
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

/// The first place where the two sides differ for certain.
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
    /// Line number, starting at 1.
    pub line: u32,
    /// At most 200 characters.
    pub text: String,
}

/// Qualified names of public units that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiChange {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub renamed: Vec<(String, String)>,
}

/// Names that a proof assumes to be used only in the change. The proof holds in a tree only if no other file
/// of the tree contains them.
pub type Claims = BTreeSet<String>;
