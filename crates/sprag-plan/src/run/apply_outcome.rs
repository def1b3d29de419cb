//! Applies the outcome of an effect to a run.

use sprag_base::text::Text;

use super::Run;
use super::stage_entry::{StageEntry, Worktree, WorktreeSetup};
use crate::ids::{CommitId, EffectKey, StageId};
use crate::merge::queue::{CandidateResult, QueueOwner, Verified};
use crate::run::effect::{
    CheckPhase, Effect, EffectOutcome, NudgeTopic, OpenEffect, QueueStep, RefStep, StageStep, Timeliness,
};
use crate::run::stuck_ref::StuckRef;
use crate::sentences;
use crate::spec::MergeMode;
use crate::stage::state::StageState;
use crate::stage::{Hold, LaunchState, ReviewQuestion, Reviewable, StageConflict, StageEvent, StageFailure};

/// Handoffs of a stage because of full contexts before a person is asked: a brief that fills a context
/// alone would cause handoffs forever.
const HANDOFFS: u32 = 10;

pub(crate) fn apply(run: &mut Run, key: &EffectKey, open: &OpenEffect, outcome: &EffectOutcome) {
    let timeliness = run.timeliness(open);
    if open.effect.moves_ref() {
        run.target.stuck = StuckRef::after(run.target.stuck.take(), key, outcome);
    }
    match &open.effect {
        Effect::Stage { stage, step } => apply_step(run, (key, stage), step, outcome, timeliness),
        Effect::Queue { number, step } => {
            run.queue.count_try(*number);
            if timeliness != Timeliness::Outdated {
                apply_queue(run, *number, step, outcome);
            }
        }
        Effect::Refs(RefStep::RestoreTrunk { .. }) => run.target.restorations += 1,
        Effect::Refs(RefStep::Promote { to }) => {
            run.target.promotions += 1;
            if *outcome == EffectOutcome::Done {
                run.target.known = to.clone();
                run.target.held = None;
            }
        }
        Effect::Session { .. } | Effect::Notify { .. } => {}
    }
}

fn apply_step(
    run: &mut Run,
    (key, stage): (&EffectKey, &StageId),
    step: &StageStep,
    outcome: &EffectOutcome,
    timeliness: Timeliness,
) {
    let Some(entry) = run.entries.get_mut(stage) else { return };
    let is_in_time = timeliness == Timeliness::InTime;
    match step {
        StageStep::AddWorktree { .. } => match outcome {
            EffectOutcome::Worktree { base } => {
                entry.worktree = Worktree::Present { base: base.clone(), setup: WorktreeSetup::default() };
                entry.counters.worktrees += 1;
            }
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Setup => match outcome {
            // A worktree that is to be discarded need not be set up.
            _ if entry.worktree.is_discarding() => {}
            EffectOutcome::Done => {
                entry.worktree.setup_mut().into_iter().for_each(|setup| setup.is_set_up = true);
            }
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Check { phase: CheckPhase::Before } => match outcome {
            // The check runs again before an agent starts.
            _ if timeliness == Timeliness::Outdated || entry.worktree.is_discarding() => {}
            EffectOutcome::Done => {
                entry.worktree.setup_mut().into_iter().for_each(|setup| setup.is_checked = true);
            }
            outcome => blocked(run, stage, outcome),
        },
        StageStep::Check { phase: CheckPhase::Claim } => {
            entry.counters.claims += 1;
            if is_in_time {
                claimed(run, stage, outcome);
            }
        }
        StageStep::Review(_) => {
            entry.state.verification_mut().into_iter().for_each(|it| it.reviewable = None);
            if is_in_time {
                claimed(run, stage, outcome);
            }
        }
        StageStep::WriteBrief { .. } => {
            entry.counters.briefs += 1;
            match outcome {
                // The brief describes an earlier state.
                _ if !is_in_time => {}
                EffectOutcome::Done => entry.state.set_launch(LaunchState::Briefed),
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
            if entry.answers.undelivered() == Some(text.as_str()) {
                entry.answers.delivered += 1;
            }
        }
        StageStep::Nudge { topic: NudgeTopic::Notes | NudgeTopic::Handoff, .. } => {}
        StageStep::Salvage => salvaged(run, stage, outcome),
        StageStep::RemoveWorktree => match outcome {
            EffectOutcome::Done => entry.worktree = Worktree::Absent,
            _ => leave(entry),
        },
        StageStep::Discard { .. } => match outcome {
            EffectOutcome::Done => entry.worktree = Worktree::Absent,
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
        // The cause is not known, so a person has to inspect it.
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
        // If the trunk was moved meanwhile, Sprag restores it and tries again.
        (QueueStep::Land { .. }, _) => Vec::new(),
    };
    run.apply_queue_exits(left);
}

fn salvaged(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let Some(entry) = run.entries.get_mut(stage) else { return };
    match (&entry.state, outcome) {
        (StageState::HandingOff { .. }, EffectOutcome::Salvaged { .. })
            if entry.counters.handoffs >= HANDOFFS =>
        {
            let why = Text::new(sentences::contexts_filled(HANDOFFS));
            blocked(run, stage, &EffectOutcome::Failed { failure: StageFailure::Context, why });
        }
        (StageState::HandingOff { .. }, EffectOutcome::Salvaged { carry }) => {
            entry.counters.handoffs += 1;
            run.apply_event(stage, &StageEvent::HandedOff { carry: carry.clone() });
        }
        (StageState::HandingOff { .. }, outcome) => blocked(run, stage, outcome),
        // The salvage belonged to a handoff, and the stage is at work again or will be.
        (state, _) if !state.is_over() => {}
        (_, EffectOutcome::Salvaged { .. }) => {
            if let Some(base) = entry.worktree.base().cloned() {
                entry.worktree = Worktree::Salvaged { base };
            }
        }
        // Work that cannot be salvaged is not removed.
        _ => leave(entry),
    }
}

/// Blocks a stage until a person has inspected it.
fn blocked(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let failure = match outcome {
        EffectOutcome::Failed { failure, .. } => *failure,
        _ => StageFailure::Setup,
    };
    run.apply_event(stage, &StageEvent::Failed { failure, again: None });
    if let (EffectOutcome::Failed { why, .. }, Some(entry)) = (outcome, run.entries.get_mut(stage))
        && let StageState::Blocked { why: known, .. } = &mut entry.state
    {
        *known = Some(why.clone());
    }
}

fn leave(entry: &mut StageEntry) {
    if let Some(base) = entry.worktree.base().cloned() {
        entry.worktree = Worktree::Left { base };
    }
}

fn spawned(
    run: &mut Run,
    (key, stage): (&EffectKey, &StageId),
    outcome: &EffectOutcome,
    timeliness: Timeliness,
) {
    let is_late = timeliness != Timeliness::InTime;
    let Some(entry) = run.entries.get_mut(stage) else { return };
    entry.counters.spawns += 1;
    if entry.state.is_preparing() {
        entry.state.set_launch(LaunchState::Preparing);
    }
    // The brief contains all answers.
    entry.answers.delivered = entry.answers.all.len();
    if *outcome != EffectOutcome::Spawned {
        run.sessions.remove(key);
        if !is_late {
            blocked(run, stage, outcome);
        }
        return;
    }
    let session = key.clone();
    entry.session = Some(session.clone());
    // Another command arrived during the start: the agent runs, but its stage does not need it.
    if is_late {
        return;
    }
    let base = entry.worktree.base().cloned().unwrap_or_else(|| CommitId(Text::new("")));
    let what = match &entry.state {
        StageState::Failing { .. } => StageEvent::SentBack { session },
        StageState::Conflicted(_) => StageEvent::ResolverStarted { session },
        _ => StageEvent::Started { session, base },
    };
    run.apply_event(stage, &what);
}

/// Applies the result of the check of a claim.
fn claimed(run: &mut Run, stage: &StageId, outcome: &EffectOutcome) {
    let merge = run.merging(stage);
    let Some(entry) = run.entries.get_mut(stage) else { return };
    let hold = entry.hold;
    let (attempt, base, is_resolved) = match &entry.state {
        StageState::Running(work) if work.phase.is_verifying() => {
            (work.attempt.number, work.base.clone(), false)
        }
        StageState::Conflicted(StageConflict { verified, resolver: Some(_), .. }) => {
            (verified.attempt, verified.base.clone(), true)
        }
        _ => return,
    };
    let verified = |head: &CommitId, tree: &CommitId| Verified {
        attempt,
        head: head.clone(),
        tree: tree.clone(),
        base: base.clone(),
    };
    let event = match outcome {
        EffectOutcome::Reviewable { head, tree, by } => {
            let reviewable = Reviewable { head: head.clone(), tree: tree.clone(), by: *by };
            entry
                .state
                .verification_mut()
                .into_iter()
                .for_each(|it| it.reviewable = Some(reviewable.clone()));
            return;
        }
        EffectOutcome::Green { head, tree } => {
            run.limits.crashes.clear();
            let verified = verified(head, tree);
            match (hold, merge) {
                (Hold::Yes, _) => {
                    let question = ReviewQuestion::OnHold { verified: Some(verified) };
                    StageEvent::ReviewAsked { question }
                }
                (Hold::No, MergeMode::Auto) => {
                    let entry = run.queue.offer(QueueOwner::Stage(stage.clone()), verified.clone());
                    if is_resolved {
                        StageEvent::Queued { verified, entry }
                    } else {
                        StageEvent::ChecksPassed { verified, entry }
                    }
                }
                // A person has not seen the resolution of a conflict.
                (Hold::No, MergeMode::Person) => {
                    StageEvent::ReviewAsked { question: ReviewQuestion::Merge { verified } }
                }
            }
        }
        EffectOutcome::Unreviewed { head, tree, why } => {
            let question = ReviewQuestion::Unreviewed { verified: verified(head, tree), why: why.clone() };
            StageEvent::ReviewAsked { question }
        }
        outcome if is_resolved => {
            if let (StageState::Conflicted(conflict), EffectOutcome::Red { report }) =
                (&mut entry.state, outcome)
            {
                conflict.last_report = Some(report.clone());
            }
            StageEvent::ResolverFailed
        }
        EffectOutcome::Red { report } => StageEvent::ChecksFailed { report: report.clone() },
        EffectOutcome::Unchanged => {
            entry.counters.unchanged += 1;
            match entry.counters.unchanged {
                1 => StageEvent::ChecksFailed { report: Text::new(sentences::UNCHANGED) },
                _ => StageEvent::ReviewAsked { question: ReviewQuestion::NoChange },
            }
        }
        other => StageEvent::ChecksFailed { report: why(other) },
    };
    run.apply_event(stage, &event);
}

fn why(outcome: &EffectOutcome) -> Text<4000> {
    match outcome {
        EffectOutcome::Failed { why, .. } => Text::new(why.as_str()),
        _ => Text::new(sentences::NOT_RUN),
    }
}
