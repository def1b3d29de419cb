//! Commands of people and agents, and their effects.

use serde_json::json;

use super::*;
use crate::reconcile::observed::{LoopMode, StopMode};
use crate::run::command::{CommandRefusal, CommandSender, authorize};
use crate::spec::client::ClientName;
use crate::spec::values::{Readable as _, Slug};
use crate::stage::command::{CommandRole, StageCommand, StageCommandKind};
use crate::stage::{ReviewDemand, ReviewQuestion};
use crate::view::review_request::asked;

pub(super) fn person() -> CommandSender {
    CommandSender::Person { name: Text::new("ada"), role: CommandRole::User }
}

fn admin() -> CommandSender {
    CommandSender::Person { name: Text::new("ada"), role: CommandRole::Admin }
}

pub(super) fn agent(session: &str) -> CommandSender {
    CommandSender::Agent { session: EffectKey(Text::new(format!("r/{session}"))) }
}

impl Story {
    pub(super) fn say(
        &mut self,
        who: &CommandSender,
        stage: &str,
        said: StageCommand,
    ) -> Result<(), CommandRefusal> {
        let record = authorize(&self.run, who, &StageId::new(stage), &said)?;
        self.write(record);
        Ok(())
    }

    /// Lets checks fail after claims of the agent until a person is asked.
    fn up_to_review(&mut self) {
        self.up_to_work("a");
        for claim in 0..4 {
            self.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
            self.next();
            self.came_to(&format!("a/1/claim.{claim}"), EffectOutcome::Red { report: Text::new("red") });
            self.next();
            if claim < 3 {
                self.came_to(&format!("a/1/nudge.1.{}", claim + 1), EffectOutcome::Done);
            }
        }
        assert!(matches!(self.state("a"), StageState::Review { question: ReviewQuestion::TooManyFixes, .. }));
    }

    fn end(&mut self, session: &str, ended: SessionOutcome) {
        self.world.busy.retain(|key| !key.0.as_str().ends_with("/kill"));
        self.session(session, AgentSession::Over(ended));
        self.next();
    }
}

fn slug(text: &str) -> Slug {
    Slug::read(text).unwrap()
}

fn checked() -> Value {
    let mut plan = one();
    let check = |command: &str| json!({"command": command, "exit_code": 0, "stderr": "any", "timeout": "300s", "cache": "by_tree"});
    plan["stages"][0]["acceptance"] = json!(["one", "two", "three", "four", "five"].map(check));
    plan
}

#[test]
fn a_claim_of_a_living_agent_is_looked_at_while_it_waits() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    assert_eq!(story.next(), ["do r/a/1/claim.0"]);
    story.came_to("a/1/claim.0", EffectOutcome::Red { report: Text::new("red") });
    assert_eq!(story.next(), ["do r/a/1/nudge.1.1"]);
    story.came_to("a/1/nudge.1.1", EffectOutcome::Done);
    assert_eq!(story.next(), Vec::<String>::new(), "the agent continues, and no other was started");
    assert!(matches!(story.state("a"), StageState::Running(work) if work.fixes == 1));
    // The agent gets the result at once, and may claim again before the report is recorded as delivered.
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    story.next();
    story.came_to("a/1/claim.1", EffectOutcome::Red { report: Text::new("red") });
    story.next();
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    story.came_to("a/1/nudge.1.2", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/claim.2"]);
    assert!(matches!(story.state("a"), StageState::Running(work) if work.fixes == 2));
}

#[test]
fn an_agent_speaks_of_its_own_stage_alone_and_only_while_it_is_at_it() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "", "y")]));
    story.up_to_work("a");
    let mine = agent("a/1/spawn.0");
    assert_eq!(story.say(&mine, "b", StageCommand::Complete), Err(CommandRefusal::OtherSession));
    assert_eq!(
        story.say(&agent("a/1/spawn.9"), "a", StageCommand::Complete),
        Err(CommandRefusal::OtherSession)
    );
    assert_eq!(
        story.say(&mine, "a", StageCommand::Reset),
        Err(CommandRefusal::NotYours { least: CommandRole::User })
    );
    let bypass = StageCommand::Bypass { why: Text::new("w") };
    assert_eq!(
        story.say(&person(), "a", bypass.clone()),
        Err(CommandRefusal::NotYours { least: CommandRole::Admin })
    );
    assert_eq!(story.say(&admin(), "a", bypass), Err(CommandRefusal::State { state: "running" }));
    assert_eq!(story.say(&person(), "no", StageCommand::Hold), Err(CommandRefusal::NoStage));
    assert_eq!(
        story.say(&person(), "a", StageCommand::Retry),
        Err(CommandRefusal::State { state: "running" })
    );
}

#[test]
fn open_tasks_hold_the_end() {
    let mut plan = one();
    plan["stages"][0]["tasks"] = json!([{"id": "t1", "text": "x"}, {"id": "t2", "text": "y"}]);
    let mut story = Story::new(plan);
    story.up_to_work("a");
    let mine = agent("a/1/spawn.0");
    story.say(&mine, "a", StageCommand::Task { id: slug("t1") }).unwrap();
    assert_eq!(story.say(&mine, "a", StageCommand::Task { id: slug("t3") }), Err(CommandRefusal::NoTask));
    story.say(&mine, "a", StageCommand::Complete).unwrap();
    assert_eq!(story.next(), ["stage.happened"]);
    assert!(
        matches!(story.state("a"), StageState::Failing { report, .. } if report.as_str().starts_with("tasks are open: `t2`;"))
    );
    story.next();
    story.came_to("a/1/nudge.1.0", EffectOutcome::Done);
    story.say(&mine, "a", StageCommand::Task { id: slug("t2") }).unwrap();
    story.say(&mine, "a", StageCommand::Complete).unwrap();
    assert_eq!(story.next(), ["do r/a/1/claim.0"]);
}

#[test]
fn a_question_waits_and_its_answer_is_told_to_whoever_is_there() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    let ask = StageCommand::Ask { question: Text::new("which?") };
    story.say(&agent("a/1/spawn.0"), "a", ask.clone()).unwrap();
    assert_eq!(story.next(), ["do r/a/1/notify.3"], "a live agent does not count as an answer");
    assert_eq!(
        story.say(&person(), "a", StageCommand::Resume { answer: None }),
        Err(CommandRefusal::NoAnswer)
    );
    story.say(&person(), "a", StageCommand::Resume { answer: Some(Text::new("this")) }).unwrap();
    assert!(matches!(story.state("a"), StageState::Running(_)));
    assert_eq!(story.next(), ["do r/a/1/spawn.0/answer.0"]);
    story.came_to("a/1/spawn.0/answer.0", EffectOutcome::Done);
    assert_eq!(story.next(), Vec::<String>::new());
    // If the agent ends with its question, the next agent gets the answer.
    story.say(&agent("a/1/spawn.0"), "a", ask).unwrap();
    story.end("a/1/spawn.0", SessionOutcome::Well);
    assert_eq!(story.next(), Vec::<String>::new());
    story.say(&person(), "a", StageCommand::Resume { answer: Some(Text::new("that")) }).unwrap();
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
    let entry = story.run.entry(&StageId::new("a")).unwrap();
    assert_eq!((entry.state.attempt(), entry.answers.all.len()), (1, 2));
}

#[test]
fn a_dispute_is_a_persons_and_gives_up_one_check_of_one_stage() {
    let mut story = Story::new(checked());
    story.up_to_work("a");
    let mine = agent("a/1/spawn.0");
    let dispute =
        |check: &str| StageCommand::Dispute { check: Text::new(check), why: Text::new("it tests the clock") };
    assert_eq!(story.say(&mine, "a", dispute("zero")), Err(CommandRefusal::NoCheck));
    for (round, check) in ["one", "two", "three", "four"].into_iter().enumerate() {
        story.say(&mine, "a", dispute(check)).unwrap();
        assert!(matches!(story.state("a"), StageState::Review { question: ReviewQuestion::Disputed(_), .. }));
        if round == 3 {
            assert_eq!(story.say(&person(), "a", StageCommand::Accept), Err(CommandRefusal::TooMany));
            break;
        }
        story.say(&person(), "a", StageCommand::Accept).unwrap();
        assert_eq!(story.run.plan().find("a").unwrap().checks.acceptance.len(), 4 - round);
        story.next();
        story.came_to(&format!("a/1/claim.{round}"), EffectOutcome::Red { report: Text::new("red") });
    }
    story.say(&person(), "a", StageCommand::Reject).unwrap();
    assert_eq!(story.run.plan().find("a").unwrap().checks.acceptance.len(), 2);
    assert!(
        story.run.entry(&StageId::new("a")).unwrap().answers.undelivered().unwrap().contains("`four` stays")
    );
}

#[test]
fn a_bypass_takes_the_checks_of_the_stage_away_and_it_still_goes_through_the_queue() {
    let mut story = Story::new(checked());
    story.up_to_review();
    assert_eq!(story.say(&person(), "a", StageCommand::Merge), Err(CommandRefusal::NotGreen));
    story.say(&admin(), "a", StageCommand::Bypass { why: Text::new("known") }).unwrap();
    assert!(story.run.plan().find("a").unwrap().checks.is_empty());
    story.next();
    story.came_to("a/1/claim.4", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    assert!(matches!(story.state("a"), StageState::Merging { .. }));
    assert!(story.next().contains(&"do r/a/1/queue.1.0".to_owned()));
    let RunRecord::Started { plan, digest, .. } = start(checked()) else { panic!("it starts") };
    story.write(RunRecord::Amended { plan, digest, by: Text::new("p") });
    assert!(
        story.run.plan().find("a").unwrap().checks.is_empty(),
        "a changed plan does not restore the checks"
    );
}

#[test]
fn a_person_merges_what_was_found_good_and_nothing_else() {
    let mut plan = one();
    plan["stages"][0]["merge"] = json!("person");
    let mut story = Story::new(plan);
    story.up_to_work("a");
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    assert_eq!(
        story.say(&person(), "a", StageCommand::Merge),
        Err(CommandRefusal::State { state: "running" })
    );
    story.next();
    story.came_to("a/1/claim.0", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    assert!(matches!(story.state("a"), StageState::Review { question: ReviewQuestion::Merge { .. }, .. }));
    story.say(&person(), "a", StageCommand::Merge).unwrap();
    assert!(matches!(story.state("a"), StageState::Merging { verified, .. } if verified.head == commit("h")));
}

#[test]
fn a_reset_keeps_what_is_there_and_begins_anew() {
    let mut story = Story::new(one());
    story.up_to_review();
    story.say(&person(), "a", StageCommand::Reset).unwrap();
    story.end("a/1/spawn.0", SessionOutcome::Stopped);
    assert_eq!(story.next(), ["do r/a/1/discard.1"]);
    assert_eq!(story.next(), Vec::<String>::new(), "no agent works in a worktree that is removed");
    story.came_to("a/1/discard.1", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/worktree.1"]);
    assert_eq!(story.state("a").attempt(), 1);
}

#[test]
fn held_blocked_skipped_and_let_go() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "a", "y")]));
    story.say(&person(), "a", StageCommand::Hold).unwrap();
    assert_eq!(story.next(), ["do r/a/1/notify.2"]);
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert_eq!(story.next(), ["do r/a/1/worktree.0"]);
    story.say(&person(), "a", StageCommand::Block { why: Text::new("no key") }).unwrap();
    assert!(matches!(story.state("a"), StageState::Blocked { failure: StageFailure::Told, .. }));
    story.say(&person(), "a", StageCommand::Skip { why: Text::new("later") }).unwrap();
    assert!(matches!(story.state("a"), StageState::Skipped { by, .. } if by.as_str() == "ada"));
    assert_eq!(
        story.say(&person(), "a", StageCommand::Reset),
        Err(CommandRefusal::State { state: "skipped" })
    );
}

#[test]
fn who_stops_sends_everybody_home_and_begins_nothing() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "", "y")]));
    story.world.room = 1;
    story.up_to_work("a");
    story.world.mode = LoopMode::Stopping { how: StopMode::Home, signal: None };
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill"]);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
    assert_eq!(story.next(), ["session.ended"]);
    assert_eq!(story.next(), ["stage.happened"]);
    assert_eq!(story.next(), Vec::<String>::new());
    assert!(matches!(story.state("a"), StageState::Ready(_)), "the records do not show it at work");
    // The next daemon continues the same attempt.
    story.world.mode = LoopMode::Running;
    story.world.busy.clear();
    assert!(story.next().contains(&"do r/a/1/brief.1".to_owned()));
    assert_eq!(story.state("a").attempt(), 1);
}

#[test]
fn a_changed_plan_drops_stages_that_nobody_has_begun() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "a", "y"), ("c", "a", "z")]));
    story.up_to_work("a");
    let RunRecord::Started { plan, digest, .. } = start(plan(&[("b", "", "y")])) else { panic!("it starts") };
    story.write(RunRecord::Amended { plan, digest, by: Text::new("p") });
    let left: Vec<&str> = story.run.entries().map(|(id, _)| id.as_str()).collect();
    assert_eq!(left, ["a", "b"], "a begun stage is kept");
}

#[test]
fn a_person_who_asks_for_it_has_it_reviewed_again() {
    let reviewable =
        || EffectOutcome::Reviewable { head: commit("h"), tree: commit("th"), by: ClientName::Claude };
    let mut story = Story::new(one());
    story.up_to_work("a");
    let mut sought = Vec::new();
    for (claim, who, word) in
        [(0, agent("a/1/spawn.0"), StageCommand::Complete), (1, person(), StageCommand::Verify)]
    {
        story.say(&who, "a", word).unwrap();
        story.next();
        story.came_to(&format!("a/1/claim.{claim}"), reviewable());
        story.next();
        sought.extend(story.run.open().filter_map(|effect| match effect {
            Effect::Stage { step: StageStep::Review(job), .. } => Some(job.demand),
            _ => None,
        }));
        story.came_to(&format!("a/1/review.{}", claim + 1), EffectOutcome::Red { report: Text::new("no") });
        assert!(matches!(story.state("a"), StageState::Failing { .. }), "{:?}", story.state("a"));
    }
    assert_eq!(sought, [ReviewDemand::Any, ReviewDemand::Another]);
}

#[test]
fn what_was_resolved_and_nobody_has_reviewed_may_be_verified_again() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    story.next();
    story.came_to("a/1/claim.0", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    story.next();
    story.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
    story.end("a/1/spawn.0", SessionOutcome::Stopped);
    story.came_to("a/1/queue.1.0", EffectOutcome::Conflicted { paths: vec![Text::new("x")] });
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
    story.came_to("a/1/brief.1", EffectOutcome::Done);
    story.next();
    story.came_to("a/1/spawn.1", EffectOutcome::Spawned);
    story.session("a/1/spawn.1", AgentSession::Alive(AgentSign::Claiming));
    assert_eq!(story.next(), ["do r/a/1/claim.1"]);
    let unreviewed = || EffectOutcome::Unreviewed {
        head: commit("r"),
        tree: commit("tr"),
        why: Text::new("nobody was there"),
    };
    story.came_to("a/1/claim.1", unreviewed());
    assert!(matches!(
        story.state("a"),
        StageState::Review { question: ReviewQuestion::Unreviewed { .. }, .. }
    ));
    story.next();
    story.came_to("a/1/spawn.1/kill", EffectOutcome::Done);
    story.end("a/1/spawn.1", SessionOutcome::Stopped);
    let offered = asked(&story.run, &StageId::new("a")).unwrap().words;
    assert!(offered.contains(&StageCommandKind::Verify), "{offered:?}");
    story.say(&person(), "a", StageCommand::Verify).unwrap();
    assert_eq!(story.next(), ["do r/a/1/claim.2"], "no other agent resolves it");
    story.came_to("a/1/claim.2", EffectOutcome::Green { head: commit("r"), tree: commit("tr") });
    assert!(matches!(story.state("a"), StageState::Merging { verified, .. } if verified.head == commit("r")));
}
