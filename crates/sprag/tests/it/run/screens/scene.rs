//! A run as its records tell it, without anybody who runs it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::session_dir::{Site, site_of};
use sprag_plan::agent::activity::Seen;
use sprag_plan::ids::{Commit, Key, StageId};
use sprag_plan::merge::Verified;
use sprag_plan::run::record::{Effect, Ended, Outcome, Recorded, key};
use sprag_plan::stage::Happened;

use crate::support::Sandbox;

/// Later than any test runs: what is still going on has taken no time yet, whenever that is.
const BEGAN: i64 = 4_000_000_000_000;

pub struct Scene {
    pub sandbox: Sandbox,
    seconds: i64,
}

fn commit(name: &str) -> Commit {
    Commit(Text::new(name))
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
    /// Stages and what they build on.
    pub fn new(stages: &[(&str, &[&str])]) -> Scene {
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
        scene.write(&Recorded::Started {
            run: Text::new("r1"),
            plan: Box::new(plan),
            digest,
            trunk: commit("t"),
        });
        scene
    }

    pub fn log(&self) -> PathBuf {
        self.sandbox.store().join("run/plans/p.jsonl")
    }

    pub fn write(&mut self, record: &Recorded) {
        let line = self.written(record);
        self.seconds += 5;
        let mut file = OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        file.write_all(&line).unwrap();
    }

    /// The line that would be written next.
    pub fn written(&self, record: &Recorded) -> Vec<u8> {
        record.record(Timestamp::from_millis(BEGAN).plus_seconds(self.seconds)).line()
    }

    pub fn happened(&mut self, stage: &str, what: Happened) {
        self.write(&Recorded::Happened { stage: StageId::new(stage), what });
    }

    fn effect(&mut self, stage: &str, step: &str, effect: Effect, outcome: Outcome) -> Key {
        let key = key(&Text::new("r1"), stage, 1, step);
        self.write(&Recorded::Intent { key: key.clone(), epoch: 1, effect });
        self.write(&Recorded::Outcome { key: key.clone(), outcome });
        key
    }

    /// Its agent runs.
    pub fn start(&mut self, stage: &str) -> Key {
        let id = StageId::new(stage);
        let (add, made) = (
            Effect::AddWorktree { stage: id.clone(), base: commit("t") },
            Outcome::Worktree { base: commit("t") },
        );
        self.effect(stage, "worktree.0", add, made);
        let session = self.effect(stage, "spawn.0", Effect::Spawn { stage: id }, Outcome::Spawned);
        fs::create_dir_all(self.site(&session).dir()).unwrap();
        session
    }

    pub fn site(&self, session: &Key) -> Site {
        site_of(&self.sandbox.store().join("run"), session)
    }

    pub fn seen(&self, session: &Key, seen: &Seen) {
        self.site(session).note_seen(&RealDisk, seen).unwrap();
    }

    pub fn end(&mut self, stage: &str, session: &Key, ended: Ended) {
        let at = Timestamp::from_millis(BEGAN).plus_seconds(self.seconds);
        self.write(&Recorded::Ended { stage: StageId::new(stage), session: session.clone(), at, ended });
    }

    /// From its start to the trunk.
    pub fn merge(&mut self, stage: &str) -> Key {
        self.merge_as(stage, "c0ffee00d15ea5e")
    }

    /// The same, as this commit.
    pub fn merge_as(&mut self, stage: &str, commit_name: &str) -> Key {
        let session = self.start(stage);
        self.happened(stage, Happened::Claimed);
        self.end(stage, &session, Ended::Well);
        let verified = Verified { attempt: 1, head: commit("head"), tree: commit("tree"), base: commit("t") };
        self.happened(stage, Happened::Green { verified, entry: 1 });
        let merged = serde_json::from_value(json!({"commit": commit_name, "tree": "tree"})).unwrap();
        self.happened(stage, Happened::Landed { merged });
        session
    }
}
