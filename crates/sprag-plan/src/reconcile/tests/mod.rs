//! Decisions of the reconciler, as stories of one or two stages.

mod amended;
mod commands;
mod crossed;
mod on_hold;

use serde_json::Value;

use super::*;
use crate::reconcile::observed::{AgentSession, AgentSign};
use crate::run::effect::EffectOutcome;
use crate::run::record::{CommitProgress, SessionOutcome};
use crate::stage::ReviewQuestion;
use crate::stage::command::StageCommand;
use crate::testing::{commit, now, plan, start};

/// A run, the observed world and the written records.
struct Story {
    run: Run,
    world: Observed,
    records: Vec<RunRecord>,
    now: Timestamp,
}

impl Story {
    fn new(plan: Value) -> Story {
        let records = vec![start(plan)];
        let world = Observed {
            room: 4,
            trunk: Some(commit("t")),
            target: Some(TargetBranch::Behind(commit("t"))),
            ..Observed::default()
        };
        Story { run: Run::fold(&records).unwrap(), world, records, now: now() }
    }

    fn write(&mut self, record: RunRecord) {
        self.run.apply(&record);
        self.records.push(record);
    }

    /// Returns the next actions as texts, and begins them.
    fn next(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        for action in reconcile(&self.run, &self.world, self.now) {
            match action {
                Action::Record(record) => {
                    told.push(record.record(self.now).kind);
                    self.write(record);
                }
                Action::Do { key, effect } => {
                    told.push(format!("do {}", key.0));
                    self.world.busy.insert(key.clone());
                    self.write(RunRecord::EffectBegun { key, epoch: 1, effect });
                }
                Action::WakeAt(at) => told.push(format!("wake in {} s", at.seconds_since(self.now))),
            }
        }
        told
    }

    fn came_to(&mut self, step: &str, outcome: EffectOutcome) {
        let key = EffectKey(Text::new(format!("r/{step}")));
        assert!(self.world.busy.remove(&key), "{step} is not under way: {:?}", self.world.busy);
        self.write(RunRecord::Outcome { key, outcome });
    }

    fn session(&mut self, step: &str, session: AgentSession) {
        self.world.sessions.insert(EffectKey(Text::new(format!("r/{step}"))), session);
    }

    /// Runs the story up to the first agent at work.
    fn up_to_work(&mut self, stage: &str) {
        self.next();
        self.came_to(&format!("{stage}/1/worktree.0"), EffectOutcome::Worktree { base: commit("t") });
        self.next();
        self.came_to(&format!("{stage}/1/brief.0"), EffectOutcome::Done);
        self.next();
        self.session(&format!("{stage}/1/spawn.0"), AgentSession::Alive(AgentSign::Working));
        self.came_to(&format!("{stage}/1/spawn.0"), EffectOutcome::Spawned);
    }

    fn state(&self, stage: &str) -> &StageState {
        &self.run.entry(&StageId::new(stage)).unwrap().state
    }

    fn is_held(&self, stage: &str) -> bool {
        self.run.entry(&StageId::new(stage)).unwrap().is_held()
    }

    fn tell(&mut self, stage: &str, command: StageCommand) {
        let (stage, by) = (StageId::new(stage), Text::new("p"));
        self.write(RunRecord::StageCommand { stage, by, command });
    }
}

fn crash() -> AgentSession {
    AgentSession::Over(SessionOutcome::Failed {
        failure: StageFailure::Crash,
        progress: CommitProgress::Nothing,
    })
}

fn one() -> Value {
    plan(&[("a", "", "x")])
}

#[test]
fn a_stage_from_its_start_to_the_target() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "a", "y")]));
    story.up_to_work("a");
    assert_eq!(story.next(), Vec::<String>::new());
    story.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Claiming));
    assert_eq!(story.next(), ["stage.happened"]);
    assert_eq!(story.next(), ["do r/a/1/claim.0"]);
    story.came_to("a/1/claim.0", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill", "do r/a/1/queue.1.0"]);
    story.came_to("a/1/queue.1.0", EffectOutcome::Made { commit: commit("m"), tree: commit("tm") });
    story.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
    assert_eq!(story.next(), ["session.ended", "do r/a/1/queue.1.1"]);
    story.came_to("a/1/queue.1.1", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/queue.1.2"]);
    story.world.trunk = Some(commit("m"));
    story.came_to("a/1/queue.1.2", EffectOutcome::Done);
    assert!(matches!(story.state("a"), StageState::Done { merged } if merged.commit() == &commit("m")));
    // A dependent stage starts from the merge commit.
    assert_eq!(story.next(), ["do r/a/0/salvage.1", "do r/b/1/worktree.0", "do r/-/0/promote.0"]);
    let begun = story.run.open().find_map(|effect| match effect {
        Effect::Stage { step: StageStep::AddWorktree { base }, .. } => Some(base.clone()),
        _ => None,
    });
    assert_eq!(begun, Some(commit("m")));
    // Everything that should be under way is under way.
    assert_eq!(story.next(), Vec::<String>::new());
}

#[test]
fn a_crash_is_tried_again_later_and_later() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", crash());
    assert_eq!(story.next(), ["session.ended"]);
    assert_eq!(story.next(), ["stage.happened"]);
    assert_eq!(story.state("a").attempt(), 2);
    assert_eq!(story.next(), ["wake in 30 s"]);
    story.now = story.now.plus_seconds(30);
    // The worktree still exists.
    assert_eq!(story.next(), ["do r/a/2/brief.1"]);
}

#[test]
fn three_crashes_without_a_commit_are_a_persons() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    for spawn in 0..3 {
        if spawn > 0 {
            story.now = story.now.plus_seconds(300);
            story.next();
            story.came_to(&format!("a/{}/brief.{spawn}", spawn + 1), EffectOutcome::Done);
            story.next();
            story.came_to(&format!("a/{}/spawn.{spawn}", spawn + 1), EffectOutcome::Spawned);
        }
        story.session(&format!("a/{}/spawn.{spawn}", spawn + 1), crash());
        story.next();
        story.next();
    }
    assert!(
        matches!(story.state("a"), StageState::Blocked { failure: StageFailure::Crash, .. }),
        "{:?}",
        story.state("a")
    );
    assert_eq!(story.next(), ["do r/a/3/notify.7"]);
    assert_eq!(story.next(), Vec::<String>::new());
    story.tell("a", StageCommand::Retry);
    assert_eq!(story.next(), ["do r/a/4/brief.3"]);
}

#[test]
fn a_rate_limit_is_waiting_and_holds_the_account() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "", "y")]));
    story.world.room = 1;
    story.up_to_work("a");
    let until = story.now.plus_seconds(1000);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::RateLimited { until }));
    assert_eq!(story.next(), ["session.ended"]);
    // Other stages of the same client wait, too.
    assert_eq!(story.next(), ["stage.happened", "wake in 1000 s"]);
    assert_eq!(story.next(), ["wake in 1000 s"]);
    assert_eq!(story.state("a").attempt(), 1);
    story.now = until;
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
}

#[test]
fn a_full_context_is_handed_over_by_nobody_else() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Full));
    assert_eq!(story.next(), ["stage.happened"]);
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill"]);
    story.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
    assert_eq!(story.next(), ["session.ended"]);
    assert_eq!(story.next(), ["do r/a/1/handoff.1"]);
    story.came_to("a/1/handoff.1", EffectOutcome::Salvaged { carry: Text::new("h1") });
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
    assert_eq!(story.state("a").attempt(), 1);
}

#[test]
fn red_checks_go_back_to_the_agent_three_times() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    for claim in 0..4 {
        story.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Claiming));
        assert_eq!(story.next(), ["stage.happened"]);
        assert_eq!(story.next(), [format!("do r/a/1/claim.{claim}")]);
        story.came_to(&format!("a/1/claim.{claim}"), EffectOutcome::Red { report: Text::new("red") });
        if claim < 3 {
            let nudge = format!("a/1/nudge.1.{}", claim + 1);
            assert_eq!(story.next(), [format!("do r/{nudge}")]);
            story.came_to(&nudge, EffectOutcome::Done);
        }
    }
    assert_eq!(story.next(), ["stage.happened"]);
    assert!(matches!(story.state("a"), StageState::Review { question: ReviewQuestion::TooManyFixes, .. }));
    // The agent is ended, and a person is notified.
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill", "do r/a/1/notify.14"]);
}

#[test]
fn who_does_not_move_is_interrupted_first() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Wedged));
    assert_eq!(story.next(), ["do r/a/1/spawn.0/interrupt"]);
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill"]);
}

#[test]
fn a_daemon_that_comes_back_looks_before_it_acts() {
    let mut story = Story::new(one());
    story.next();
    let key = EffectKey(Text::new("r/a/1/worktree.0"));
    story.world.busy.clear();
    // No observation has been made yet.
    assert_eq!(story.next(), Vec::<String>::new());
    story.world.found.insert(key, crate::reconcile::recovery::EffectTrace::Worktree { base: commit("t") });
    assert_eq!(story.next(), ["effect.outcome"]);
    assert_eq!(story.next(), ["do r/a/1/brief.0"]);
}

#[test]
fn a_trunk_that_somebody_else_moved_is_put_back() {
    let mut story = Story::new(one());
    story.world.trunk = Some(commit("foreign"));
    assert_eq!(story.next()[0], "do r/-/0/restore.0");
    assert_eq!(story.run.queue().trunk(), &commit("t"));
}

#[test]
fn what_others_put_on_the_target_is_merged_like_everything() {
    let mut story = Story::new(one());
    story.world.target = Some(TargetBranch::Ahead(commit("f")));
    assert!(story.next().contains(&"target.foreign".to_owned()));
    assert!(story.next().contains(&"do r/-/0/queue.1.0".to_owned()));
    story.came_to("-/0/queue.1.0", EffectOutcome::Conflicted { paths: vec![Text::new("README")] });
    let held = TargetHeld::Conflicted { head: commit("f"), paths: vec![Text::new("README")] };
    assert_eq!(story.run.target().held.as_ref(), Some(&held));
    assert!(story.next().contains(&"do r/@test-1/1/worktree.0".to_owned()), "a session merges both");
    assert!(!story.next().iter().any(|told| told.starts_with("target") || told.contains("queue")));
    // Someone fixed it on the target.
    story.world.target = Some(TargetBranch::Ahead(commit("g")));
    assert!(story.next().contains(&"target.foreign".to_owned()));
    assert_eq!(story.run.target().held.as_ref(), None);
    story.next();
    story.came_to("-/0/queue.2.0", EffectOutcome::Made { commit: commit("m"), tree: commit("m") });
    story.next();
    story.came_to("-/0/queue.2.1", EffectOutcome::Done);
    story.next();
    story.came_to("-/0/queue.2.2", EffectOutcome::Done);
    let entry = story.run.entry(&StageId::new("@test-1")).unwrap();
    assert!(matches!(entry.state, StageState::Skipped { .. }), "{:?}", entry.state);
}

#[test]
fn a_worktree_that_somebody_deleted_is_made_again_once_its_agent_is_gone() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Working));
    story.world.lost.insert(StageId::new("a"));
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill"]);
    story.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
    assert!(story.next().contains(&"session.ended".to_owned()));
    assert!(story.next().contains(&"worktree.lost".to_owned()));
    story.world.lost.clear();
    let told: Vec<String> = (0..3).flat_map(|_| story.next()).collect();
    assert!(told.contains(&"do r/a/1/worktree.1".to_owned()), "{told:?}");
}

#[test]
fn a_target_that_was_rewritten_is_a_persons() {
    let mut story = Story::new(one());
    story.world.target = Some(TargetBranch::Rewritten(commit("other")));
    assert!(story.next().contains(&"target.held".to_owned()));
    assert!(!story.next().contains(&"target.held".to_owned()), "the record is written once");
    assert_eq!(story.run.target().held.as_ref(), Some(&TargetHeld::Rewritten { now: commit("other") }));
}

#[test]
fn a_plan_that_is_changed_lets_others_go() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "a", "y")]));
    story.tell("a", StageCommand::Skip { why: Text::new("w") });
    assert_eq!(story.next(), Vec::<String>::new());
    let RunRecord::Started { plan, digest, .. } =
        start(plan(&[("a", "", "x"), ("b", "", "y"), ("c", "", "z")]))
    else {
        panic!("it starts")
    };
    story.write(RunRecord::Amended { plan, digest, by: Text::new("p") });
    assert_eq!(story.next(), ["do r/b/1/worktree.0", "do r/c/1/worktree.0"]);
}

#[test]
fn records_are_lines_of_the_log() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", crash());
    story.next();
    story.next();
    for record in &story.records {
        let line = record.record(story.now).line();
        let read = sprag_base::record::Record::parse(&line).unwrap();
        assert_eq!(RunRecord::read(&read).as_ref(), Some(record));
    }
    let mut foreign = sprag_base::record::Record::new("plan.sung", story.now, serde_json::json!({"x": 1}));
    assert_eq!(RunRecord::read(&foreign), None);
    foreign.kind = "plan.started".to_owned();
    assert_eq!(RunRecord::read(&foreign), None);
}

#[test]
fn while_work_is_looked_at_somebody_else_has_the_place_and_what_is_red_is_next() {
    let mut plan = plan(&[("a", "", "x"), ("b", "", "y"), ("c", "", "z")]);
    plan["slots"] = serde_json::json!(1);
    let mut story = Story::new(plan);
    story.up_to_work("a");
    assert_eq!(story.next(), Vec::<String>::new(), "there is one slot");
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Well));
    assert_eq!(story.next(), ["session.ended"]);
    assert_eq!(story.next(), ["stage.happened"]);
    assert_eq!(story.next(), ["do r/a/1/claim.0", "do r/b/1/worktree.0"]);
    story.came_to("a/1/claim.0", EffectOutcome::Red { report: Text::new("one is red") });
    assert_eq!(story.next(), Vec::<String>::new(), "the stage waits for a slot");
    story.came_to(
        "b/1/worktree.0",
        EffectOutcome::Failed { failure: StageFailure::Auth, why: Text::new("no") },
    );
    let next = story.next();
    assert!(next.contains(&"do r/a/1/brief.1".to_owned()), "before `c`, which is new: {next:?}");
    assert!(!next.iter().any(|it| it.starts_with("do r/c/")), "{next:?}");
}
