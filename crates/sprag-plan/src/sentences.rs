//! Sentences about a run for people: the reasons why stages wait, and the meaning of records.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use sprag_base::text::{Text, quoted, quoted_list};
use sprag_base::time::Timestamp;

use super::accept::candidate::CandidateRefusal;
use super::accept::work::{RequiredCommit, WorkRefusal};
use super::ids::{CommitId, StageId};
use super::merge::merge_failure::MergeFailure;
use super::run::amend::NotAmended;
use super::run::command::CommandRefusal;
use super::run::effect::{
    CheckPhase, Effect, EffectOutcome, NudgeTopic, QueueStep, RefStep, ReviewJob, SessionSignal, StageStep,
};
use super::run::record::{BudgetOwner, RunRecord, SessionOutcome, TargetHeld};
use super::run::waiting::{StartBlocker, WaitingReason};
use super::run::{Run, StageEntry};
use super::spec::values::Slug;
use super::stage::command::{CommandRole, StageCommand};
use super::stage::state::StageState;
use super::stage::{Dispute, ReviewQuestion, ReviewReason, StageConflict, StageEvent, StageFailure};

/// A reason, and the time until which it holds at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub text: Text<300>,
    #[serde(with = "super::view::perhaps_millis")]
    pub until: Option<Timestamp>,
}

impl Explanation {
    /// Writes the reason for the present time. A reason whose time has passed no longer holds.
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

const NEXT: &str = "about to continue";
/// Names that one sentence lists.
const NAMED: usize = 3;
/// Maximum number of protected files in one report.
const PROTECTED: usize = 10;
/// Conflicting paths that the task of a stage names.
const CONFLICTING: usize = 20;

pub fn why(run: &Run, stage: &StageId, why: &WaitingReason) -> Explanation {
    let (text, until) = match why {
        WaitingReason::Waits { on } => (format!("waits for {}", ids(on)), None),
        WaitingReason::Held(StartBlocker::Told) => ("on hold by a person".to_owned(), None),
        WaitingReason::Held(StartBlocker::Until(at)) => ("waits for a new attempt".to_owned(), Some(*at)),
        WaitingReason::Held(StartBlocker::Account(at)) => {
            ("the account of its client is at a limit".to_owned(), Some(*at))
        }
        WaitingReason::Held(StartBlocker::Breaker(at)) => {
            ("too many agents crashed lately".to_owned(), Some(*at))
        }
        WaitingReason::Held(StartBlocker::Slots) => ("all slots are taken".to_owned(), None),
        WaitingReason::Held(StartBlocker::Group) => ("its group is at its limit".to_owned(), None),
        WaitingReason::Held(StartBlocker::Exclusive) => {
            ("waits because of an exclusive stage".to_owned(), None)
        }
        WaitingReason::Doing { key } => {
            let doing = run.effect(key).map(|effect| describe_effect(effect).0);
            (doing.unwrap_or_else(|| "an effect is under way".to_owned()), None)
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
            _ => ("its agent asks a question".to_owned(), None),
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
            format!("{text}; on hold after that")
        }
        _ => text,
    };
    Explanation { text: Text::new(text), until }
}

fn ids(stages: &[StageId]) -> String {
    let named = quoted_list(stages.iter().take(NAMED).map(StageId::as_str));
    let more = stages.len().saturating_sub(NAMED);
    if more > 0 { format!("{named}, {more} more") } else { named }
}

/// Returns a description of a running effect, and a noun for the line about its outcome.
fn describe_effect(effect: &Effect) -> (String, &'static str) {
    let (doing, name) = match effect {
        Effect::Stage { step, .. } => match step {
            StageStep::AddWorktree { .. } => ("making its worktree", "worktree"),
            StageStep::Setup => ("setting up its worktree", "setup"),
            StageStep::Check { phase: CheckPhase::Before } => {
                ("checking the preconditions of the stage", "checks")
            }
            StageStep::Check { phase: CheckPhase::Claim } => {
                ("checking whether its work is acceptable", "checks")
            }
            StageStep::Review(ReviewJob { by, since, .. }) => {
                let by = by.name();
                return (format!("`{by}` reviews its work since {since}"), "review");
            }
            StageStep::WriteBrief { .. } => ("writing its brief", "brief"),
            StageStep::Spawn => ("starting its agent", "start of its agent"),
            StageStep::Nudge { .. } => ("sending its agent a message", "message"),
            StageStep::Salvage => ("salvaging its work", "salvage"),
            StageStep::RemoveWorktree => ("removing its worktree", "removal of the worktree"),
            StageStep::Discard { .. } => ("salvaging its work and resetting it", "reset"),
        },
        Effect::Session { step: SessionSignal::Interrupt, .. } => {
            ("interrupting its wedged agent", "interrupt")
        }
        Effect::Session { step: SessionSignal::Kill { .. }, .. } => {
            ("stopping its agent", "end of its agent")
        }
        Effect::Queue { step: QueueStep::Make { .. }, .. } => ("merging its work", "merge"),
        Effect::Queue { step: QueueStep::Test { .. }, .. } => {
            ("testing the merge candidate", "test of the merge")
        }
        Effect::Queue { step: QueueStep::Land { .. }, .. } => ("landing its work", "landing"),
        Effect::Refs(RefStep::Promote { .. }) => ("moving the target", "target"),
        Effect::Refs(RefStep::RestoreTrunk { .. }) => {
            ("restoring the moved trunk", "restoration of the trunk")
        }
        Effect::Notify { .. } => ("notifying a person", "notification"),
    };
    (doing.to_owned(), name)
}

pub(crate) fn case_of(case: ReviewReason) -> &'static str {
    match case {
        ReviewReason::Merge => "a person has to approve the merge",
        ReviewReason::TooManyFixes => "its checks have failed too often",
        ReviewReason::Disputed => "its agent disputes a check",
        ReviewReason::NoChange => "no change, or uncommitted files are left",
        ReviewReason::ProtectedFiles => "protected files were changed",
        ReviewReason::ConflictUnresolved => "its conflict could not be resolved",
        ReviewReason::MergeFailed => "checks fail after the merge",
        ReviewReason::OnHold => "on hold by a person",
        ReviewReason::Unreviewed => "no review took place",
    }
}

pub(crate) fn failed(failure: StageFailure) -> &'static str {
    match failure {
        StageFailure::Crash => "its agent has crashed",
        StageFailure::Timeout => "its agent ran out of time",
        StageFailure::Overload => "the model was overloaded",
        StageFailure::Wedged => "its agent gave no sign of life",
        StageFailure::Auth => "its client is not logged in",
        StageFailure::Sandbox => "the sandbox of its agent could not be set up",
        StageFailure::Setup => "setup failed",
        StageFailure::Budget => "its budget is used up",
        StageFailure::Conflict => "its conflict could not be resolved",
        StageFailure::Context => "its agents fill one context after the other",
        StageFailure::Told => "stopped by its agent or a person",
        StageFailure::Unknown => "the cause is unknown",
    }
}

/// Describes the history of a stage for a person; the first line is a summary.
pub(crate) fn stage_history(entry: &StageEntry) -> Vec<String> {
    vec![match &entry.state {
        StageState::Waiting { on } => {
            format!("waits for {}, not merged yet", quoted_list(on.iter().map(StageId::as_str)))
        }
        StageState::Ready(_) if entry.is_held() => "on hold by a person".to_owned(),
        StageState::Ready(_) => "ready to start".to_owned(),
        StageState::Running(_) => "its agent is at work, or its work is being checked".to_owned(),
        StageState::Asking { question, .. } => format!("question: {question}"),
        StageState::HandingOff { .. } => {
            "its agent ends, and the handoff for the next agent is written".to_owned()
        }
        StageState::Failing { report, .. } => failed_checks(report),
        StageState::Merging { .. } => "in the merge queue".to_owned(),
        StageState::Conflicted(conflict) => return conflicts(conflict),
        StageState::MergeFailed { .. } => "its checks fail after the merge".to_owned(),
        StageState::Review { question, back } => return review_history(question, back),
        StageState::Blocked { failure, why, .. } => match (failure, why) {
            // The person or agent who blocked it gave the reason.
            (StageFailure::Told, Some(why)) => format!("blocked: {why}"),
            (failure, Some(why)) => format!("{}: {why}", failed(*failure)),
            (StageFailure::Crash, None) if entry.counters.crashes > 1 => {
                let (failed, crashes) = (failed(*failure), entry.counters.crashes);
                format!("{failed}, {crashes} times in a row without a commit")
            }
            (failure, None) => failed(*failure).to_owned(),
        },
        StageState::Skipped { by, why } => left_out(by, why),
        StageState::Done { merged } => format!("merged as `{}`", merged.commit().0),
    }]
}

fn review_history(question: &ReviewQuestion, back: &StageState) -> Vec<String> {
    let usual = || case_of(question.reason()).to_owned();
    let mut what = match question {
        ReviewQuestion::Merge { verified } => vec![format!(
            "its checks passed as `{}`; a person has to approve the merge (`auto_merge: false`)",
            verified.head.0
        )],
        ReviewQuestion::Disputed(Dispute { check, why }) => {
            vec![usual(), format!("check `{check}` is disputed: {why}")]
        }
        ReviewQuestion::NoChange => vec![
            "its agent claimed twice to be done, but committed nothing or left uncommitted files".to_owned(),
        ],
        ReviewQuestion::Unreviewed { why, .. } => {
            vec!["its checks passed, but no review took place".to_owned(), why.to_string()]
        }
        ReviewQuestion::OnHold { verified: Some(_) } => {
            vec!["its checks passed; on hold by a person".to_owned()]
        }
        _ => vec![usual()],
    };
    match back {
        StageState::Failing { report, .. } => what.push(failed_checks(report)),
        StageState::Conflicted(conflict) => what.extend(conflicts(conflict)),
        StageState::MergeFailed { cause: MergeFailure::Red { report }, .. } => {
            what.push(failed_checks(report))
        }
        StageState::MergeFailed { cause: MergeFailure::Pair { with }, .. } => {
            what.push(format!("checks pass alone and fail together with stage `{}`", with.as_str()));
        }
        _ => {}
    }
    what
}

fn failed_checks(report: &impl Display) -> String {
    format!("failed checks:\n{report}")
}

fn conflicts(conflict: &StageConflict) -> Vec<String> {
    let mut lines = vec![format!("conflicts with `{}`", conflict.against.0)];
    lines.extend(conflict.paths.iter().map(|path| format!("conflict in `{path}`")));
    lines
}

/// Names the open tasks of a stage.
pub(crate) fn tasks_left(tasks: &[&Slug]) -> String {
    format!("open tasks: {}", quoted_list(tasks))
}

pub(crate) fn bypassed(why: &impl Display) -> String {
    format!("its checks are bypassed: {why}")
}

pub(crate) const HELD: &str = "on hold: no new agent starts for it, and it is not merged";

/// Names the stage that merges commits of others on the target.
pub(crate) fn target_stage_name(target: &str) -> String {
    format!("commits of others on `{target}`")
}

/// Describes the task of that stage.
pub(crate) fn target_stage_task(owed: &CommitId, target: &str, paths: &[Text<400>]) -> String {
    format!(
        "a person put `{}` on `{target}`, and it conflicts with the work that this plan landed: {}. Merge it into this \
         branch and keep all of both sides.",
        owed.0,
        quoted_list(paths.iter().take(CONFLICTING))
    )
}

/// A protected file that a stage changed: its path, and its earlier content unless it is new.
pub type ProtectedChange<'a> = (&'a [u8], Option<&'a str>);

/// Reports changed protected files, with commands that restore them.
pub fn protected_files_changed(changes: &[ProtectedChange<'_>], base: &str) -> String {
    let mut text = format!("{} protected files changed; no stage may change them", changes.len());
    for (path, before) in changes.iter().take(PROTECTED) {
        let (path, word) = (quoted(&String::from_utf8_lossy(path)), shell_bytes(path));
        text.push_str(&match before {
            Some(blob) => {
                format!("\n- `{path}` was `{blob}`; restore it with: git checkout {base} -- {word}")
            }
            None => format!("\n- `{path}` was newly added; remove it with: git rm -f -- {word}"),
        });
    }
    if changes.len() > PROTECTED {
        text.push_str(&format!("\n- and {} more", changes.len() - PROTECTED));
    }
    text
}

/// Quotes a path for a shell command; encodes its bytes if quotes are not enough.
fn shell_bytes(path: &[u8]) -> String {
    let is_plain = |text: &&str| !text.contains(['\'', '`']) && !text.contains(char::is_control);
    match std::str::from_utf8(path).ok().filter(is_plain) {
        Some(text) => format!("'{text}'"),
        None => {
            let bytes: String = path.iter().map(|byte| format!("\\{byte:03o}")).collect();
            format!("\"$(printf '{bytes}')\"")
        }
    }
}

/// Describes a record, with its stage; `run` is the state before the record.
pub fn record(run: &Run, record: &RunRecord) -> (Option<StageId>, String) {
    match record {
        RunRecord::Started { plan, .. } => {
            (None, format!("the run of `{}` began with {} stages", plan.head.name, plan.stages().len()))
        }
        RunRecord::Amended { by, .. } => (None, format!("`{}` changed the plan", quoted(by.as_str()))),
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
            (Some(stage.clone()), "someone has deleted its worktree".to_owned())
        }
        RunRecord::Foreign { head } => (None, format!("someone put `{}` on the target", head.0)),
        RunRecord::TargetHeld { why } => (None, target_held(why)),
        RunRecord::Nearly { of: BudgetOwner::Run } => (None, nearly(&BudgetOwner::Run).to_owned()),
        RunRecord::Nearly { of: of @ BudgetOwner::Stage(stage) } => {
            (Some(stage.clone()), nearly(of).to_owned())
        }
    }
}

/// Says that most of a budget is used.
pub fn nearly(of: &BudgetOwner) -> &'static str {
    match of {
        BudgetOwner::Run => "80% of the plan's budget is used",
        BudgetOwner::Stage(_) => "80% of its budget is used",
    }
}

/// Says why the target is not moved.
pub fn target_held(why: &TargetHeld) -> String {
    let what = match why {
        TargetHeld::Rewritten { now } => format!("someone rewrote the branch to `{}`", now.0),
        TargetHeld::Gone => "the branch is missing".to_owned(),
        TargetHeld::Conflicted { head, paths } => {
            format!("commit `{}` conflicts with the trunk in {} files", head.0, paths.len())
        }
        TargetHeld::Red { head, report } => {
            format!("checks of commit `{}` failed: {}", head.0, first_line(report.as_str()))
        }
    };
    format!("the target is not moved: {what}")
}

/// Answers an agent whose dispute was rejected.
pub(crate) fn check_stays(check: &str) -> String {
    format!("the dispute was rejected: check `{check}` stays")
}

/// Says why a command is refused: a code for programs, and a sentence.
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
        CommandRefusal::OtherSession => ("not_your_stage", format!("not the agent of stage `{stage}`")),
        CommandRefusal::State { state } => {
            ("state", format!("not possible while stage `{stage}` is {state}"))
        }
        CommandRefusal::NoTask => ("no_task", format!("stage `{stage}` has no such task")),
        CommandRefusal::NoOutput => ("no_output", format!("stage `{stage}` has no such output in the plan")),
        CommandRefusal::NoCheck => ("no_check", format!("stage `{stage}` has no check with this name")),
        CommandRefusal::NoAnswer => {
            ("no_answer", format!("stage `{stage}` asks a question: add `--answer TEXT`"))
        }
        CommandRefusal::NotGreen => {
            ("not_green", format!("the checks of stage `{stage}` have not passed yet"))
        }
        CommandRefusal::TooMany => {
            ("too_many", format!("stage `{stage}` already has three waived checks (the limit)"))
        }
    }
}

/// Says why a plan cannot replace the plan of a run: a code for programs, and a sentence.
pub fn amendment_refused(why: &NotAmended) -> (&'static str, String) {
    match why {
        NotAmended::OtherName => ("other_plan", "the plan of the run has another name".to_owned()),
        NotAmended::OtherTarget => ("other_target", "the target of a run cannot change".to_owned()),
        NotAmended::Begun { stage } => {
            ("begun", format!("stage `{}` was begun and cannot leave the plan", stage.as_str()))
        }
        NotAmended::Same => ("same_plan", "the plan is unchanged".to_owned()),
    }
}

/// Describes a hold that does not take effect at once.
pub fn hold_begins(stage: &StageId, state: &StageState) -> Option<String> {
    let id = stage.as_str();
    match state {
        StageState::Ready(_) => None,
        StageState::Waiting { .. } => Some(format!("stage `{id}` will be on hold once it could start")),
        _ => Some(format!(
            "stage `{id}` finishes its present step; after that no new agent starts for it, and it is not merged"
        )),
    }
}

pub const TOO_OFTEN: &str = "its checks failed too often";
pub const BAD_RESOLUTION: &str = "the resolution of the conflict is not accepted";
pub(crate) const CONTEXT_FULL: &str = "its context is full";
pub(crate) const HANDED_OVER: &str = "the agent handed over";
pub(crate) const NOT_RUN: &str = "the checks could not run";
/// The outcome of an effect that was not begun before its stage changed.
pub(crate) const NOT_BEGUN: &str = "the stage changed before this began";

/// Says that a stage waits for a person.
pub(crate) fn needs_person(id: &StageId, state: &StageState) -> String {
    let (id, name) = (id.as_str(), state.name());
    format!("stage `{id}` is {name}: `sprag stage review {id}`")
}

/// Says why a claim is not checked yet.
pub(crate) fn open_tasks(tasks: &[&Slug]) -> String {
    format!(
        "tasks are open: {}; do them, report each with `sprag stage task ID`, then run `sprag stage complete` again",
        quoted_list(tasks)
    )
}

/// Writes the message to an agent whose context fills.
pub(crate) fn context_fills(topic: NudgeTopic, percent: u8) -> String {
    match topic {
        NudgeTopic::Handoff => format!(
            "your context is {percent}% full, which is the limit: commit finished work, run `sprag handoff --next \
             TEXT` once for each open item, then end your turn"
        ),
        NudgeTopic::Notes | NudgeTopic::Report | NudgeTopic::Answer => format!(
            "your context is {percent}% full: commit finished work, and note facts for the next agent with \
             `sprag note TEXT` or `sprag decision TEXT --because WHY`"
        ),
    }
}

/// Says why a stage is blocked whose agents fill one context after the other.
pub(crate) fn contexts_filled(agents: u32) -> String {
    format!("{agents} earlier agents filled their contexts, too")
}

/// Says that a reference is locked or not writable.
pub(crate) fn ref_stuck(times: u32, why: &Text<300>) -> String {
    format!("a reference could not be moved {times} times; Sprag retries: {why}")
}

/// Says why work is sent back, for the agent that has to fix it.
pub fn work_refused(refusal: &WorkRefusal, trunk: &str, target: &str) -> String {
    match refusal {
        WorkRefusal::Unclean | WorkRefusal::Empty => UNCHANGED.to_owned(),
        WorkRefusal::LeftBase { base } => format!("the branch no longer descends from `{base}`"),
        WorkRefusal::Unmerged(RequiredCommit::Conflict(commit)) => {
            format!("`{}` is not merged into the branch", commit.0)
        }
        WorkRefusal::Unmerged(RequiredCommit::Target(commit)) => {
            format!("`{}` of `{target}` is not merged into the branch", commit.0)
        }
        WorkRefusal::NoCommonHistory => format!("the branch has no common history with `{trunk}`"),
        WorkRefusal::SeveralMergeBases => format!(
            "the branch has several merge bases with the trunk, so its changes are ambiguous: run `git merge {trunk}`"
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

/// Says why a candidate is not tested.
pub fn candidate_refused(refusal: &CandidateRefusal) -> String {
    match refusal {
        CandidateRefusal::OutOfScope { count, first } => format!(
            "the merge would change {count} files outside of its scope, the first is `{}`",
            quoted(first)
        ),
        CandidateRefusal::Damaged(damage) => damage.clone(),
    }
}

/// Says why only a person can review the work of a stage.
pub fn no_other_reviewer(client: &str) -> String {
    format!("`verify: deep` needs a review, and for `{}` there is no reviewer but you", quoted(client))
}

pub const UNCHANGED: &str = "nothing was committed, or uncommitted files are left";

/// Says who skipped a stage, and why.
pub(crate) fn left_out(by: &Text<64>, why: &Text<300>) -> String {
    format!("`{}` skipped it: {}", quoted(by.as_str()), quoted(why.as_str()))
}

fn happened(what: &StageEvent) -> String {
    let text = match what {
        StageEvent::Freed => "all its dependencies are merged",
        StageEvent::Started { session, .. } => return format!("session `{}` started", session.0),
        StageEvent::Asked { question, .. } => {
            return format!("its agent asks: {}", quoted(question.as_str()));
        }
        StageEvent::Answered => "its question is answered",
        StageEvent::Claimed => "its agent claims to be done",
        StageEvent::Resumed => "its agent continues",
        StageEvent::ChecksFailed { report } => {
            return format!("its checks failed: {}", first_line(report.as_str()));
        }
        StageEvent::SentBack { session } => {
            return format!("session `{}` got the failures to fix", session.0);
        }
        StageEvent::ChecksPassed { .. } => "its checks passed, and it is in the merge queue",
        StageEvent::ContextFull { why } => return format!("its context is full: {}", quoted(why.as_str())),
        StageEvent::HandedOff { .. } => "the handoff for the next agent is written",
        StageEvent::Failed { failure, again: Some(at) } => {
            return format!("{}; it is tried again at {at}", failed(*failure));
        }
        StageEvent::Failed { failure, again: None } => failed(*failure),
        StageEvent::Paused { until: Some(at) } => return format!("paused until {at}"),
        StageEvent::Paused { until: None } => "paused",
        StageEvent::Conflicted { paths, .. } => {
            return format!("conflicts with the trunk in {} files", paths.len());
        }
        StageEvent::ResolverStarted { session } => {
            return format!("session `{}` resolves the conflict", session.0);
        }
        StageEvent::ResolverFailed => "the conflict was not resolved",
        StageEvent::MergeFailed { .. } => "checks fail after the merge",
        StageEvent::Landed { merged } => return format!("landed as `{}`", merged.commit().0),
        StageEvent::Queued { .. } => "back in the merge queue",
        StageEvent::Raised { case } => case_of(*case),
        StageEvent::Overtaken => return "others did its work".to_owned(),
        StageEvent::Approved { .. } => "a person approved the merge",
        StageEvent::Command { command, .. } => return describe_recorded_command(command),
        StageEvent::ReviewAsked { question } => case_of(question.reason()),
        StageEvent::Outdated => "its checks have to run again",
    };
    text.to_owned()
}

/// Describes a command, as the rest of a sentence after the name of its sender.
fn describe_command(command: &StageCommand) -> String {
    let text = match command {
        StageCommand::Complete => "claims to be done",
        StageCommand::Block { why } => return format!("blocks it: {}", quoted(why.as_str())),
        StageCommand::Ask { question } => return format!("asks: {}", quoted(question.as_str())),
        StageCommand::Task { id } => return format!("reports task `{id}` as done"),
        StageCommand::Output { name, .. } => return format!("sets output `{name}`"),
        StageCommand::Dispute { check, .. } => {
            return format!("disputes check `{}`", quoted(check.as_str()));
        }
        StageCommand::Hold => "puts it on hold",
        StageCommand::Release => "ends its hold",
        StageCommand::Skip { why } => return format!("skips it: {}", quoted(why.as_str())),
        StageCommand::Retry => "retries it",
        StageCommand::Reset => "resets it",
        StageCommand::Resume { answer: Some(answer) } => {
            return format!("answers: {}", quoted(answer.as_str()));
        }
        StageCommand::Resume { answer: None } => "resumes it",
        StageCommand::Merge => "approves its merge",
        StageCommand::Verify => "runs its checks again",
        StageCommand::Accept => "accepts the dispute",
        StageCommand::Reject => "rejects the dispute",
        StageCommand::Bypass { why } => {
            return format!("bypasses its checks: {}", quoted(why.as_str()));
        }
    };
    text.to_owned()
}

fn describe_recorded_command(command: &StageCommand) -> String {
    let text = match command {
        StageCommand::Hold => "a person puts it on hold",
        StageCommand::Release => "a person ends its hold",
        StageCommand::Retry => "a person retries it",
        StageCommand::Block { .. } => "a person blocks it",
        StageCommand::Skip { .. } => "a person skips it",
        StageCommand::Resume { .. } => "a person resumes it",
        StageCommand::Verify => "a person runs its checks again",
        StageCommand::Reset => "a person resets it",
        command => return format!("a person {}", describe_command(command)),
    };
    text.to_owned()
}

fn ending(ended: &SessionOutcome) -> String {
    match ended {
        SessionOutcome::Well => "claims to be done".to_owned(),
        SessionOutcome::Failed { failure, .. } => format!("ended: {}", failed(*failure)),
        SessionOutcome::RateLimited { until } => format!("ended at a limit until {until}"),
        SessionOutcome::ContextFull => "ended with a full context".to_owned(),
        SessionOutcome::Stopped => "was ended by Sprag".to_owned(),
    }
}

fn came_to(outcome: &EffectOutcome) -> String {
    match outcome {
        EffectOutcome::Done => "done".to_owned(),
        EffectOutcome::Worktree { base } => format!("made from `{}`", base.0),
        EffectOutcome::Green { head, .. } => format!("`{}` passed", head.0),
        EffectOutcome::Reviewable { head, by, .. } => {
            format!("`{}` passed; `{}` reviews it", head.0, by.name())
        }
        EffectOutcome::Unreviewed { why, .. } => format!("not reviewed: {}", quoted(why.as_str())),
        EffectOutcome::Red { report } => format!("checks failed: {}", first_line(report.as_str())),
        EffectOutcome::Unchanged => "no change, or uncommitted files are left".to_owned(),
        EffectOutcome::Spawned => "started".to_owned(),
        EffectOutcome::Salvaged { carry } if carry.as_str() == "nothing" => "nothing to keep".to_owned(),
        EffectOutcome::Salvaged { carry } => format!("kept as `{}`", quoted(carry.as_str())),
        EffectOutcome::Made { commit, .. } => format!("made `{}`", commit.0),
        EffectOutcome::Conflicted { paths } => match paths.as_slice() {
            [path] => format!("`{}` conflicts", quoted(path.as_str())),
            paths => format!("{} files conflict", paths.len()),
        },
        EffectOutcome::Elsewhere { trunk } => format!("the trunk is at `{}` now", trunk.0),
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
    fn the_command_that_brings_a_file_back_names_it_by_its_bytes() {
        assert_eq!(shell_bytes(b"docs/a b.md"), "'docs/a b.md'");
        assert_eq!(shell_bytes(b"a\xff"), "\"$(printf '\\141\\377')\"");
        assert_eq!(shell_bytes(b"it's"), "\"$(printf '\\151\\164\\047\\163')\"");
    }

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
        assert_eq!(told, "worktree: failed: fatal: 'x' [2J the end", "text of others moves no cursor");
    }
}
