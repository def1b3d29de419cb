//! A stage that resolves a conflict between the trunk and commits of others on the target. The resolution
//! needs a worktree, a brief, an agent, checks and perhaps a person, so it is a stage; no plan file
//! contains it.

use sprag_base::text::Text;
use sprag_intent::IntentSharing;

use super::Run;
use crate::ids::{CommitId, StageId};
use crate::merge::queue::Verified;
use crate::sentences::{target_stage_name, target_stage_task};
use crate::spec::values::BranchName;
use crate::spec::{EmptyWork, Plan, StageKind, StageScope, StageSpec};
use crate::stage::StageConflict;
use crate::stage::state::StageState;

/// A stage that merges commits of others with the trunk.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetStage {
    pub spec: StageSpec,
    /// The commit of others, which the work of the stage has to contain.
    pub owed: CommitId,
}

impl TargetStage {
    /// Makes the stage; `None` if the plan has no stage with a suitable agent.
    pub fn new(run: &Run, number: usize, owed: &CommitId, paths: &[Text<400>]) -> Option<TargetStage> {
        let like = like(run, paths)?;
        let target = run.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or("the target");
        let spec = StageSpec {
            id: id(run, number),
            name: Text::new(target_stage_name(target)),
            description: Text::new(target_stage_task(owed, target, paths)),
            dependencies: Vec::new(),
            parallel_group: None,
            kind: StageKind::Standard,
            // The commits of others may have changed any file.
            scope: StageScope::default(),
            before_stage: Vec::new(),
            tasks: Vec::new(),
            empty: EmptyWork::Refused,
            sharing: IntentSharing::Shared,
            outputs: Vec::new(),
            ..like.clone()
        };
        Some(TargetStage { spec, owed: owed.clone() })
    }

    /// Returns the first state: the trunk is its work, and it conflicts.
    pub fn stage(&self, trunk: &CommitId, paths: Vec<Text<400>>) -> StageState {
        let verified = Verified { attempt: 1, head: trunk.clone(), tree: trunk.clone(), base: trunk.clone() };
        StageState::Conflicted(StageConflict::new(verified, self.owed.clone(), paths))
    }
}

/// Returns an id that no plan file can use. The name of the plan is part of it, because branches and
/// worktrees have the id in their names and other plans have such stages, too.
fn id(run: &Run, number: usize) -> StageId {
    StageId::new(&format!("{}{number}", begins(run.plan().head.name.as_ref())))
}

fn begins(plan: &str) -> String {
    // The name is cut to leave room for the number.
    let name: String = plan.chars().take(40).collect();
    format!("@{name}-")
}

/// Reports whether a stage resolves conflicts with the target, in any run.
pub fn is_base(id: &StageId) -> bool {
    id.as_str().starts_with('@')
}

/// Reports whether the stage belongs to a run of this plan.
pub fn is_base_of(id: &StageId, plan: &str) -> bool {
    let number = id.as_str().strip_prefix(&begins(plan));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the stage whose client, sandbox and checks apply: if possible one whose files are in conflict.
fn like<'a>(run: &'a Run, paths: &[Text<400>]) -> Option<&'a StageSpec> {
    let has_agent = |spec: &&StageSpec| match spec.kind {
        StageKind::Standard | StageKind::IntegrationVerify => !is_base(&spec.id),
        StageKind::Knowledge | StageKind::KnowledgeDistill => false,
    };
    let is_merged = |spec: &&StageSpec| {
        run.entry(&spec.id).is_some_and(|entry| matches!(entry.state, StageState::Done { .. }))
    };
    let is_in_it = |spec: &&StageSpec| paths.iter().any(|path| spec.scope.holds(path.as_str()));
    let plan: &Plan = run.plan();
    let all = || plan.stages().iter().rev().filter(has_agent);
    let merged = || all().filter(is_merged);
    merged().find(is_in_it).or_else(|| merged().next()).or_else(|| all().next())
}
