//! A plan that was checked: stages that build on each other without a circle, every value of it a good one. It is
//! what a run freezes; whatever stands in a file is a draft until it has become this.

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

/// Stages of a plan at most.
pub const STAGES: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FrozenPlan", into = "FrozenPlan")]
pub struct Plan {
    pub head: PlanHead,
    stages: Vec<StageSpec>,
    graph: Graph,
    places: BTreeMap<String, usize>,
    /// How many stages of a group may run at once, wherever that is said.
    groups: BTreeMap<Slug, u16>,
}

/// What holds for all stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanHead {
    pub name: Slug,
    /// Where merged work goes; nothing said: the branch that is checked out when it starts.
    pub target: Option<BranchName>,
    /// Run on every candidate, whatever its stage.
    pub gates: Vec<StageCheck>,
    /// Agents at work at once.
    pub slots: u16,
    /// Before a stage that failed is started again, the first time.
    #[serde(default = "usual_backoff")]
    pub backoff: Seconds,
    pub budget: RunBudget,
    pub sandbox: SandboxSettings,
    /// What is written around the fence: it is told to every agent.
    pub overview: Text<20_000>,
}

/// Long enough for what passes by itself.
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
    /// Before an agent starts, and only on a base that nobody has touched.
    pub before_stage: Vec<StageCheck>,
    #[serde(flatten)]
    pub checks: StageChecks,
    pub tasks: Vec<StageTask>,
    /// Per cent of a context that may be used before the next agent takes over.
    pub context_budget: u8,
    #[serde(flatten)]
    pub agent: StageAgent,
    pub sandbox: SandboxSettings,
    pub budget: RunBudget,
    /// How often it is started again after a failure.
    pub retries: u8,
    pub merge: MergeMode,
    pub empty: EmptyWork,
    pub sharing: IntentSharing,
    pub outputs: Vec<StageOutput>,
    pub verify: Profile,
    /// Files of the user's checkout that no commit has and that its worktree gets. They are never committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<RelPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheSpec>,
}

impl StageSpec {
    /// Whether its work is looked at as that of the other, so that what was found out of the one holds for both. How it
    /// comes about is nothing to that.
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

/// Something that can be made again and takes long, such as what a build leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSpec {
    pub path: RelPath,
    pub how: Caching,
}

choices! {
    /// What a stage is for.
    StageKind {
        Standard "standard",
        /// Looks around in a worktree of the trunk, and commits nothing.
        Knowledge "knowledge",
        IntegrationVerify "integration-verify",
        /// Makes knowledge of what was noted, by commands of ours.
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
    /// What happens when a budget is used up.
    BudgetAction {
        Pause "pause",
        Stop "stop",
    }
    /// Whether agents are kept in a sandbox; from loose to strict.
    SandboxLevel {
        Off "off",
        /// Where the machine has one.
        Auto "auto",
        Required "required",
    }
    /// What a worktree has of a cache of the user's checkout.
    Caching {
        None "none",
        /// The same one: whoever writes to it writes to both.
        Share "share",
        /// One of its own, of the same blocks of the disk, where that can be had for nothing.
        Reflink "reflink",
    }
}

/// Who does the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageAgent {
    pub client: StageClient,
    pub mode: AgentMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// Stages of a group run at the same time, so many at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageGroup {
    pub name: Slug,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
}

/// Where a stage may change something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageScope {
    pub intents: Vec<Text<64>>,
    pub files: Vec<FileGlob>,
    /// Those of the intents, as they were when the plan was checked, and then the files.
    pub globs: Vec<FileGlob>,
}

impl StageScope {
    /// Nothing is said, so that anything may be changed.
    pub fn is_open(&self) -> bool {
        self.intents.is_empty() && self.files.is_empty()
    }

    /// Whether a file may be changed. As in intents, the last pattern that fits decides.
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

/// Something a stage leaves for those that build on it.
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

/// What an agent may talk to, besides its model.
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

    /// Whether nothing is allowed here that is not allowed there.
    pub fn is_within(&self, other: &SandboxSettings) -> bool {
        let is_network_within = match (&self.network, &other.network) {
            (_, Network::Open) | (Network::None, _) => true,
            (Network::Hosts(mine), Network::Hosts(theirs)) => mine.iter().all(|host| theirs.contains(host)),
            (Network::Open, Network::Hosts(_) | Network::None) | (Network::Hosts(_), Network::None) => false,
        };
        self.confine >= other.confine && is_network_within
    }
}

/// Who says that verified work is merged.
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
    /// By [`validate::validate`], which looks at all else, and from a record of it. `None`: no stage at
    /// all, an id that is nobody's or two's, or a circle.
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

    /// The same, with merged work going there; `None` if that is no name of a branch.
    pub fn with_target(mut self, branch: &str) -> Option<Plan> {
        self.head.target = Some(BranchName::try_from(branch.to_owned()).ok()?);
        Some(self)
    }

    /// The same with one more stage at its end; `None`: it does not fit.
    pub(super) fn with_stage(&self, stage: StageSpec) -> Option<Plan> {
        Plan::new(self.head.clone(), self.stages.iter().cloned().chain([stage]).collect())
    }

    /// What shows that a stage is done, from here on.
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

    /// In the order of the file.
    pub fn stages(&self) -> &[StageSpec] {
        &self.stages
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn find(&self, id: &str) -> Option<&StageSpec> {
        self.place(id).map(|place| &self.stages[place])
    }

    /// Where a stage stands among the others, by which the graph knows it.
    pub fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub fn group_max(&self, name: &Slug) -> Option<u16> {
        self.groups.get(name).copied()
    }

    /// Of all that it says: the same digest is the same plan.
    pub fn digest(&self) -> Digest {
        let json = serde_json::to_vec(self).expect("a plan is plain data with text keys");
        Digest::hash_parts([json])
    }
}

/// A plan as it stands in a record.
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
