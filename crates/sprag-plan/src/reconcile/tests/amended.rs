//! The plan changes while work is checked: results count only if the new plan asks for the same.

use serde_json::json;

use super::commands::{agent, person};
use super::*;
use crate::spec::client::ClientName;
use crate::stage::ReviewQuestion;
use crate::stage::command::StageCommand;

/// A stage that is merged after a review.
fn one() -> Value {
    let mut plan = super::one();
    plan["stages"][0]["verify"] = json!("deep");
    plan
}

/// The same stage with one more check.
fn stricter() -> Value {
    let mut plan = one();
    plan["stages"][0]["truths"] = json!([check("true")]);
    plan
}

fn check(command: &str) -> Value {
    json!({"command": command, "exit_code": 0, "stderr": "any", "timeout": "300s", "cache": "by_tree"})
}

fn green() -> EffectOutcome {
    EffectOutcome::Green { head: commit("h"), tree: commit("th") }
}

fn reviewable() -> EffectOutcome {
    EffectOutcome::Reviewable { head: commit("h"), tree: commit("th"), by: ClientName::Claude }
}

impl Story {
    fn amend(&mut self, plan: Value) {
        let RunRecord::Started { plan, digest, .. } = start(plan) else { panic!("it starts") };
        self.write(RunRecord::Amended { plan, digest, by: Text::new("p") });
    }

    fn up_to_claim(plan: Value) -> Story {
        let mut story = Story::new(plan);
        story.up_to_work("a");
        story.say(&agent("a/1/spawn.0"), "a", StageCommand::Complete).unwrap();
        assert_eq!(story.next(), ["do r/a/1/claim.0"]);
        story
    }

    fn up_to_queue(plan: Value) -> Story {
        let mut story = Story::up_to_claim(plan);
        story.came_to("a/1/claim.0", green());
        story.next();
        story.came_to("a/1/queue.1.0", EffectOutcome::Made { commit: commit("m"), tree: commit("tm") });
        assert_eq!(story.next(), ["do r/a/1/queue.1.1"]);
        story
    }

    fn is_at(&self, at: fn(&StageState) -> bool) {
        assert!(at(self.state("a")), "{:?}", self.state("a"));
        assert_eq!(Run::fold(&self.records).unwrap(), self.run, "a new fold gives the same run");
    }
}

fn is_verifying(stage: &StageState) -> bool {
    matches!(stage, StageState::Running(work) if work.phase.is_verifying())
}

#[test]
fn checks_that_the_plan_does_not_ask_for_any_more_say_nothing() {
    for outcome in
        [green(), EffectOutcome::Red { report: Text::new("red") }, EffectOutcome::Unchanged, reviewable()]
    {
        let mut story = Story::up_to_claim(one());
        story.amend(stricter());
        assert_eq!(story.next(), Vec::<String>::new(), "checks do not run at the same time");
        story.came_to("a/1/claim.0", outcome);
        story.is_at(is_verifying);
        assert_eq!(story.next(), ["do r/a/1/claim.1"]);
        story.came_to("a/1/claim.1", green());
        story.is_at(|stage| matches!(stage, StageState::Merging { .. }));
    }
}

#[test]
fn what_has_nothing_to_do_with_them_leaves_them_alone() {
    let mut story = Story::up_to_claim(one());
    let mut plan = plan(&[("a", "", "x"), ("b", "a", "y")]);
    plan["stages"][0]["verify"] = json!("deep");
    plan["stages"][0]["retries"] = json!(1);
    plan["stages"][0]["budget"] = json!({"tokens": 5, "on_exceed": "stop"});
    plan["slots"] = json!(1);
    story.amend(plan);
    story.came_to("a/1/claim.0", green());
    story.is_at(|stage| matches!(stage, StageState::Merging { .. }));
}

#[test]
fn a_review_of_what_was_asked_before_is_none_of_what_is_asked_now() {
    let mut story = Story::up_to_claim(one());
    story.came_to("a/1/claim.0", reviewable());
    assert_eq!(story.next(), ["do r/a/1/review.1"]);
    let mut plan = one();
    plan["stages"][0]["description"] = json!("something else");
    story.amend(plan);
    story.came_to("a/1/review.1", green());
    story.is_at(is_verifying);
    assert_eq!(story.next(), ["do r/a/1/claim.1"]);
    story.came_to("a/1/claim.1", reviewable());
    assert_eq!(story.next(), ["do r/a/1/review.2"]);
    // Work that waits for a review passed the checks of the earlier plan.
    let mut story = Story::up_to_claim(one());
    story.came_to("a/1/claim.0", reviewable());
    story.amend(stricter());
    assert_eq!(story.next(), ["do r/a/1/claim.1"]);
}

#[test]
fn what_waits_for_a_person_is_looked_at_again() {
    let mut by_person = one();
    by_person["stages"][0]["merge"] = json!("person");
    let mut story = Story::up_to_claim(by_person.clone());
    story.came_to("a/1/claim.0", green());
    story.is_at(|stage| matches!(stage, StageState::Review { question: ReviewQuestion::Merge { .. }, .. }));
    by_person["stages"][0]["truths"] = json!([check("true")]);
    story.amend(by_person);
    story.is_at(is_verifying);
    assert!(story.next().contains(&"do r/a/1/claim.1".to_owned()));
    story.came_to("a/1/claim.1", green());
    story.is_at(|stage| matches!(stage, StageState::Review { question: ReviewQuestion::Merge { .. }, .. }));
    story.say(&person(), "a", StageCommand::Merge).unwrap();
}

#[test]
fn a_candidate_lands_by_the_gates_that_the_plan_has_now() {
    let mut gated = one();
    gated["gates"] = json!([check("make test")]);
    for plan in [stricter(), gated] {
        let mut story = Story::up_to_queue(one());
        story.amend(plan.clone());
        story.came_to("a/1/queue.1.1", EffectOutcome::Done);
        assert_eq!(story.next(), ["do r/a/1/queue.1.2"], "the candidate is tested again");
        story.came_to("a/1/queue.1.2", EffectOutcome::Done);
        assert_eq!(story.next(), ["do r/a/1/queue.1.3"]);
        // The same holds for a candidate that passed and has not begun to land.
        let mut story = Story::up_to_queue(one());
        story.came_to("a/1/queue.1.1", EffectOutcome::Done);
        story.amend(plan);
        assert_eq!(story.next(), ["do r/a/1/queue.1.2"]);
        let gate = |effect: &Effect| matches!(effect, Effect::Queue { step: QueueStep::Test { .. }, .. });
        assert!(story.run.open().any(gate));
    }
}

#[test]
fn what_is_about_to_land_lands() {
    let mut story = Story::up_to_queue(one());
    story.came_to("a/1/queue.1.1", EffectOutcome::Done);
    assert_eq!(story.next(), ["do r/a/1/queue.1.2"]);
    story.amend(stricter());
    story.came_to("a/1/queue.1.2", EffectOutcome::Done);
    story.is_at(|stage| matches!(stage, StageState::Done { .. }));
}

#[test]
fn nobody_does_again_what_was_begun_by_the_plan_before() {
    let mut story = Story::up_to_claim(one());
    story.amend(stricter());
    let key = EffectKey(Text::new("r/a/1/claim.0"));
    story.world.busy.clear();
    story.world.found.insert(key.clone(), crate::reconcile::recovery::EffectTrace::Nothing);
    assert_eq!(story.next(), ["effect.outcome"], "the effect is given up");
    assert_eq!(story.next(), ["do r/a/1/claim.1"]);
}
