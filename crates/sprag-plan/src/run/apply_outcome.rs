//! What the outcome of an effect means for a run.

use sprag_base::text::Text;

use super::{Reviewable, Run};
use crate::ids::{Commit, Key, StageId};
use crate::merge::{Checked, Verified, Whose};
use crate::run::record::{About, Checking, Effect, Outcome};
use crate::run::stuck_ref::{self, Stuck};
use crate::spec::Merging;
use crate::stage::{Case, Failure, Happened, Phase, Stage};

/// Agents of a stage that may hand over because their contexts are full, before a person looks at it: a brief that
/// fills one by itself would do so for ever.
const HANDOFFS: u32 = 10;

pub fn take(run: &mut Run, key: &Key, effect: &Effect, outcome: &Outcome) {
    if stuck_ref::moves(effect) {
        run.stuck = Stuck::after(run.stuck.take(), key, outcome);
    }
    match effect {
        Effect::AddWorktree { stage, .. } => match outcome {
            Outcome::Worktree { base } => {
                let Some(standing) = run.standings.get_mut(stage) else { return };
                standing.worktree = Some(base.clone());
                standing.worktrees += 1;
                (standing.is_set_up, standing.is_looked_over, standing.is_salvaged) = (false, false, false);
            }
            outcome => blocked(run, stage, outcome),
        },
        Effect::Setup { stage } => match (outcome, run.standings.get_mut(stage)) {
            (Outcome::Done, Some(standing)) => standing.is_set_up = true,
            // What is about to go need not be good for anything.
            (_, Some(standing)) if standing.is_resetting => {}
            (outcome, _) => blocked(run, stage, outcome),
        },
        // It is looked at again before anybody starts.
        Effect::Check { of: Checking::Before, .. } if run.is_outdated(key) => {}
        Effect::Check { stage, of: Checking::Before } => match (outcome, run.standings.get_mut(stage)) {
            (Outcome::Done, Some(standing)) => standing.is_looked_over = true,
            (_, Some(standing)) if standing.is_resetting => {}
            (outcome, _) => blocked(run, stage, outcome),
        },
        Effect::Check { stage, of: Checking::Claim } => {
            let is_late = run.is_late(key, effect);
            run.standings.get_mut(stage).into_iter().for_each(|standing| standing.claims += 1);
            if !is_late {
                claimed(run, stage, outcome);
            }
        }
        Effect::Review { stage, .. } => {
            let is_late = run.is_late(key, effect);
            run.standings.get_mut(stage).into_iter().for_each(|standing| standing.reviewable = None);
            if !is_late {
                claimed(run, stage, outcome);
            }
        }
        Effect::WriteBrief { stage, .. } => {
            let is_late = run.is_late(key, effect);
            let Some(standing) = run.standings.get_mut(stage) else { return };
            standing.briefs += 1;
            match outcome {
                // It tells of a state that is no more.
                _ if is_late => {}
                Outcome::Done => standing.is_briefed = true,
                outcome => blocked(run, stage, outcome),
            }
        }
        Effect::Spawn { stage } => spawned(run, stage, (key, effect), outcome),
        Effect::Nudge { stage, session, about: About::Report, .. } => {
            if *outcome == Outcome::Done {
                run.happen(stage, &Happened::SentBack { session: session.clone() });
            }
        }
        Effect::Nudge { stage, text, about: About::Answer, .. } => {
            if let Some(standing) = run.standings.get_mut(stage)
                && standing.untold() == Some(text.as_str())
            {
                standing.told += 1;
            }
        }
        Effect::Nudge { about: About::Notes | About::Handoff, .. } => {}
        Effect::Salvage { stage } => {
            let Some(standing) = run.standings.get_mut(stage) else { return };
            match (&standing.stage, outcome) {
                (Stage::HandingOff { .. }, Outcome::Salvaged { .. }) if standing.handoffs >= HANDOFFS => {
                    let why = Text::new(format!("{HANDOFFS} agents before have filled theirs, too"));
                    blocked(run, stage, &Outcome::Failed { failure: Failure::Context, why });
                }
                (Stage::HandingOff { .. }, Outcome::Salvaged { carry }) => {
                    standing.handoffs += 1;
                    run.happen(stage, &Happened::HandedOff { carry: carry.clone() });
                }
                (Stage::HandingOff { .. }, outcome) => blocked(run, stage, outcome),
                (_, Outcome::Salvaged { .. }) => standing.is_salvaged = true,
                // What cannot be kept is not taken away.
                _ => standing.is_left = true,
            }
        }
        Effect::RemoveWorktree { stage } => {
            let Some(standing) = run.standings.get_mut(stage) else { return };
            match outcome {
                Outcome::Done => standing.worktree = None,
                _ => standing.is_left = true,
            }
        }
        Effect::Candidate { number, on, .. } => {
            *run.tries.entry(*number).or_default() += 1;
            let left = match outcome {
                Outcome::Made { commit, tree } => {
                    run.queue.made(*number, on, commit.clone(), tree.clone());
                    Vec::new()
                }
                Outcome::Conflicted { paths } => run.queue.conflicted(*number, on, paths.clone()),
                // Nobody can say what is wrong, so somebody has to look at it.
                _ => run.queue.conflicted(*number, on, Vec::new()),
            };
            run.left(left);
        }
        Effect::Gate { number, commit, .. } => {
            *run.tries.entry(*number).or_default() += 1;
            if run.is_outdated(key) {
                return;
            }
            let checked = match outcome {
                Outcome::Done => Checked::Green,
                Outcome::Red { report } => Checked::Red { report: report.clone() },
                other => Checked::Red { report: why(other) },
            };
            let left = run.queue.checked(*number, commit, checked);
            run.left(left);
        }
        Effect::Land { number, to, .. } => {
            *run.tries.entry(*number).or_default() += 1;
            // Where the trunk was somewhere else, it is put back and this is tried again.
            if *outcome == Outcome::Done {
                let left = run.queue.landed(*number, to);
                run.left(left);
            }
        }
        Effect::Restore { .. } => run.restorations += 1,
        Effect::Promote { to } => {
            run.promotions += 1;
            if *outcome == Outcome::Done {
                run.target = to.clone();
                run.target_held = None;
            }
        }
        Effect::Discard { stage, .. } => match (outcome, run.standings.get_mut(stage)) {
            (Outcome::Done, Some(standing)) => {
                (standing.worktree, standing.is_resetting) = (None, false);
                (standing.is_set_up, standing.is_looked_over, standing.is_salvaged) = (false, false, false);
            }
            (outcome, _) => blocked(run, stage, outcome),
        },
        Effect::Interrupt { .. } | Effect::Kill { .. } | Effect::Notify { .. } => {}
    }
}

/// Nothing can be done for a stage before somebody has looked at it.
fn blocked(run: &mut Run, stage: &StageId, outcome: &Outcome) {
    let failure = match outcome {
        Outcome::Failed { failure, .. } => *failure,
        _ => Failure::Setup,
    };
    run.happen(stage, &Happened::Failed { failure, again: None });
    if let (Outcome::Failed { why, .. }, Some(standing)) = (outcome, run.standings.get_mut(stage))
        && matches!(standing.stage, Stage::Blocked { .. })
    {
        standing.why = Some(why.clone());
    }
}

fn spawned(run: &mut Run, stage: &StageId, (key, effect): (&Key, &Effect), outcome: &Outcome) {
    let is_late = run.is_late(key, effect);
    let Some(standing) = run.standings.get_mut(stage) else { return };
    standing.spawns += 1;
    standing.is_briefed = false;
    // Its brief has all of them.
    standing.told = standing.answers.len();
    if *outcome != Outcome::Spawned {
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
    let base = standing.worktree.clone().unwrap_or_else(|| Commit(Text::new("")));
    let what = match &standing.stage {
        Stage::Failing { .. } => Happened::SentBack { session },
        Stage::Conflicted { .. } => Happened::ResolverStarted { session },
        _ => Happened::Started { session, base },
    };
    run.happen(stage, &what);
}

/// A claim was looked at.
fn claimed(run: &mut Run, stage: &StageId, outcome: &Outcome) {
    let merge = run.merging(stage);
    let Some(standing) = run.standings.get_mut(stage) else { return };
    let (attempt, base) = match &standing.stage {
        Stage::Running(work) if work.phase == Phase::Verify => (work.attempt, work.base.clone()),
        Stage::Conflicted { verified, resolver: Some(_), .. } => (verified.attempt, verified.base.clone()),
        _ => return,
    };
    let is_resolved = matches!(standing.stage, Stage::Conflicted { .. });
    if let Outcome::Reviewable { head, tree, by } = outcome {
        standing.reviewable = Some(Reviewable { head: head.clone(), tree: tree.clone(), by: *by });
        return;
    }
    let what = match outcome {
        Outcome::Green { head, tree } => {
            run.crashes.clear();
            let verified = Verified { attempt, head: head.clone(), tree: tree.clone(), base };
            match (is_resolved, merge) {
                _ if standing.is_held => {
                    standing.verified = Some(verified);
                    Happened::Raised { case: Case::Held }
                }
                (true, Merging::Auto) => {
                    let entry = run.queue.offer(Whose::Stage(stage.clone()), verified.clone());
                    Happened::Queued { verified, entry }
                }
                (false, Merging::Auto) => {
                    let entry = run.queue.offer(Whose::Stage(stage.clone()), verified.clone());
                    Happened::Green { verified, entry }
                }
                // Whoever resolved a conflict wrote what nobody has seen.
                (_, Merging::Person) => {
                    standing.verified = Some(verified);
                    Happened::Raised { case: Case::Merge }
                }
            }
        }
        Outcome::Unreviewed { head, tree, why } => {
            standing.verified = Some(Verified { attempt, head: head.clone(), tree: tree.clone(), base });
            let why = why.clone();
            run.happen(stage, &Happened::Raised { case: Case::Unreviewed });
            run.standings.get_mut(stage).into_iter().for_each(|standing| standing.why = Some(why.clone()));
            return;
        }
        outcome if is_resolved => {
            if let Outcome::Red { report } = outcome {
                standing.unresolved = Some(report.clone());
            }
            Happened::ResolverFailed
        }
        Outcome::Red { report } => Happened::Red { report: report.clone() },
        Outcome::Unchanged => {
            standing.unchanged += 1;
            match standing.unchanged {
                1 => Happened::Red { report: Text::new("nothing was committed, or something is left over") },
                _ => Happened::Raised { case: Case::NoChange },
            }
        }
        other => Happened::Red { report: why(other) },
    };
    run.happen(stage, &what);
}

fn why(outcome: &Outcome) -> Text<4000> {
    match outcome {
        Outcome::Failed { why, .. } => Text::new(why.as_str()),
        _ => Text::new("it could not be run"),
    }
}
