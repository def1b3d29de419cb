//! Commands that arrive while effects are under way. No agent survives the command that ends it, and no
//! effect counts in another state than the one that it was begun for.

use super::commands::person;
use super::*;
use crate::reconcile::recovery::EffectTrace;
use crate::stage::command::StageCommand;

impl Story {
    /// Runs the story up to the first start of an agent.
    fn up_to_start(&mut self) {
        self.next();
        self.came_to("a/1/worktree.0", EffectOutcome::Worktree { base: commit("t") });
        self.next();
        self.came_to("a/1/brief.0", EffectOutcome::Done);
        assert_eq!(self.next(), ["do r/a/1/spawn.0"]);
    }

    /// Lets the start succeed.
    fn started(&mut self) {
        self.session("a/1/spawn.0", AgentSession::Alive(AgentSign::Working));
        self.came_to("a/1/spawn.0", EffectOutcome::Spawned);
    }

    fn ended(&mut self) {
        assert_eq!(self.next(), ["do r/a/1/spawn.0/kill"]);
        self.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
        self.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
        assert_eq!(self.next(), ["session.ended"]);
    }
}

fn skip() -> StageCommand {
    StageCommand::Skip { why: Text::new("no need") }
}

#[test]
fn a_reset_waits_for_the_agent_that_is_being_started_and_ends_it() {
    let mut story = Story::new(one());
    story.up_to_start();
    story.say(&person(), "a", StageCommand::Reset).unwrap();
    assert_eq!(story.next(), Vec::<String>::new(), "it is not known whether the agent has started");
    story.started();
    assert!(matches!(story.state("a"), StageState::Ready(_)), "{:?}", story.state("a"));
    story.ended();
    assert_eq!(story.next(), ["do r/a/1/discard.1"]);
    story.came_to("a/1/discard.1", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/worktree.1"]);
}

#[test]
fn a_stage_that_is_skipped_or_held_while_its_agent_is_started_has_none() {
    for (said, then) in [(skip(), "do r/a/0/salvage.1"), (StageCommand::Hold, "do r/a/1/notify.2")] {
        let mut story = Story::new(one());
        story.up_to_start();
        story.say(&person(), "a", said.clone()).unwrap();
        story.next();
        story.started();
        if said == StageCommand::Hold {
            story.ended();
            assert_eq!(story.next(), Vec::<String>::new());
            story.say(&person(), "a", StageCommand::Release).unwrap();
            assert_eq!(story.next(), ["do r/a/1/brief.1"], "after the release a new brief is written");
        } else {
            story.ended();
            assert_eq!(story.next(), [then]);
        }
    }
}

#[test]
fn a_start_that_nobody_lived_to_make_is_not_made_for_a_stage_that_was_reset() {
    let mut story = Story::new(one());
    story.up_to_start();
    story.world.busy.clear();
    story.say(&person(), "a", StageCommand::Reset).unwrap();
    story.world.found.insert(EffectKey(Text::new("r/a/1/spawn.0")), EffectTrace::Nothing);
    assert_eq!(story.next(), ["effect.outcome"]);
    assert_eq!(story.next(), ["do r/a/1/discard.1"]);
    assert!(story.run.sessions().next().is_none());
}

#[test]
fn a_brief_of_an_earlier_state_is_written_again() {
    let mut story = Story::new(one());
    story.next();
    story.came_to("a/1/worktree.0", EffectOutcome::Worktree { base: commit("t") });
    assert_eq!(story.next(), ["do r/a/1/brief.0"]);
    story.say(&person(), "a", StageCommand::Hold).unwrap();
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert_eq!(story.next(), Vec::<String>::new());
    story.came_to("a/1/brief.0", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
}

#[test]
fn what_checks_said_of_work_that_is_gone_is_said_of_nothing_else() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Well));
    story.next();
    story.next();
    assert_eq!(story.next(), ["do r/a/1/claim.0"]);
    story.say(&person(), "a", StageCommand::Reset).unwrap();
    assert_eq!(story.next(), Vec::<String>::new(), "checks still run in the worktree that is to be removed");
    story.came_to("a/1/claim.0", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    assert!(matches!(story.state("a"), StageState::Ready(_)));
    assert_eq!(story.next(), ["do r/a/1/discard.1"]);
}

#[test]
fn a_setup_that_fails_in_a_worktree_that_is_to_go_blocks_nobody() {
    let mut plan = one();
    plan["stages"][0]["setup"] = serde_json::json!(["make"]);
    let mut story = Story::new(plan);
    story.next();
    story.came_to("a/1/worktree.0", EffectOutcome::Worktree { base: commit("t") });
    assert_eq!(story.next(), ["do r/a/1/setup.1"]);
    story.say(&person(), "a", StageCommand::Reset).unwrap();
    let why = Text::new("no");
    story.came_to("a/1/setup.1", EffectOutcome::Failed { failure: StageFailure::Setup, why });
    assert_eq!(story.next(), ["do r/a/1/discard.1"]);
}
