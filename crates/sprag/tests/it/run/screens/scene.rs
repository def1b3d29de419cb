//! A run that exists only as records, without a daemon.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::session_dir::{SessionDir, site_of};
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::merge::queue::Verified;
use sprag_plan::run::effect::{Effect, EffectOutcome, StageStep};
use sprag_plan::run::record::{RunRecord, SessionOutcome, key};
use sprag_plan::stage::StageEvent;

use crate::support::Sandbox;

/// A time after every test run, so that running stages show no elapsed time.
const BEGAN: i64 = 4_000_000_000_000;

pub(super) struct Scene {
    pub sandbox: Sandbox,
    seconds: i64,
}

fn commit(name: &str) -> CommitId {
    CommitId(Text::new(name))
}

fn stage(id: &str, needs: &[&str]) -> Value {
    let nothing = json!([]);
    json!({
        "id": id, "name": id, "description": "", "dependencies": needs, "parallel_group": null,
        "type": "standard", "scope": {"intents": [], "files": [id], "globs": [id]},
        "working_dir": ".", "setup": nothing, "before_stage": nothing, "acceptance": nothing,
        "after_stage": nothing, "artifacts": [id], "wiring": nothing, "wiring_tests": nothing,
        "truths": nothing, "tasks": nothing, "context_budget": 75, "client": "claude", "mode": "headless",
        "sandbox": {"confine": "auto", "network": "open"}, "budget": {"on_exceed": "pause"}, "retries": 3,
        "merge": "auto", "empty": "refused", "sharing": "shared", "outputs": nothing, "verify": "standard",
    })
}

impl Scene {
    /// Makes a run of these stages with their dependencies.
    pub(super) fn new(stages: &[(&str, &[&str])]) -> Scene {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.store().join("run/plans")).unwrap();
        let stages: Vec<Value> = stages.iter().map(|(id, needs)| stage(id, needs)).collect();
        let plan = json!({
            "name": "p", "target": "main", "gates": [], "slots": 4, "budget": {"on_exceed": "pause"},
            "sandbox": {"confine": "auto", "network": "open"}, "overview": "", "stages": stages,
        });
        let plan: sprag_plan::spec::Plan = serde_json::from_value(plan).unwrap();
        let digest = plan.digest();
        let mut scene = Scene { sandbox, seconds: 0 };
        scene.write(&RunRecord::Started {
            run: Text::new("r1"),
            plan: Box::new(plan),
            digest,
            trunk: commit("t"),
        });
        scene
    }

    pub(super) fn log(&self) -> PathBuf {
        self.sandbox.store().join("run/plans/p.jsonl")
    }

    pub(super) fn write(&mut self, record: &RunRecord) {
        let line = self.written(record);
        self.seconds += 5;
        let mut file = OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        file.write_all(&line).unwrap();
    }

    /// Returns the line of the next record.
    pub(super) fn written(&self, record: &RunRecord) -> Vec<u8> {
        record.record(Timestamp::from_millis(BEGAN).plus_seconds(self.seconds)).line()
    }

    pub(super) fn happened(&mut self, stage: &str, what: StageEvent) {
        self.write(&RunRecord::Happened { stage: StageId::new(stage), what });
    }

    fn effect(&mut self, stage: &str, step: &str, effect: Effect, outcome: EffectOutcome) -> EffectKey {
        let key = key(&Text::new("r1"), stage, 1, step);
        self.write(&RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect });
        self.write(&RunRecord::Outcome { key: key.clone(), outcome });
        key
    }

    /// Records that the agent of a stage runs.
    pub(super) fn start(&mut self, stage: &str) -> EffectKey {
        let id = StageId::new(stage);
        let (add, made) = (
            StageStep::AddWorktree { base: commit("t") }.for_stage(&id),
            EffectOutcome::Worktree { base: commit("t") },
        );
        self.effect(stage, "worktree.0", add, made);
        let session = self.effect(stage, "spawn.0", StageStep::Spawn.for_stage(&id), EffectOutcome::Spawned);
        fs::create_dir_all(self.site(&session).dir()).unwrap();
        session
    }

    pub(super) fn site(&self, session: &EffectKey) -> SessionDir {
        site_of(&self.sandbox.store().join("run"), session)
    }

    pub(super) fn seen(&self, session: &EffectKey, seen: &AgentActivity) {
        self.site(session).note_seen(&RealDisk, seen).unwrap();
    }

    pub(super) fn end(&mut self, stage: &str, session: &EffectKey, ended: SessionOutcome) {
        let at = Timestamp::from_millis(BEGAN).plus_seconds(self.seconds);
        self.write(&RunRecord::Ended { stage: StageId::new(stage), session: session.clone(), at, ended });
    }

    /// Records a stage from its start to the trunk.
    pub(super) fn merge(&mut self, stage: &str) -> EffectKey {
        self.merge_as(stage, "c0ffee00d15ea5e")
    }

    /// Records a stage that is merged as this commit.
    pub(super) fn merge_as(&mut self, stage: &str, commit_name: &str) -> EffectKey {
        let session = self.start(stage);
        self.happened(stage, StageEvent::Claimed);
        self.end(stage, &session, SessionOutcome::Well);
        let verified = Verified { attempt: 1, head: commit("head"), tree: commit("tree"), base: commit("t") };
        self.happened(stage, StageEvent::ChecksPassed { verified, entry: 1 });
        let merged = serde_json::from_value(json!({"commit": commit_name, "tree": "tree"})).unwrap();
        self.happened(stage, StageEvent::Landed { merged });
        session
    }
}
