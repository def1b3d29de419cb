//! Short constructors of plans and runs for tests.

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::ids::{CommitId, StageId};
use super::run::Run;
use super::run::effect::StageStep;
use super::run::record::{RunRecord, key};
use super::spec::Plan;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

pub(crate) fn commit(name: &str) -> CommitId {
    CommitId(Text::new(name))
}

/// Makes a plan in the form of a record: stages by id, with their dependencies and their pattern.
pub(crate) fn plan(stages: &[(&str, &str, &str)]) -> Value {
    let stages: Vec<Value> = stages.iter().map(|(id, needs, files)| stage(id, needs, files)).collect();
    json!({
        "name": "test", "target": null, "gates": [], "slots": 4, "budget": {"on_exceed": "pause"},
        "sandbox": {"confine": "auto", "network": "open"}, "overview": "", "stages": stages,
    })
}

fn stage(id: &str, needs: &str, files: &str) -> Value {
    let needs: Vec<&str> = needs.split_whitespace().collect();
    json!({
        "id": id, "name": id, "description": "", "dependencies": needs, "parallel_group": null,
        "type": "standard", "scope": {"intents": [], "files": [files], "globs": [files]},
        "working_dir": ".", "setup": [], "before_stage": [], "acceptance": [], "after_stage": [],
        "artifacts": [files.trim_end_matches("/**")], "wiring": [], "wiring_tests": [], "truths": [], "tasks": [],
        "context_budget": 75, "client": "claude", "mode": "headless",
        "sandbox": {"confine": "auto", "network": "open"}, "budget": {"on_exceed": "pause"}, "retries": 3,
        "merge": "auto", "empty": "refused", "sharing": "shared", "outputs": [], "verify": "standard",
    })
}

pub(crate) fn start(plan: Value) -> RunRecord {
    let plan: Plan = serde_json::from_value(plan).expect("a test writes a good plan");
    let digest = plan.digest();
    RunRecord::Started { run: Text::new("r"), plan: Box::new(plan), digest, trunk: commit("t") }
}

pub(crate) fn started(plan: Value) -> Run {
    Run::fold([&start(plan)]).expect("it begins with a start")
}

/// Begins the first effect of a stage.
pub(crate) fn begin(run: &mut Run, stage: &str) {
    let effect = StageStep::AddWorktree { base: commit("t") }.for_stage(&StageId::new(stage));
    run.apply(&RunRecord::EffectBegun { key: key(&run.id, stage, 1, "worktree.0"), epoch: 1, effect });
}
