//! What others put on the target and what does not go with the trunk. Whoever merges both needs a worktree, a brief, an
//! agent, checks and at last a person, as every stage does: so it is a stage, of which no plan knows.

use sprag_base::text::Text;
use sprag_intent::IntentSharing;

use super::Run;
use crate::ids::{CommitId, StageId};
use crate::merge::queue::Verified;
use crate::spec::values::BranchName;
use crate::spec::{EmptyWork, Plan, StageKind, StageScope, StageSpec};
use crate::stage::StageConflict;
use crate::stage::state::StageState;

/// Paths that are named to whoever resolves it.
const NAMED: usize = 20;

/// A stage that brings commits of others and the trunk together.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetStage {
    pub spec: StageSpec,
    /// What the target had, and what has to be in the work of the stage.
    pub owed: CommitId,
}

impl TargetStage {
    /// `None`: the plan has nobody who could do it.
    pub fn new(run: &Run, number: usize, owed: &CommitId, paths: &[Text<400>]) -> Option<TargetStage> {
        let like = like(run, paths)?;
        let target = run.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or("the target");
        let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let description = format!(
            "Somebody has put `{}` on `{target}`, and it does not merge with what this plan has landed: {}. Merge it into this \
             branch, so that all of both is there.",
            owed.0,
            named.join(", ")
        );
        let spec = StageSpec {
            id: id(run, number),
            name: Text::new(format!("commits of others on `{target}`")),
            description: Text::new(description),
            dependencies: Vec::new(),
            parallel_group: None,
            kind: StageKind::Standard,
            // Whatever others have changed comes with it.
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

    /// How it begins: its work is what is on the trunk, and does not merge.
    pub fn stage(&self, trunk: &CommitId, paths: Vec<Text<400>>) -> StageState {
        let verified = Verified { attempt: 1, head: trunk.clone(), tree: trunk.clone(), base: trunk.clone() };
        StageState::Conflicted(StageConflict::new(verified, self.owed.clone(), paths))
    }
}

/// No id of a plan begins like this. The plan is part of it: branches and worktrees are called by it, and other plans
/// have such stages, too.
fn id(run: &Run, number: usize) -> StageId {
    StageId::new(&format!("{}{number}", begins(run.plan().head.name.as_ref())))
}

fn begins(plan: &str) -> String {
    // As much of the name as leaves room for the number.
    let name: String = plan.chars().take(40).collect();
    format!("@{name}-")
}

/// Whether a stage is one of those, of whichever run.
pub fn is_base(id: &StageId) -> bool {
    id.as_str().starts_with('@')
}

/// Whether it is one of runs of this plan.
pub fn is_base_of(id: &StageId, plan: &str) -> bool {
    let number = id.as_str().strip_prefix(&begins(plan));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The stage whose client, walls and checks it has: one whose work is in conflict, as far as that can be told.
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
