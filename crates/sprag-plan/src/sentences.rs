//! A run in sentences: why a stage is not further, and what a record says, for people who read along.

use serde::{Deserialize, Serialize};

use sprag_base::text::{Text, quoted};
use sprag_base::time::Timestamp;

use super::accept::candidate::CandidateRefusal;
use super::accept::work::{RequiredCommit, WorkRefusal};
use super::ids::StageId;
use super::run::Run;
use super::run::amend::NotAmended;
use super::run::command::CommandRefusal;
use super::run::effect::{
    CheckPhase, Effect, EffectOutcome, NudgeTopic, QueueStep, RefStep, ReviewJob, SessionSignal, StageStep,
};
use super::run::record::{BudgetOwner, RunRecord, SessionOutcome, TargetHeld};
use super::run::waiting::{StartBlocker, WaitingReason};
use super::spec::values::Slug;
use super::stage::command::{CommandRole, StageCommand};
use super::stage::state::StageState;
use super::stage::{ReviewQuestion, ReviewReason, StageEvent, StageFailure};

/// Why something is as it is, and until when at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub text: Text<300>,
    #[serde(with = "super::view::perhaps_millis")]
    pub until: Option<Timestamp>,
}

impl Explanation {
    /// As it is to be told now: what has passed by holds nobody any more.
    pub fn message(&self, now: Timestamp) -> String {
        match self.until {
            None => self.text.to_string(),
            Some(until) if until <= now => NEXT.to_owned(),
            Some(until) => {
                format!("{}, for {} s", self.text, until.seconds_since(now).saturating_add(1))
            }
        }
    }
}

const NEXT: &str = "it is about to go on";
/// Names of others that one sentence has.
const NAMED: usize = 3;

pub fn why(run: &Run, stage: &StageId, why: &WaitingReason) -> Explanation {
    let (text, until) = match why {
        WaitingReason::Waits { on } => (format!("waits for {}", ids(on)), None),
        WaitingReason::Held(StartBlocker::Told) => ("a person holds it".to_owned(), None),
        WaitingReason::Held(StartBlocker::Until(at)) => ("it is tried again later".to_owned(), Some(*at)),
        WaitingReason::Held(StartBlocker::Account(at)) => {
            ("the account of its client has reached a limit".to_owned(), Some(*at))
        }
        WaitingReason::Held(StartBlocker::Breaker(at)) => {
            ("too much has crashed lately".to_owned(), Some(*at))
        }
        WaitingReason::Held(StartBlocker::Slots) => ("all slots are taken".to_owned(), None),
        WaitingReason::Held(StartBlocker::Group) => ("its group has no room".to_owned(), None),
        WaitingReason::Held(StartBlocker::Exclusive) => {
            ("it wants to be alone, or another one does".to_owned(), None)
        }
        WaitingReason::Doing { key } => {
            let doing = run.effect(key).map(|effect| describe_effect(effect).0);
            (doing.unwrap_or_else(|| "something is done for it".to_owned()), None)
        }
        WaitingReason::Agent { .. } => ("its agent is at work".to_owned(), None),
        WaitingReason::Queued { entry } => {
            let before = run.queue().entries().iter().take_while(|known| known.number != *entry).count();
            (format!("number {} in the merge queue", before + 1), None)
        }
        WaitingReason::Asked => match run.entry(stage).map(|entry| &entry.state) {
            Some(StageState::Asking { question, .. }) => {
                (format!("its agent asks: {}", quoted(question.as_str())), None)
            }
            _ => ("its agent asks something".to_owned(), None),
        },
        WaitingReason::Reviewed { case } => {
            let why = match run.entry(stage).map(|entry| &entry.state) {
                Some(StageState::Review { question: ReviewQuestion::Unreviewed { why, .. }, .. }) => {
                    format!(": {why}")
                }
                _ => String::new(),
            };
            (format!("{}{why}", case_of(*case)), None)
        }
        WaitingReason::Blocked { failure } => (failed(*failure).to_owned(), None),
        WaitingReason::Next => (NEXT.to_owned(), None),
    };
    let text = match run.entry(stage) {
        Some(entry) if entry.is_held() && !entry.needs_person() => {
            format!("{text}; a person holds what comes next")
        }
        _ => text,
    };
    Explanation { text: Text::new(text), until }
}

fn ids(stages: &[StageId]) -> String {
    let mut named: Vec<String> = stages.iter().take(NAMED).map(|id| format!("`{}`", id.as_str())).collect();
    if stages.len() > NAMED {
        named.push(format!("{} more", stages.len() - NAMED));
    }
    named.join(", ")
}

/// Returns what is being done in an effect, and the name of that in a line about its outcome.
fn describe_effect(effect: &Effect) -> (String, &'static str) {
    let (doing, name) = match effect {
        Effect::Stage { step, .. } => match step {
            StageStep::AddWorktree { .. } => ("its worktree is being made", "worktree"),
            StageStep::Setup => ("its worktree is being set up", "setup"),
            StageStep::Check { phase: CheckPhase::Before } => {
                ("what has to hold before it is being checked", "checks")
            }
            StageStep::Check { phase: CheckPhase::Claim } => {
                ("what its agent says is being checked", "checks")
            }
            StageStep::Review(ReviewJob { by, since, .. }) => {
                let by = by.name();
                return (format!("what its agent did is being reviewed by `{by}` since {since}"), "review");
            }
            StageStep::WriteBrief { .. } => ("its brief is being written", "brief"),
            StageStep::Spawn => ("its agent is being started", "start of its agent"),
            StageStep::Nudge { .. } => ("its agent is being told something", "telling"),
            StageStep::Salvage => ("what it left is being kept", "keeping what it left"),
            StageStep::RemoveWorktree => ("its worktree is being taken away", "taking the worktree away"),
            StageStep::Discard { .. } => ("what it has is being kept, and it begins anew", "beginning anew"),
        },
        Effect::Session { step: SessionSignal::Interrupt, .. } => {
            ("its agent is being interrupted", "interrupt")
        }
        Effect::Session { step: SessionSignal::Kill { .. }, .. } => {
            ("its agent is being ended", "ending its agent")
        }
        Effect::Queue { step: QueueStep::Make { .. }, .. } => ("it is being merged", "merge"),
        Effect::Queue { step: QueueStep::Test { .. }, .. } => {
            ("it is being tested as it would land", "test of the merge")
        }
        Effect::Queue { step: QueueStep::Land { .. }, .. } => ("it is landing", "landing"),
        Effect::Refs(RefStep::Promote { .. }) => ("the target is being moved", "target"),
        Effect::Refs(RefStep::RestoreTrunk { .. }) => {
            ("the trunk is being put back", "putting the trunk back")
        }
        Effect::Notify { .. } => ("somebody is being told", "telling"),
    };
    (doing.to_owned(), name)
}

pub(crate) fn case_of(case: ReviewReason) -> &'static str {
    match case {
        ReviewReason::Merge => "a person has to say that it is merged",
        ReviewReason::TooManyFixes => "its checks have failed too often",
        ReviewReason::Disputed => "its agent says that a check is wrong",
        ReviewReason::NoChange => "it has changed nothing, or left something over",
        ReviewReason::ProtectedFiles => "files nobody may touch were touched",
        ReviewReason::ConflictUnresolved => "its conflict could not be resolved",
        ReviewReason::MergeFailed => "merged with what is there it is red",
        ReviewReason::OnHold => "a person holds it",
        ReviewReason::Unreviewed => "nobody but its author has looked at it",
    }
}

pub(crate) fn failed(failure: StageFailure) -> &'static str {
    match failure {
        StageFailure::Crash => "its agent has crashed",
        StageFailure::Timeout => "its agent had no time left",
        StageFailure::Overload => "the model was overloaded",
        StageFailure::Wedged => "its agent gave no sign of life",
        StageFailure::Auth => "its client is not logged in",
        StageFailure::Sandbox => "its agent could not be confined",
        StageFailure::Setup => "it could not be set up",
        StageFailure::Budget => "its budget is used up",
        StageFailure::Conflict => "its conflict could not be resolved",
        StageFailure::Context => "its agents fill one context after the other",
        StageFailure::Told => "its agent or a person has stopped it",
        StageFailure::Unknown => "nobody knows what went wrong",
    }
}

/// What a record says, and of which stage; `run` is as it was before.
pub fn record(run: &Run, record: &RunRecord) -> (Option<StageId>, String) {
    match record {
        RunRecord::Started { plan, .. } => {
            (None, format!("the run of `{}` began with {} stages", plan.head.name, plan.stages().len()))
        }
        RunRecord::Amended { by, .. } => (None, format!("`{}` has changed the plan", quoted(by.as_str()))),
        RunRecord::Happened { stage, what } => (Some(stage.clone()), happened(what)),
        RunRecord::StageCommand { stage, by, command } => {
            (Some(stage.clone()), format!("`{}` {}", quoted(by.as_str()), describe_command(command)))
        }
        RunRecord::Ended { stage, session, ended, .. } => {
            (Some(stage.clone()), format!("session `{}` {}", session.0, ending(ended)))
        }
        RunRecord::EffectBegun { effect, .. } => (effect.stage(run).cloned(), describe_effect(effect).0),
        RunRecord::Outcome { key, outcome } => {
            let effect = run.effect(key);
            let stage = effect.and_then(|effect| effect.stage(run)).cloned();
            let what = effect.map_or("something", |effect| describe_effect(effect).1);
            (stage, format!("{what}: {}", came_to(outcome)))
        }
        RunRecord::WorktreeLost { stage } => {
            (Some(stage.clone()), "somebody else has deleted its worktree".to_owned())
        }
        RunRecord::Foreign { head } => (None, format!("somebody else has put `{}` on the target", head.0)),
        RunRecord::TargetHeld { why } => (None, target_held(why)),
        RunRecord::Nearly { of: BudgetOwner::Run } => (None, nearly(&BudgetOwner::Run).to_owned()),
        RunRecord::Nearly { of: of @ BudgetOwner::Stage(stage) } => {
            (Some(stage.clone()), nearly(of).to_owned())
        }
    }
}

/// That most of a budget is used.
pub fn nearly(of: &BudgetOwner) -> &'static str {
    match of {
        BudgetOwner::Run => "80 % of the budget of the plan are used",
        BudgetOwner::Stage(_) => "80 % of its budget are used",
    }
}

/// Why the target is left alone.
pub fn target_held(why: &TargetHeld) -> String {
    let what = match why {
        TargetHeld::Rewritten { now } => format!("what it had is gone since it was moved to `{}`", now.0),
        TargetHeld::Gone => "it is not there any more".to_owned(),
        TargetHeld::Conflicted { head, paths } => {
            format!("`{}` of others conflicts with the trunk in {} files", head.0, paths.len())
        }
        TargetHeld::Red { head, report } => {
            format!("`{}` of others is red: {}", head.0, first_line(report.as_str()))
        }
    };
    format!("the target is left alone: {what}")
}

/// The answer to an agent whose dispute was rejected.
pub(crate) fn check_stays(check: &str) -> String {
    format!("the check `{check}` stays as it is: what was said against it was rejected")
}

/// Why a command counts for nothing: a code for programs, and a sentence.
pub fn command_refused(why: &CommandRefusal, stage: &str) -> (&'static str, String) {
    match why {
        CommandRefusal::NoStage => ("no_stage", format!("the run has no stage `{stage}`")),
        CommandRefusal::NotYours { least } => {
            let who = match least {
                CommandRole::Agent => "anybody",
                CommandRole::User => "a person",
                CommandRole::Admin => "an admin",
            };
            ("not_yours", format!("this is for {who} to say"))
        }
        CommandRefusal::OtherSession => ("not_your_stage", format!("stage `{stage}` is not this agent's")),
        CommandRefusal::State { state } => {
            ("state", format!("stage `{stage}` is {state}, where this means nothing"))
        }
        CommandRefusal::NoTask => ("no_task", format!("stage `{stage}` has no such task")),
        CommandRefusal::NoOutput => ("no_output", format!("stage `{stage}` has no such output in the plan")),
        CommandRefusal::NoCheck => ("no_check", format!("stage `{stage}` has no check that is called so")),
        CommandRefusal::NoAnswer => {
            ("no_answer", format!("stage `{stage}` has asked something: `--answer TEXT`"))
        }
        CommandRefusal::NotGreen => {
            ("not_green", format!("the checks of stage `{stage}` have not been green"))
        }
        CommandRefusal::TooMany => {
            ("too_many", format!("three checks of stage `{stage}` were given up already"))
        }
    }
}

/// Why a plan does not replace the plan of a run: a code for programs, and a sentence.
pub fn amendment_refused(why: &NotAmended) -> (&'static str, String) {
    match why {
        NotAmended::OtherName => ("other_plan", "the plan that is run has another name".to_owned()),
        NotAmended::OtherTarget => ("other_target", "the target of a run stays what it is".to_owned()),
        NotAmended::Begun { stage } => {
            ("begun", format!("stage `{}` was begun and cannot leave the plan", stage.as_str()))
        }
        NotAmended::Same => ("same_plan", "the plan says what the run goes by already".to_owned()),
    }
}

/// The effect of a hold, where it does not take effect at once.
pub fn hold_begins(stage: &StageId, state: &StageState) -> Option<String> {
    let id = stage.as_str();
    match state {
        StageState::Ready(_) => None,
        StageState::Waiting { .. } => Some(format!("stage `{id}` is held once it could start")),
        _ => Some(format!(
            "what is under way for stage `{id}` goes on; after that nobody new is started for it, and it is not merged"
        )),
    }
}

pub const TOO_OFTEN: &str = "its checks were red too often";
pub const BAD_RESOLUTION: &str = "what was merged into the branch is not good as it is";
pub(crate) const CONTEXT_FULL: &str = "its context is full";
pub(crate) const HANDED_OVER: &str = "it has handed over";
pub(crate) const NOT_RUN: &str = "it could not be run";
/// The outcome of an effect that was not begun before its stage moved on.
pub(crate) const NOT_BEGUN: &str = "its stage was told something else before it was begun";

/// That a stage waits for a person.
pub(crate) fn needs_person(id: &StageId, state: &StageState) -> String {
    let (id, name) = (id.as_str(), state.name());
    format!("stage `{id}` is {name}: `sprag stage review {id}`")
}

/// Why a claim is not checked yet.
pub(crate) fn open_tasks(tasks: &[&Slug]) -> String {
    let names: Vec<String> = tasks.iter().map(|task| format!("`{task}`")).collect();
    format!(
        "tasks are open: {}; do them, tick each with `sprag stage task ID`, and say again that it is done",
        names.join(", ")
    )
}

/// The message to an agent whose context fills.
pub(crate) fn context_fills(topic: NudgeTopic, percent: u8) -> String {
    match topic {
        NudgeTopic::Handoff => format!(
            "your context is {percent} % full, which is as far as it goes here. Commit what is whole, run `sprag handoff --next \
             TEXT` once for each thing that is still to be done, and end your turn: somebody else goes on from there."
        ),
        NudgeTopic::Notes | NudgeTopic::Report | NudgeTopic::Answer => format!(
            "your context is {percent} % full. Commit what is whole, and note what somebody who goes on from here has to \
             know: `sprag note TEXT`, `sprag decision TEXT --because WHY`."
        ),
    }
}

/// Why a stage is blocked whose agents fill one context after the other.
pub(crate) fn contexts_filled(agents: u32) -> String {
    format!("{agents} agents before have filled theirs, too")
}

/// That a reference is locked or may not be written.
pub(crate) fn ref_stuck(times: u32, why: &Text<300>) -> String {
    format!("a reference could not be moved {times} times, and it is tried again: {why}")
}

/// Why work is sent back, for the agent that has to fix it.
pub fn work_refused(refusal: &WorkRefusal, trunk: &str, target: &str) -> String {
    match refusal {
        WorkRefusal::Unclean | WorkRefusal::Empty => UNCHANGED.to_owned(),
        WorkRefusal::LeftBase { base } => format!("the branch does not descend from `{base}` any more"),
        WorkRefusal::Unmerged(RequiredCommit::Conflict(commit)) => {
            format!("`{}` is not merged into the branch", commit.0)
        }
        WorkRefusal::Unmerged(RequiredCommit::Target(commit)) => {
            format!("`{}`, which was put on `{target}`, is not merged into the branch", commit.0)
        }
        WorkRefusal::NoCommonHistory => format!("the branch has nothing in common with `{trunk}` any more"),
        WorkRefusal::SeveralMergeBases => format!(
            "the branch has come from the trunk in several ways, so that what it changes cannot be told: `git merge {trunk}`"
        ),
        WorkRefusal::Damaged(damage) => damage.clone(),
        WorkRefusal::CopiedFile(path) => {
            format!("`{path}` was copied here for you and must not be committed")
        }
        WorkRefusal::OutOfScope { count, first } => {
            format!("{count} files outside of the scope were changed, the first is `{}`", quoted(first))
        }
    }
}

/// Why a candidate is not tested.
pub fn candidate_refused(refusal: &CandidateRefusal) -> String {
    match refusal {
        CandidateRefusal::OutOfScope { count, first } => format!(
            "merged, it would change {count} files outside of its scope, the first is `{}`",
            quoted(first)
        ),
        CandidateRefusal::Damaged(damage) => damage.clone(),
    }
}

/// Why only a person can review the work of a stage.
pub fn no_other_reviewer(client: &str) -> String {
    format!(
        "it is to be reviewed (`verify: deep`), and for `{}` there is no reviewer but you",
        quoted(client)
    )
}

pub const UNCHANGED: &str = "nothing was committed, or something is left over";

/// Who has left a stage out, and why.
pub(crate) fn left_out(by: &Text<64>, why: &Text<300>) -> String {
    format!("`{}` has left it out: {}", quoted(by.as_str()), quoted(why.as_str()))
}

fn happened(what: &StageEvent) -> String {
    let text = match what {
        StageEvent::Freed => "all it builds on is merged",
        StageEvent::Started { session, .. } => return format!("session `{}` has started", session.0),
        StageEvent::Asked { question, .. } => {
            return format!("its agent asks: {}", quoted(question.as_str()));
        }
        StageEvent::Answered => "its question is answered",
        StageEvent::Claimed => "its agent says that it is done",
        StageEvent::Resumed => "its agent goes on after all",
        StageEvent::ChecksFailed { report } => {
            return format!("its checks have failed: {}", first_line(report.as_str()));
        }
        StageEvent::SentBack { session } => {
            return format!("what is red was handed to session `{}`", session.0);
        }
        StageEvent::ChecksPassed { .. } => "its checks are good, and it is to be merged",
        StageEvent::ContextFull { why } => return format!("its context is full: {}", quoted(why.as_str())),
        StageEvent::HandedOff { .. } => "what the next agent needs is written down",
        StageEvent::Failed { failure, again: Some(at) } => {
            return format!("{}; it is tried again at {at}", failed(*failure));
        }
        StageEvent::Failed { failure, again: None } => failed(*failure),
        StageEvent::Paused { until: Some(at) } => return format!("it pauses until {at}"),
        StageEvent::Paused { until: None } => "it pauses",
        StageEvent::Conflicted { paths, .. } => {
            return format!("it conflicts with the trunk in {} files", paths.len());
        }
        StageEvent::ResolverStarted { session } => {
            return format!("session `{}` resolves the conflict", session.0);
        }
        StageEvent::ResolverFailed => "the conflict was not resolved",
        StageEvent::MergeFailed { .. } => "merged with what is there it is red",
        StageEvent::Landed { merged } => return format!("it has landed as `{}`", merged.commit().0),
        StageEvent::Queued { .. } => "it is in the merge queue again",
        StageEvent::Raised { case } => case_of(*case),
        StageEvent::Overtaken => return "what it was for was done by others".to_owned(),
        StageEvent::Approved { .. } => "a person wants it merged as it is",
        StageEvent::Command { command, .. } => return describe_recorded_command(command),
        StageEvent::ReviewAsked { question } => case_of(question.reason()),
        StageEvent::Outdated => "a person wants its checks run",
    };
    text.to_owned()
}

/// What somebody said, as it goes on after their name.
fn describe_command(command: &StageCommand) -> String {
    let text = match command {
        StageCommand::Complete => "says that it is done",
        StageCommand::Block { why } => return format!("cannot go on: {}", quoted(why.as_str())),
        StageCommand::Ask { question } => return format!("asks: {}", quoted(question.as_str())),
        StageCommand::Task { id } => return format!("has done task `{id}`"),
        StageCommand::Output { name, .. } => return format!("leaves `{name}` for those that build on it"),
        StageCommand::Dispute { check, .. } => {
            return format!("says that check `{}` is wrong", quoted(check.as_str()));
        }
        StageCommand::Hold => "holds it",
        StageCommand::Release => "lets it go on",
        StageCommand::Skip { why } => return format!("leaves it out: {}", quoted(why.as_str())),
        StageCommand::Retry => "wants it tried again",
        StageCommand::Reset => "wants it begun anew",
        StageCommand::Resume { answer: Some(answer) } => {
            return format!("answers: {}", quoted(answer.as_str()));
        }
        StageCommand::Resume { answer: None } => "lets it go on as it was",
        StageCommand::Merge => "wants it merged",
        StageCommand::Verify => "wants its checks run",
        StageCommand::Accept => "agrees that the check is wrong",
        StageCommand::Reject => "keeps the check",
        StageCommand::Bypass { why } => {
            return format!("takes its own checks away: {}", quoted(why.as_str()));
        }
    };
    text.to_owned()
}

fn describe_recorded_command(command: &StageCommand) -> String {
    let text = match command {
        StageCommand::Hold => "a person holds it",
        StageCommand::Release => "a person lets it go on",
        StageCommand::Retry => "a person wants it tried again",
        StageCommand::Block { .. } => "a person has stopped it",
        StageCommand::Skip { .. } => "a person has left it out",
        StageCommand::Resume { .. } => "a person lets it go on as it was",
        StageCommand::Verify => "a person wants its checks run",
        StageCommand::Reset => "a person wants it begun anew",
        command => return format!("a person {}", describe_command(command)),
    };
    text.to_owned()
}

fn ending(ended: &SessionOutcome) -> String {
    match ended {
        SessionOutcome::Well => "says that it is done".to_owned(),
        SessionOutcome::Failed { failure, .. } => format!("ended: {}", failed(*failure)),
        SessionOutcome::RateLimited { until } => format!("ended at a limit that lasts until {until}"),
        SessionOutcome::ContextFull => "ended with a full context".to_owned(),
        SessionOutcome::Stopped => "was ended".to_owned(),
    }
}

fn came_to(outcome: &EffectOutcome) -> String {
    match outcome {
        EffectOutcome::Done => "done".to_owned(),
        EffectOutcome::Worktree { base } => format!("made from `{}`", base.0),
        EffectOutcome::Green { head, .. } => format!("`{}` is good", head.0),
        EffectOutcome::Reviewable { head, by, .. } => {
            format!("`{}` is good, and `{}` is to review it", head.0, by.name())
        }
        EffectOutcome::Unreviewed { why, .. } => format!("nobody has reviewed it: {}", quoted(why.as_str())),
        EffectOutcome::Red { report } => format!("red: {}", first_line(report.as_str())),
        EffectOutcome::Unchanged => "nothing was changed, or something is left over".to_owned(),
        EffectOutcome::Spawned => "started".to_owned(),
        EffectOutcome::Salvaged { carry } if carry.as_str() == "nothing" => "there was nothing".to_owned(),
        EffectOutcome::Salvaged { carry } => format!("kept as `{}`", quoted(carry.as_str())),
        EffectOutcome::Made { commit, .. } => format!("made `{}`", commit.0),
        EffectOutcome::Conflicted { paths } => match paths.as_slice() {
            [path] => format!("`{}` conflicts", quoted(path.as_str())),
            paths => format!("{} files conflict", paths.len()),
        },
        EffectOutcome::Elsewhere { trunk } => format!("it is at `{}` by now", trunk.0),
        EffectOutcome::Failed { why, .. } => format!("failed: {}", quoted(why.as_str())),
    }
}

fn first_line(text: &str) -> String {
    quoted(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{begin, now, plan, start, started};

    #[test]
    fn a_reason_with_an_end_counts_down_and_is_none_any_more() {
        let because = Explanation { text: Text::new("x"), until: Some(now().plus_seconds(30)) };
        assert_eq!(because.message(now()), "x, for 31 s");
        assert_eq!(because.message(now().plus_seconds(30)), NEXT);
        assert_eq!(Explanation { text: Text::new("x"), until: None }.message(now()), "x");
    }

    #[test]
    fn few_of_many_are_named() {
        let stages: Vec<StageId> = ["a", "b", "c", "d", "e"].map(StageId::new).to_vec();
        assert_eq!(ids(&stages), "`a`, `b`, `c`, 2 more");
        assert_eq!(ids(&stages[..2]), "`a`, `b`");
    }

    #[test]
    fn records_are_told_of_their_stage() {
        let mut run = started(plan(&[("a", "", "a/**")]));
        let (stage, told) = record(&run, &start(plan(&[("a", "", "a/**")])));
        assert_eq!((stage, told.as_str()), (None, "the run of `test` began with 1 stages"));
        begin(&mut run, "a");
        let key = run.effects().keys().next().unwrap().clone();
        let why = Text::new("fatal: `x`\u{1b}[2J\nthe end");
        let outcome = EffectOutcome::Failed { failure: StageFailure::Setup, why };
        let (stage, told) = record(&run, &RunRecord::Outcome { key, outcome });
        assert_eq!(stage, Some(StageId::new("a")));
        assert_eq!(told, "worktree: failed: fatal: 'x' [2J the end", "nothing foreign moves a cursor");
    }
}
