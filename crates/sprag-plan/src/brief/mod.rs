//! Text that an agent starts with. It has four sections, from the part that never changes to the part that
//! changes with every session, so that the prompt cache of a provider can reuse the beginning of earlier
//! briefs:
//! - **stable**: the same bytes for every stage of a kind
//! - **semi-stable**: knowledge of the project
//! - **dynamic**: the stage and its assignment
//! - **recitation**: the open tasks; it stands last because it is read last
//!
//! Text of others is quoted line by line, so it cannot pass for a section of Sprag.

mod from_run;
mod project;
mod recitation;
mod section;
mod stable;
mod stage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;

use super::handoff::Handoff;
use super::ids::{CommitId, StageId};
use super::notes::StageNote;
use super::run::PersonAnswer;
use super::run::effect::BriefKind;
use super::spec::StageSpec;
use super::stage::StageFailure;
pub use recitation::recitation;
pub use stable::stable;

/// Limits of the sections in bytes.
pub const STABLE: usize = 8 * 1024;
pub const SEMI_STABLE: usize = 12 * 1024;
pub const DYNAMIC: usize = 16 * 1024;
pub const RECITATION: usize = 4 * 1024;

/// The contents of a brief, besides its kind.
#[derive(Clone, Debug)]
pub struct BriefInput {
    pub plan: Text<64>,
    pub overview: Text<20_000>,
    pub spec: StageSpec,
    pub attempt: u32,
    pub place: WorkLocation,
    pub known: ProjectKnowledge,
    pub needs: Vec<BriefNeed>,
    pub task: BriefTask,
    /// Answers of people to questions of the stage, the oldest first.
    pub answers: Vec<PersonAnswer>,
    /// Handoff of the previous agent.
    pub handoff: Option<Handoff>,
    /// Tasks that are done.
    pub ticked: Vec<Text<64>>,
    /// Notes of this stage, the oldest first.
    pub notes: Vec<StageNote>,
}

/// The places in git where the agent works.
#[derive(Clone, Debug, Default)]
pub struct WorkLocation {
    pub worktree: String,
    pub branch: String,
    pub base: Option<CommitId>,
    /// The branch that holds merged work.
    pub trunk: String,
    /// The branch that the trunk is promoted to.
    pub target: String,
}

/// Knowledge of the project.
#[derive(Clone, Debug, Default)]
pub struct ProjectKnowledge {
    /// Knowledge files: name and unchanged text.
    pub knowledge: Vec<(String, String)>,
    pub learnings: Vec<BriefLearning>,
    pub skills: Vec<Skill>,
    /// Limits of the sandbox, in sentences of Sprag.
    pub sandbox: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct BriefLearning {
    pub id: Text<64>,
    pub summary: Text<200>,
    pub detail: Text<2000>,
    /// The files that support the learning have changed since.
    pub is_stale: bool,
}

#[derive(Clone, Debug)]
pub struct Skill {
    pub name: Text<100>,
    pub description: Text<300>,
}

/// A stage that this one builds on.
#[derive(Clone, Debug)]
pub struct BriefNeed {
    pub id: StageId,
    pub name: Text<200>,
    pub merged: Option<CommitId>,
    pub outputs: BTreeMap<Text<64>, Text<1000>>,
}

/// Task of the agent besides the assignment of the stage.
#[derive(Clone, Debug, PartialEq)]
pub enum BriefTask {
    /// No other task.
    Assignment,
    /// The previous agent ended with this failure.
    After { failure: StageFailure },
    /// Checks or a review reported these failures.
    Mend { report: Text<4000> },
    /// Checks failed after the merge with the trunk.
    Red { report: Text<4000> },
    /// Checks pass without this stage and fail together with it.
    Pair { with: StageId },
    /// The work conflicts with this commit.
    Conflict {
        against: CommitId,
        paths: Vec<Text<400>>,
        /// The failures of the previous resolution.
        red: Option<Text<4000>>,
    },
}

/// A brief with its checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBrief {
    pub text: String,
    /// Checksum of the stable section alone; `whole` is that of the whole text.
    pub stable: Sha256Sum,
    pub whole: Sha256Sum,
}

pub fn brief(kind: BriefKind, told: &BriefInput) -> WrittenBrief {
    let stable = stable(kind);
    let sections = [stable.clone(), project::semi_stable(told), stage::dynamic(told), recitation(told)];
    let text = sections.join("\n");
    WrittenBrief {
        stable: Sha256Sum::hash_bytes(stable.as_bytes()),
        whole: Sha256Sum::hash_bytes(text.as_bytes()),
        text,
    }
}
