//! What an agent is told when it starts, all of it in one text. Four sections, from what never changes to what
//! changes with every session, so that a model's provider finds the beginning of one brief in the next: **stable**
//! (the same bytes for every stage of a kind), **semi-stable** (what is known here), **dynamic** (what this stage is
//! about) and **recitation** (what is open now; last, because that is what is read last).
//!
//! What others have said stands in it as a quotation, line by line: nothing of it can pose as a section of ours.

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

/// Bytes of the sections.
pub const STABLE: usize = 8 * 1024;
pub const SEMI_STABLE: usize = 12 * 1024;
pub const DYNAMIC: usize = 16 * 1024;
pub const RECITATION: usize = 4 * 1024;

/// All that a brief is made of, besides its kind.
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
    /// What people have answered to its questions, the oldest first.
    pub answers: Vec<PersonAnswer>,
    /// Of the agent before.
    pub handoff: Option<Handoff>,
    /// Tasks that are ticked off.
    pub ticked: Vec<Text<64>>,
    /// Of this stage, the oldest first.
    pub notes: Vec<StageNote>,
}

/// Where the agent works.
#[derive(Clone, Debug, Default)]
pub struct WorkLocation {
    pub worktree: String,
    pub branch: String,
    pub base: Option<CommitId>,
    /// Where merged work is.
    pub trunk: String,
    /// Where it goes in the end.
    pub target: String,
}

/// What is known of the project.
#[derive(Clone, Debug, Default)]
pub struct ProjectKnowledge {
    /// Files of knowledge by name, as they are.
    pub knowledge: Vec<(String, String)>,
    pub learnings: Vec<BriefLearning>,
    pub skills: Vec<Skill>,
    /// What confines the agent, in words of ours.
    pub sandbox: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct BriefLearning {
    pub id: Text<64>,
    pub summary: Text<200>,
    pub detail: Text<2000>,
    /// What it rests on has changed since.
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

/// What there is to do, besides the stage's own assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum BriefTask {
    /// Nothing.
    Assignment,
    /// The agent before ended like this.
    After { failure: StageFailure },
    /// Its checks have said this.
    Mend { report: Text<4000> },
    /// Merged with what is there it is red.
    Red { report: Text<4000> },
    /// Green alone, red with this one.
    Pair { with: StageId },
    /// Does not go together with this commit.
    Conflict {
        against: CommitId,
        paths: Vec<Text<400>>,
        /// What was red of the try before.
        red: Option<Text<4000>>,
    },
}

/// A brief, and by what it is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBrief {
    pub text: String,
    /// Of the stable section alone, and of everything.
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
