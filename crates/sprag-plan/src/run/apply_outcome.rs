//! What the outcome of an effect means for a run.

use sprag_base::text::Text;

use super::{Reviewable, Run};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::merge::queue::{CandidateResult, QueueOwner, Verified};
use crate::run::effect::{CheckPhase, Effect, EffectOutcome, NudgeTopic, QueueStep, RefStep, StageStep};
use crate::run::stuck_ref::StuckRef;
use crate::spec::MergeMode;
use crate::stage::state::StageState;
use crate::stage::{Phase, ReviewReason, StageEvent, StageFailure};

/// Agents of a stage that may hand over because their contexts are full, before a person looks at it: a brief that
/// fills one by itself would do so for ever.
const HANDOFFS: u32 = 10;

pub(crate) fn apply(run: &mut Run, key: &EffectKey, effect: &Effect, outcome: &EffectOutcome) {
    if effect.moves_ref() {
        run.stuck = StuckRef::after(run.stuck.take(), key, outcome);
    }
    match effect {
        Effect::Stage { stage, step } => {
            let timeliness = match (run.is_outdated(key), run.is_late(key, effect)) {
                (true, _) => Timeliness::Outdated,
                (false, true) => Timeliness::Late,
                (false, false) => Timeliness::InTime,
            };
            apply_step(run, (key, stage), step, outcome, timeliness);
        }
        Effect::Queue { number, step } => {
            *run.tries.entry(*number).or_default() += 1;
            if !run.is_outdated(key) {
                apply_queue(run, *number, step, outcome);
            }
        }
        Effect::Refs(RefStep::RestoreTrunk { .. }) => run.restorations += 1,
        Effect::Refs(RefStep::Promote { to }) => {
            run.promotions += 1;
            if *outcome == EffectOutcome::Done {
                run.target = to.clone();
                run.target_held = None;
            }
        }
        Effect::Session { .. } | Effect::Notify { .. } => {}
    }
}

/// Whether an outcome still means something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timeliness {
    InTime,
    /// Its stage has moved since it was begun.
    Late,
    /// The plan asks for something else by now.
    Outdated,
}

fn apply_step(
    run: &mut Run,
    (key, stage): (&EffectKey, &StageId),
    step: &StageStep,
    outcome: &EffectOutcome,
    timeliness: Timeliness,
) {
    let Some(standing) = run.standings.get_mut(stage) else { return };
    let is_in_time = timeliness == Timeliness::InTime;
    match step {
        StageStep::AddWorktree { .. } => match outcome {
            EffectOutcome::Worktree { base } => {
                standing.worktree = Some(base.clone());
                standing.worktrees += 1;
                (standing.is_set_up, standing.is_looked_over, standing.is_salvaged) = (false, false, false);
            }
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Setup => match outcome {
            EffectOutcome::Done => standing.is_set_up = true,
            // What is about to go need not be good for anything.
            _ if standing.is_resetting => {}
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Check { phase: CheckPhase::Before } => match outcome {
            // It is looked at again before anybody starts.
            _ if timeliness == Timeliness::Outdated => {}
            EffectOutcome::Done => standing.is_looked_over = true,
            _ if standing.is_resetting => {}
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Check { phase: CheckPhase::Claim } => {
            standing.claims += 1;
            if is_in_time {
                claimed(run, stage, outcome);
            }
        }
        StageStep::Review(_) => {
            standing.reviewable = None;
            if is_in_time {
                claimed(run, stage, outcome);
            }
        }
        StageStep::WriteBrief { .. } => {
            standing.briefs += 1;
            match outcome {
                // It tells of a state that is no more.
                _ if !is_in_time => {}
                EffectOutcome::Done => standing.is_briefed = true,
                outcome => blocked(run, stage, outcome),
            }
        }
        StageStep::Spawn => spawned(run, (key, stage), outcome, timeliness),
        StageStep::Nudge { session, topic: NudgeTopic::Report, .. } => {
            if *outcome == EffectOutcome::Done {
                run.apply_event(stage, &StageEvent::SentBack { session: session.clone() });
            }
        }
        StageStep::Nudge { text, topic: NudgeTopic::Answer, .. } => {
            if standing.untold() == Some(text.as_str()) {
                standing.told += 1;
            }
        }
        StageStep::Nudge { topic: NudgeTopic::Notes | NudgeTopic::Handoff, .. } => {}
        StageStep::Salvage => salvaged(run, stage, outcome),
        StageStep::RemoveWorktree => match outcome {
            EffectOutcome::Done => standing.worktree = None,
            _ => standing.is_left = true,
        },
        StageStep::Discard { .. } => match outcome {
            EffectOutcome::Done => {
                (standing.worktree, standing.is_resetting) = (None, false);
                (standing.is_set_up, standing.is_looked_over, standing.is_salvaged) = (false, false, false);
            }
            outcome => blocked(run, stage, outcome),
        },
    }
}

fn apply_queue(run: &mut Run, number: u64, step: &QueueStep, outcome: &EffectOutcome) {
    let left = match (step, outcome) {
        (QueueStep::Make { on, .. }, EffectOutcome::Made { commit, tree }) => {
            run.queue.made(number, on, commit.clone(), tree.clone());
            Vec::new()
        }
        (QueueStep::Make { on, .. }, EffectOutcome::Conflicted { paths }) => {
            run.queue.conflicted(number, on, paths.clone())
        }
        // Nobody can say what is wrong, so somebody has to look at it.
        (QueueStep::Make { on, .. }, _) => run.queue.conflicted(number, on, Vec::new()),
        (QueueStep::Test { commit, .. }, outcome) => {
            let checked = match outcome {
                EffectOutcome::Done => CandidateResult::Green,
                EffectOutcome::Red { report } => CandidateResult::Red { report: report.clone() },
                other => CandidateResult::Red { report: why(other) },
            };
            run.queue.checked(number, commit, checked)
        }
        (QueueStep::Land { to, .. }, EffectOutcome::Done) => run.queue.landed(number, to),
        // Where the trunk was somewhere else, it is put back and this is tried again.
        (QueueStep::Land { .. }, _) => Vec::new(),
    };
    run.apply_queue_exits(left);
}

fn salvaged(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let Some(standing) = run.standings.get_mut(stage) else { return };
    match (&standing.stage, outcome) {
        (StageState::HandingOff { .. }, EffectOutcome::Salvaged { .. }) if standing.handoffs >= HANDOFFS => {
            let why = Text::new(format!("{HANDOFFS} agents before have filled theirs, too"));
            blocked(run, stage, &EffectOutcome::Failed { failure: StageFailure::Context, why });
        }
        (StageState::HandingOff { .. }, EffectOutcome::Salvaged { carry }) => {
            standing.handoffs += 1;
            run.apply_event(stage, &StageEvent::HandedOff { carry: carry.clone() });
        }
        (StageState::HandingOff { .. }, outcome) => blocked(run, stage, outcome),
        (_, EffectOutcome::Salvaged { .. }) => standing.is_salvaged = true,
        // What cannot be kept is not taken away.
        _ => standing.is_left = true,
    }
}

/// Nothing can be done for a stage before somebody has looked at it.
fn blocked(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let failure = match outcome {
        EffectOutcome::Failed { failure, .. } => *failure,
        _ => StageFailure::Setup,
    };
    run.apply_event(stage, &StageEvent::Failed { failure, again: None });
    if let (EffectOutcome::Failed { why, .. }, Some(standing)) = (outcome, run.standings.get_mut(stage))
        && matches!(standing.stage, StageState::Blocked { .. })
    {
        standing.why = Some(why.clone());
    }
}

fn spawned(
    run: &mut Run,
    (key, stage): (&EffectKey, &StageId),
    outcome: &EffectOutcome,
    timeliness: Timeliness,
) {
    let is_late = timeliness != Timeliness::InTime;
    let Some(standing) = run.standings.get_mut(stage) else { return };
    standing.spawns += 1;
    standing.is_briefed = false;
    // Its brief has all of them.
    standing.told = standing.answers.len();
    if *outcome != EffectOutcome::Spawned {
        run.sessions.remove(key);
        if !is_late {
            blocked(run, stage, outcome);
        }
        return;
    }
    let session = key.clone();
    standing.session = Some(session.clone());
    // Somebody has said something else of the stage while it was being started: it is there, and nobody wants it.
    if is_late {
        return;
    }
    let base = standing.worktree.clone().unwrap_or_else(|| CommitId(Text::new("")));
    let what = match &standing.stage {
        StageState::Failing { .. } => StageEvent::SentBack { session },
        StageState::Conflicted { .. } => StageEvent::ResolverStarted { session },
        _ => StageEvent::Started { session, base },
    };
    run.apply_event(stage, &what);
}

/// A claim was looked at.
fn claimed(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let merge = run.merging(stage);
    let Some(standing) = run.standings.get_mut(stage) else { return };
    let (attempt, base) = match &standing.stage {
        StageState::Running(work) if work.phase == Phase::Verify => (work.attempt, work.base.clone()),
        StageState::Conflicted { verified, resolver: Some(_), .. } => {
            (verified.attempt, verified.base.clone())
        }
        _ => return,
    };
    let is_resolved = matches!(standing.stage, StageState::Conflicted { .. });
    if let EffectOutcome::Reviewable { head, tree, by } = outcome {
        standing.reviewable = Some(Reviewable { head: head.clone(), tree: tree.clone(), by: *by });
        return;
    }
    let what = match outcome {
        EffectOutcome::Green { head, tree } => {
            run.crashes.clear();
            let verified = Verified { attempt, head: head.clone(), tree: tree.clone(), base };
            match (is_resolved, merge) {
                _ if standing.is_held => {
                    standing.verified = Some(verified);
                    StageEvent::Raised { case: ReviewReason::Held }
                }
                (true, MergeMode::Auto) => {
                    let entry = run.queue.offer(QueueOwner::Stage(stage.clone()), verified.clone());
                    StageEvent::Queued { verified, entry }
                }
                (false, MergeMode::Auto) => {
                    let entry = run.queue.offer(QueueOwner::Stage(stage.clone()), verified.clone());
                    StageEvent::ChecksPassed { verified, entry }
                }
                // Whoever resolved a conflict wrote what nobody has seen.
                (_, MergeMode::Person) => {
                    standing.verified = Some(verified);
                    StageEvent::Raised { case: ReviewReason::Merge }
                }
            }
        }
        EffectOutcome::Unreviewed { head, tree, why } => {
            standing.verified = Some(Verified { attempt, head: head.clone(), tree: tree.clone(), base });
            let why = why.clone();
            run.apply_event(stage, &StageEvent::Raised { case: ReviewReason::Unreviewed });
            run.standings.get_mut(stage).into_iter().for_each(|standing| standing.why = Some(why.clone()));
            return;
        }
        outcome if is_resolved => {
            if let EffectOutcome::Red { report } = outcome {
                standing.unresolved = Some(report.clone());
            }
            StageEvent::ResolverFailed
        }
        EffectOutcome::Red { report } => StageEvent::ChecksFailed { report: report.clone() },
        EffectOutcome::Unchanged => {
            standing.unchanged += 1;
            match standing.unchanged {
                1 => StageEvent::ChecksFailed {
                    report: Text::new("nothing was committed, or something is left over"),
                },
                _ => StageEvent::Raised { case: ReviewReason::NoChange },
            }
        }
        other => StageEvent::ChecksFailed { report: why(other) },
    };
    run.apply_event(stage, &what);
}

fn why(outcome: &EffectOutcome) -> Text<4000> {
    match outcome {
        EffectOutcome::Failed { why, .. } => Text::new(why.as_str()),
        _ => Text::new("it could not be run"),
    }
}
