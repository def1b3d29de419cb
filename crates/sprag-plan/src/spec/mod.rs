//! A checked plan: its stages depend on each other without a cycle, and every value is valid. A run freezes
//! it; the contents of a file are a draft until they pass the checks.

pub mod checks;
pub mod client;
pub mod fields;
mod graph;
pub mod problem;
mod reader;
pub(crate) mod scope_overlap;
pub mod template;
pub mod validate;
pub mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::glob::CaseFolding;
use sprag_base::text::Text;
use sprag_check::Profile;
use sprag_intent::{IntentSharing, Ownership, WriteReach};

use super::ids::StageId;
use super::spec::checks::{StageCheck, StageChecks};
use super::spec::graph::Graph;
use super::spec::values::{BranchName, Cost, FileGlob, Label, RelPath, Seconds, ShellLine, Slug, choices};
use crate::spec::client::StageClient;

/// Limit of stages in a plan.
pub const STAGES: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FrozenPlan", into = "FrozenPlan")]
pub struct Plan {
    pub head: PlanHead,
    stages: Vec<StageSpec>,
    graph: Graph,
    places: BTreeMap<String, usize>,
    /// The limit of stages of a group that run at the same time.
    groups: BTreeMap<Slug, u16>,
}

/// Settings for all stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanHead {
    pub name: Slug,
    /// The branch for merged work; `None` means the branch that is checked out at the start.
    pub target: Option<BranchName>,
    /// Checks of every merge candidate.
    pub gates: Vec<StageCheck>,
    /// Agents that work at the same time.
    pub slots: u16,
    /// Wait before the first new attempt after a failure.
    #[serde(default = "usual_backoff")]
    pub backoff: Seconds,
    pub budget: RunBudget,
    pub sandbox: SandboxSettings,
    /// The text around the fence; every agent gets it.
    pub overview: Text<20_000>,
}

/// Returns the default wait, which is long enough for problems that pass.
pub const fn usual_backoff() -> Seconds {
    Seconds::new(30)
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageSpec {
    pub id: StageId,
    pub name: Text<200>,
    pub description: Text<8000>,
    pub dependencies: Vec<StageId>,
    pub parallel_group: Option<StageGroup>,
    #[serde(rename = "type")]
    pub kind: StageKind,
    pub scope: StageScope,
    pub working_dir: RelPath,
    pub setup: Vec<ShellLine>,
    /// Checks before an agent starts, on an unchanged base.
    pub before_stage: Vec<StageCheck>,
    #[serde(flatten)]
    pub checks: StageChecks,
    pub tasks: Vec<StageTask>,
    /// Percent of a context after which the next agent takes over.
    pub context_budget: u8,
    #[serde(flatten)]
    pub agent: StageAgent,
    pub sandbox: SandboxSettings,
    pub budget: RunBudget,
    /// New attempts after a failure.
    pub retries: u8,
    pub merge: MergeMode,
    pub empty: EmptyWork,
    pub sharing: IntentSharing,
    pub outputs: Vec<StageOutput>,
    pub verify: Profile,
    /// Uncommitted files of the user's checkout that the worktree gets. They are never committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<RelPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheSpec>,
}

impl StageSpec {
    /// Reports whether the work of both specs is checked in the same way, so that results for one hold for
    /// both. Settings that do not affect the result are ignored.
    pub fn is_verified_as(&self, other: &StageSpec) -> bool {
        let other = other.clone();
        *self
            == StageSpec {
                dependencies: self.dependencies.clone(),
                parallel_group: self.parallel_group.clone(),
                setup: self.setup.clone(),
                context_budget: self.context_budget,
                budget: self.budget.clone(),
                retries: self.retries,
                merge: self.merge,
                sharing: self.sharing,
                outputs: self.outputs.clone(),
                ..other
            }
    }
}

/// A directory that can be rebuilt but takes long, such as the output of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSpec {
    pub path: RelPath,
    pub how: Caching,
}

choices! {
    /// The purpose of a stage.
    StageKind {
        Standard "standard",
        /// Reads a worktree of the trunk and commits nothing.
        Knowledge "knowledge",
        IntegrationVerify "integration-verify",
        /// Renders notes as knowledge files, with commands of Sprag.
        KnowledgeDistill "knowledge-distill",
    }
    /// How an agent is run.
    AgentMode {
        Headless "headless",
        Tmux "tmux",
    }
    Effort {
        Low "low",
        Medium "medium",
        High "high",
        XHigh "xhigh",
        Max "max",
    }
    /// The action when a budget is used up.
    BudgetAction {
        Pause "pause",
        Stop "stop",
    }
    /// Whether agents run in a sandbox; from loose to strict.
    SandboxLevel {
        Off "off",
        /// If the machine supports one.
        Auto "auto",
        Required "required",
    }
    /// How a worktree gets a cache of the user's checkout.
    Caching {
        None "none",
        /// The same directory: a write changes it for both.
        Share "share",
        /// A separate copy that shares disk blocks, if the file system supports it.
        Reflink "reflink",
    }
}

/// The agent of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageAgent {
    pub client: StageClient,
    pub mode: AgentMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A group of stages with a limit on how many run at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageGroup {
    pub name: Slug,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
}

/// The files that a stage may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageScope {
    pub intents: Vec<Text<64>>,
    pub files: Vec<FileGlob>,
    /// The patterns of the intents at the time of the check, followed by those of `files`.
    pub globs: Vec<FileGlob>,
}

impl StageScope {
    /// Reports whether the scope has no limits, so any file may be changed.
    pub fn is_open(&self) -> bool {
        self.intents.is_empty() && self.files.is_empty()
    }

    /// Reports whether a file may be changed. As in intents, the last matching pattern decides.
    pub fn holds(&self, path: &str) -> bool {
        let globs = || self.globs.iter().map(ToString::to_string).collect();
        self.is_open() || Ownership::Globs(globs()).holds(path, WriteReach::Path, CaseFolding::Exact)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageTask {
    pub id: Slug,
    pub text: Text<500>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<StageCheck>,
}

/// A value that a stage leaves for dependent stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageOutput {
    pub name: Slug,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub description: Text<300>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBudget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Seconds>,
    pub on_exceed: BudgetAction,
}

impl RunBudget {
    pub const UNBOUNDED: RunBudget =
        RunBudget { tokens: None, cost: None, time: None, on_exceed: BudgetAction::Pause };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSettings {
    pub confine: SandboxLevel,
    pub network: Network,
}

/// Network access of an agent besides its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    Open,
    Hosts(Vec<Label>),
    None,
}

impl SandboxSettings {
    pub const USUAL: SandboxSettings =
        SandboxSettings { confine: SandboxLevel::Auto, network: Network::Open };

    /// Reports whether these settings allow nothing that the others forbid.
    pub fn is_within(&self, other: &SandboxSettings) -> bool {
        let is_network_within = match (&self.network, &other.network) {
            (_, Network::Open) | (Network::None, _) => true,
            (Network::Hosts(mine), Network::Hosts(theirs)) => mine.iter().all(|host| theirs.contains(host)),
            (Network::Open, Network::Hosts(_) | Network::None) | (Network::Hosts(_), Network::None) => false,
        };
        self.confine >= other.confine && is_network_within
    }
}

/// Approval of the merge of verified work: automatic, or by a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMode {
    Auto,
    Person,
}

/// Whether a stage may end without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyWork {
    Refused,
    Allowed,
}

impl Plan {
    /// Makes a plan. [`validate::validate`] checks everything else. Returns `None` without stages, with an
    /// unknown or duplicate id, or with a cycle.
    pub(super) fn new(head: PlanHead, stages: Vec<StageSpec>) -> Option<Plan> {
        let named = stages.iter().enumerate().map(|(at, stage)| (stage.id.as_str().to_owned(), at));
        let places: BTreeMap<String, usize> = named.collect();
        if places.len() < stages.len() || stages.is_empty() || stages.len() > STAGES {
            return None;
        }
        let needs = |stage: &StageSpec| -> Option<Vec<usize>> {
            stage.dependencies.iter().map(|id| places.get(id.as_str()).copied()).collect()
        };
        let needs: Option<Vec<Vec<usize>>> = stages.iter().map(needs).collect();
        let graph = Graph::new(needs?).ok()?;
        let groups = stages.iter().filter_map(|stage| stage.parallel_group.as_ref());
        let groups = groups.filter_map(|group| Some((group.name.clone(), group.max?))).collect();
        Some(Plan { head, stages, graph, places, groups })
    }

    /// Returns the plan with this target; `None` if the text is not a valid branch name.
    pub fn with_target(mut self, branch: &str) -> Option<Plan> {
        self.head.target = Some(BranchName::try_from(branch.to_owned()).ok()?);
        Some(self)
    }

    /// Returns the plan with one more stage at the end; `None` if the stage does not fit.
    pub(super) fn with_stage(&self, stage: StageSpec) -> Option<Plan> {
        Plan::new(self.head.clone(), self.stages.iter().cloned().chain([stage]).collect())
    }

    /// Replaces the checks of a stage.
    pub(super) fn set_checks(
        &mut self,
        id: &str,
        checks: StageChecks,
        tasks: Vec<StageTask>,
        verify: Profile,
    ) {
        if let Some(place) = self.place(id) {
            let stage = &mut self.stages[place];
            (stage.checks, stage.tasks, stage.verify) = (checks, tasks, verify);
        }
    }

    /// Returns the stages in the order of the file.
    pub fn stages(&self) -> &[StageSpec] {
        &self.stages
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn find(&self, id: &str) -> Option<&StageSpec> {
        self.place(id).map(|place| &self.stages[place])
    }

    /// Returns the index of a stage, by which the graph knows it.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub fn group_max(&self, name: &Slug) -> Option<u16> {
        self.groups.get(name).copied()
    }

    /// Returns the digest of the whole plan: equal digests mean equal plans.
    pub fn digest(&self) -> Digest {
        let json = serde_json::to_vec(self).expect("a plan is plain data with text keys");
        Digest::hash_parts([json])
    }
}

/// The form of a plan in a record.
#[derive(Clone, Serialize, Deserialize)]
struct FrozenPlan {
    #[serde(flatten)]
    head: PlanHead,
    stages: Vec<StageSpec>,
}

impl From<Plan> for FrozenPlan {
    fn from(plan: Plan) -> FrozenPlan {
        FrozenPlan { head: plan.head, stages: plan.stages }
    }
}

impl TryFrom<FrozenPlan> for Plan {
    type Error = &'static str;

    fn try_from(frozen: FrozenPlan) -> Result<Plan, &'static str> {
        Plan::new(frozen.head, frozen.stages).ok_or("the stages of the plan do not fit together")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_scope_the_last_pattern_that_fits_decides() {
        let scope = |globs: &[&str]| -> StageScope {
            serde_json::from_value(serde_json::json!({"intents": [], "files": globs, "globs": globs}))
                .unwrap()
        };
        let ordered = scope(&["src/**", "!src/gen/**", "src/gen/kept.rs"]);
        let held =
            ["src/a.rs", "src/gen/a.rs", "src/gen/kept.rs", "docs/a.md"].map(|path| ordered.holds(path));
        assert_eq!(held, [true, false, true, false]);
        assert!(scope(&[]).holds("anything"));
    }
}
