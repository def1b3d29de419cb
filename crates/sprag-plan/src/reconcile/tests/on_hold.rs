//! Stages on hold: work that is under way continues, and nothing follows it.

use serde_json::json;

use super::commands::{agent, person};
use super::*;
use crate::run::command::CommandRefusal;
use crate::stage::ReviewQuestion;
use crate::stage::command::StageCommand;

fn answer(text: &str) -> StageCommand {
    StageCommand::Resume { answer: Some(Text::new(text)) }
}

#[test]
fn one_that_waits_is_held_once_it_could_start() {
    let mut story = Story::new(plan(&[("a", "", "x"), ("b", "a", "y")]));
    story.say(&person(), "b", StageCommand::Hold).unwrap();
    assert_eq!(
        story.say(&person(), "b", StageCommand::Hold),
        Err(CommandRefusal::State { state: "waiting" })
    );
    let RunRecord::Started { plan, digest, .. } = start(plan(&[("a", "", "x"), ("b", "", "y")])) else {
        panic!("it starts")
    };
    story.write(RunRecord::Amended { plan, digest, by: Text::new("p") });
    assert!(matches!(story.state("b"), StageState::Ready(_)) && story.is_held("b"), "{:?}", story.state("b"));
    assert_eq!(story.next(), ["do r/b/1/notify.1", "do r/a/1/worktree.0"]);
    story.say(&person(), "b", StageCommand::Release).unwrap();
    assert_eq!(story.next(), ["do r/b/1/worktree.0"]);
}

/// Makes a stage whose agent worked on during the hold and whose checks passed.
fn held_and_good(plan: Value) -> Story {
    let mut story = Story::new(plan);
    story.up_to_work("a");
    story.say(&person(), "a", StageCommand::Hold).unwrap();
    assert_eq!(story.next(), Vec::<String>::new(), "the agent continues");
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
    story.next();
    story.came_to("a/1/claim.0", EffectOutcome::Green { head: commit("h"), tree: commit("th") });
    assert!(
        matches!(story.state("a"), StageState::Review { question: ReviewQuestion::OnHold { .. }, .. }),
        "{:?}",
        story.state("a")
    );
    story
}

#[test]
fn one_at_work_ends_its_work_and_is_merged_once_it_is_let_go() {
    let mut story = held_and_good(one());
    assert!(!story.next().iter().any(|told| told.contains("queue")));
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert!(matches!(story.state("a"), StageState::Merging { verified, .. } if verified.head == commit("h")));
    assert!(story.next().contains(&"do r/a/1/queue.1.0".to_owned()));
}

#[test]
fn one_that_a_person_merges_waits_for_that_word_once_it_is_let_go() {
    let mut plan = one();
    plan["stages"][0]["merge"] = json!("person");
    let mut story = held_and_good(plan);
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert!(
        matches!(story.state("a"), StageState::Review { question: ReviewQuestion::Merge { .. }, .. }),
        "{:?}",
        story.state("a")
    );
    assert!(!story.next().iter().any(|told| told.contains("queue")), "no person has approved the merge");
    story.say(&person(), "a", StageCommand::Merge).unwrap();
    assert!(matches!(story.state("a"), StageState::Merging { verified, .. } if verified.head == commit("h")));
}

#[test]
fn nobody_follows_an_agent_that_was_held_and_is_gone() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.say(&person(), "a", StageCommand::Hold).unwrap();
    story.session("a/1/spawn.0", crash());
    assert_eq!(story.next(), ["session.ended"]);
    assert_eq!(story.next(), ["stage.happened"]);
    assert!(matches!(story.state("a"), StageState::Ready(ready) if ready.attempt.number == 2));
    assert!(story.is_held("a"));
    story.now = story.now.plus_seconds(300);
    assert_eq!(story.next(), ["do r/a/2/notify.3"]);
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert_eq!(story.next(), ["do r/a/2/brief.1"]);
}

#[test]
fn what_is_red_is_not_sent_to_a_new_agent_while_it_is_held() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Well));
    story.say(&person(), "a", StageCommand::Hold).unwrap();
    (0..3).for_each(|_| drop(story.next()));
    story.came_to("a/1/claim.0", EffectOutcome::Red { report: Text::new("red") });
    assert_eq!(story.next(), ["stage.happened"]);
    assert!(matches!(story.state("a"), StageState::Review { question: ReviewQuestion::OnHold { .. }, .. }));
    story.next();
    story.say(&person(), "a", StageCommand::Release).unwrap();
    assert_eq!(story.next(), ["do r/a/1/brief.1"], "after the release it is sent");
}

#[test]
fn whoever_said_that_it_cannot_go_on_is_answered_in_the_same_attempt() {
    let mut story = Story::new(one());
    story.up_to_work("a");
    story.say(&agent("a/1/spawn.0"), "a", StageCommand::Block { why: Text::new("no key") }).unwrap();
    assert_eq!(story.next(), ["do r/a/1/spawn.0/kill", "do r/a/1/notify.3"]);
    story.came_to("a/1/spawn.0/kill", EffectOutcome::Done);
    story.session("a/1/spawn.0", AgentSession::Over(SessionOutcome::Stopped));
    story.next();
    story.say(&person(), "a", answer("it is in the safe")).unwrap();
    assert_eq!(story.next(), ["do r/a/1/brief.1"]);
    let entry = story.run.entry(&StageId::new("a")).unwrap();
    let answer = &entry.answers.all[0];
    assert_eq!(answer.to.as_ref().map(Text::as_str), Some("no key"));
    assert_eq!(answer.text.as_str(), "it is in the safe");
}
