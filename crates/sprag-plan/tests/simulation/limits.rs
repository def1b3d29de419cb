//! Accounts that reach their limits again and again: no attempt is lost, no agent starts while a limit
//! holds, and all stages continue when it ends.

use std::collections::BTreeMap;

use serde_json::json;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_plan::ids::{CommitId, EffectKey};
use sprag_plan::reconcile::observed::{AgentSession, AgentSign, Observed, TargetBranch};
use sprag_plan::reconcile::{Action, reconcile};
use sprag_plan::run::Run;
use sprag_plan::run::effect::{CheckPhase, Effect, EffectOutcome, QueueStep, StageStep};
use sprag_plan::run::record::{RunRecord, SessionOutcome};
use sprag_plan::spec::Plan;
use sprag_plan::stage::state::StageState;

/// Seconds of a limit, of an agent until it reaches the limit, and of an agent without a limit.
const HOLDS: i64 = 3 * 3600;
const UNTIL_LIMITED: i64 = 40;
const WORKS: i64 = 300;
/// Limits of the account in a row, with an hour between them in which it may be used.
const WINDOWS: i64 = 8;
const PROMISED: i64 = 5;

fn commit(name: &str) -> CommitId {
    CommitId(Text::new(name))
}

fn plan(stages: usize) -> Plan {
    let stage = |at: usize| {
        let needs: Vec<String> = (at >= 4).then(|| format!("s{}", at - 4)).into_iter().collect();
        let files = [format!("d{at}/**")];
        json!({
            "id": format!("s{at}"), "name": "", "description": "", "dependencies": needs,
            "parallel_group": null, "type": "standard",
            "scope": {"intents": [], "files": files, "globs": files}, "working_dir": ".", "setup": [],
            "before_stage": [], "acceptance": [], "after_stage": [], "artifacts": [format!("d{at}")], "wiring": [],
            "wiring_tests": [], "truths": [], "tasks": [], "context_budget": 75, "client": "claude",
            "mode": "headless", "sandbox": {"confine": "auto", "network": "open"},
            "budget": {"on_exceed": "pause"}, "retries": 0, "merge": "auto", "empty": "refused",
            "sharing": "shared", "outputs": [], "verify": "standard",
        })
    };
    let stages: Vec<_> = (0..stages).map(stage).collect();
    serde_json::from_value(json!({
        "name": "sim", "target": null, "gates": [], "slots": 4, "budget": {"on_exceed": "pause"},
        "sandbox": {"confine": "auto", "network": "open"}, "overview": "", "stages": stages,
    }))
    .unwrap()
}

/// Returns the end of the present limit, if there is one.
fn limit(start: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let (window, within) =
        (now.seconds_since(start) / (HOLDS + 3600), now.seconds_since(start) % (HOLDS + 3600));
    (window < WINDOWS && within < HOLDS).then(|| start.plus_seconds(window * (HOLDS + 3600) + HOLDS))
}

/// Does an effect at once; only agents take time.
fn perform(effect: &Effect) -> EffectOutcome {
    match effect {
        Effect::Stage { step: StageStep::AddWorktree { base }, .. } => {
            EffectOutcome::Worktree { base: base.clone() }
        }
        Effect::Stage { stage, step: StageStep::Check { phase: CheckPhase::Claim } } => {
            let head = commit(&format!("work of {}", stage.as_str()));
            EffectOutcome::Green { tree: head.clone(), head }
        }
        Effect::Stage { step: StageStep::Spawn, .. } => EffectOutcome::Spawned,
        Effect::Stage { step: StageStep::Salvage, .. } => EffectOutcome::Salvaged { carry: Text::new("1") },
        Effect::Queue { number, step: QueueStep::Make { .. } } => {
            let made = commit(&format!("candidate {number}"));
            EffectOutcome::Made { commit: made.clone(), tree: made }
        }
        _ => EffectOutcome::Done,
    }
}

#[test]
fn a_limit_burns_no_attempt_and_all_go_on_when_it_ends() {
    let start = Timestamp::from_millis(1_800_000_000_000);
    let plan = plan(60);
    let digest = plan.digest();
    let started =
        RunRecord::Started { run: Text::new("r"), plan: Box::new(plan), digest, trunk: commit("t") };
    let mut run = Run::fold([&started]).unwrap();
    let mut now = start;
    // The end of each agent at work.
    let mut ends: BTreeMap<EffectKey, Timestamp> = BTreeMap::new();
    let (mut limited, mut resumed, mut latest) = (0, 0, 0);
    let mut held: Option<Timestamp> = None;
    while !run.is_settled() {
        assert!(now.seconds_since(start) < 30 * 86_400, "the run ends");
        let over = |key: &EffectKey, at: Timestamp| {
            let ended = match limit(start, at) {
                Some(until) => SessionOutcome::RateLimited { until },
                None => SessionOutcome::Well,
            };
            (key.clone(), AgentSession::Over(ended))
        };
        let sessions = ends
            .iter()
            .filter(|(key, _)| run.ended(key).is_none())
            .map(|(key, at)| {
                if *at <= now {
                    over(key, *at)
                } else {
                    (key.clone(), AgentSession::Alive(AgentSign::Working))
                }
            })
            .collect();
        let trunk = run.queue().trunk().clone();
        let world = Observed {
            sessions,
            room: 4,
            trunk: Some(trunk.clone()),
            target: Some(TargetBranch::Behind(trunk)),
            ..Observed::default()
        };
        let (mut is_moved, mut wake) = (false, None);
        for action in reconcile(&run, &world, now) {
            match action {
                Action::WakeAt(at) => wake = Some(at),
                Action::Record(record) => {
                    is_moved = true;
                    if let RunRecord::Ended { ended: SessionOutcome::RateLimited { until }, .. } = &record {
                        limited += 1;
                        held = Some(*until);
                    }
                    run.apply(&record);
                }
                Action::Do { key, effect } => {
                    is_moved = true;
                    if effect.is_spawn() {
                        if let Some(until) = held.take() {
                            assert!(now >= until, "no agent starts while the limit holds");
                            latest = latest.max(now.seconds_since(until));
                            resumed += 1;
                        }
                        let lasts = if limit(start, now).is_some() { UNTIL_LIMITED } else { WORKS };
                        ends.insert(key.clone(), now.plus_seconds(lasts));
                    }
                    run.apply(&RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect: effect.clone() });
                    run.apply(&RunRecord::Outcome { key, outcome: perform(&effect) });
                }
            }
        }
        if !is_moved {
            let next = ends.values().copied().filter(|at| *at > now).chain(wake).min();
            now = next.unwrap_or_else(|| panic!("nothing happens any more: {run:#?}"));
        }
    }
    assert!(run.entries().all(|(_, entry)| matches!(entry.state, StageState::Done { .. })));
    let attempt = |key: &EffectKey| key.0.as_str().split('/').nth(2).map(str::to_owned);
    assert!(run.sessions().all(|(key, _)| attempt(key).as_deref() == Some("1")), "no attempt was lost");
    assert!(limited >= 8 && resumed >= 2, "there were limits: {limited} {resumed}");
    assert!(latest <= PROMISED, "resumed {latest} s after the end of a limit");
}
