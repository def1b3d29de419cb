//! Observes the world: the state of the target branch, and the traces of effects whose process ended without
//! an outcome.

pub(crate) mod context_usage;
pub(crate) mod durations;
pub mod file_watch;
pub(crate) mod heartbeat;
pub(crate) mod ref_cache;
pub mod session_exits;

use std::collections::BTreeSet;
use std::path::Path;

use sprag_base::text::Text;
use sprag_host::git::refs::{self, GitError};
use sprag_host::git::{worktree_guard, worktrees};
use sprag_host::sys::disk::RealDisk;
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::reconcile::observed::TargetBranch;
use sprag_plan::reconcile::recovery::{EffectTrace, TrunkHas};
use sprag_plan::run::Run;
use sprag_plan::run::effect::{Effect, QueueStep, RefStep, SessionSignal, StageStep};
use sprag_plan::stage::state::StageState;

use super::coordination::SessionQueue as _;
use super::layout::RunLayout;
use crate::session_dir::SessionProbe;

/// Returns the state of the target relative to the trunk. `known` is its last known commit.
pub fn target(ground: &RunLayout, known: &CommitId, trunk: &CommitId) -> Result<TargetBranch, GitError> {
    match refs::resolve(&ground.root, &ground.target)? {
        Some(now) => stands(ground, known, trunk, &now, || is_checked_out(ground)),
        None => Ok(TargetBranch::Gone),
    }
}

/// Returns the state of a target that is at commit `now`.
pub fn stands(
    ground: &RunLayout,
    known: &CommitId,
    trunk: &CommitId,
    now: &str,
    is_checked_out: impl FnOnce() -> Result<bool, GitError>,
) -> Result<TargetBranch, GitError> {
    let has = |commit: &str, within: &str| {
        Ok::<_, GitError>(commit == within || refs::contains(&ground.root, commit, within)?)
    };
    let commit = CommitId(Text::new(now));
    if !has(known.0.as_str(), now)? {
        return Ok(TargetBranch::Rewritten(commit));
    }
    if !has(now, trunk.0.as_str())? {
        return Ok(TargetBranch::Ahead(commit));
    }
    behind(now, is_checked_out)
}

/// Returns the state of a target that the trunk contains.
pub fn behind(
    now: &str,
    is_checked_out: impl FnOnce() -> Result<bool, GitError>,
) -> Result<TargetBranch, GitError> {
    let commit = CommitId(Text::new(now));
    Ok(if is_checked_out()? { TargetBranch::CheckedOut(commit) } else { TargetBranch::Behind(commit) })
}

/// Reports whether a worktree of the user has the target checked out.
pub fn is_checked_out(ground: &RunLayout) -> Result<bool, GitError> {
    // An agent can check out any branch in its worktree.
    let ours = ground.root.join(".worktrees");
    let is_it = |it: &worktrees::WorktreeInfo| {
        it.branch.as_deref() == Some(ground.target.as_str()) && !it.path.starts_with(&ours)
    };
    Ok(worktrees::list(&ground.root)?.iter().any(is_it))
}

/// Returns the head of a stage's branch if the trunk contains all of it; then the branch is no longer needed.
pub fn merged_branch(ground: &RunLayout, stage: &StageId) -> Result<Option<String>, GitError> {
    let head = refs::resolve(&ground.root, &format!("refs/heads/{}", stage.branch()))?;
    let Some(head) = head else { return Ok(None) };
    Ok(refs::contains(&ground.root, &head, &ground.trunk())?.then_some(head))
}

/// Returns the stages whose worktree is gone although no effect adds or removes it.
pub fn lost(ground: &RunLayout, run: &Run) -> BTreeSet<StageId> {
    let is_at_it = |id: &StageId| {
        run.open()
            .filter_map(|effect| effect.step_of(id))
            .any(|step| matches!(step, StageStep::AddWorktree { .. } | StageStep::RemoveWorktree))
    };
    let has_one = run.entries().filter(|(_, entry)| entry.worktree.base().is_some());
    let is_lost = |id: &&StageId| !ground.worktree(id).join(".git").exists() && !is_at_it(id);
    has_one.map(|(id, _)| id).filter(is_lost).cloned().collect()
}

/// Returns the state of a stage's worktree in which no agent has worked yet.
pub fn worktree(ground: &RunLayout, stage: &StageId, base: &CommitId) -> Result<EffectTrace, GitError> {
    let root = ground.root.as_path();
    let path = ground.worktree(stage);
    if !worktrees::is_known(root, &path) {
        return Ok(EffectTrace::Nothing);
    }
    let listed = worktrees::list(root)?.into_iter().find(|it| it.path == path);
    let branch = format!("refs/heads/{}", stage.branch());
    // A complete worktree has all files of its branch.
    let is_whole = |it: &&worktrees::WorktreeInfo| {
        it.branch.as_ref() == Some(&branch)
            && worktree_guard::prove(root, &path).is_ok()
            && worktrees::is_clean(&path).unwrap_or(false)
    };
    match listed.as_ref().filter(is_whole).and_then(|it| it.head.as_deref()) {
        Some(head) => {
            let base = refs::common(root, base.0.as_str(), head)?;
            Ok(EffectTrace::Worktree { base: CommitId(Text::new(base)) })
        }
        None if listed.is_some() => Ok(EffectTrace::HalfMade),
        None => Ok(EffectTrace::Nothing),
    }
}

/// Returns the traces of an effect that was begun and has no recorded outcome.
pub fn found(
    ground: &RunLayout,
    run: &Run,
    key: &EffectKey,
    effect: &Effect,
) -> Result<EffectTrace, GitError> {
    let root = ground.root.as_path();
    Ok(match effect {
        Effect::Stage { stage, step } => found_step(ground, run, (key, stage), step)?,
        Effect::Session { session, step: SessionSignal::Kill { .. } } => match ground.site(session).probe() {
            Ok(SessionProbe::Running) | Err(_) => EffectTrace::Nothing,
            Ok(SessionProbe::Nothing | SessionProbe::Ended(_) | SessionProbe::Died) => EffectTrace::Gone,
        },
        Effect::Queue { step: QueueStep::Land { to, .. }, .. } => has(root, &ground.trunk(), to)?,
        Effect::Refs(RefStep::Promote { to }) => has(root, &ground.target, to)?,
        Effect::Session { .. } | Effect::Queue { .. } | Effect::Refs(_) | Effect::Notify { .. } => {
            EffectTrace::Nothing
        }
    })
}

fn found_step(
    ground: &RunLayout,
    run: &Run,
    (key, stage): (&EffectKey, &StageId),
    step: &StageStep,
) -> Result<EffectTrace, GitError> {
    let root = ground.root.as_path();
    let state = run.entry(stage).map(|entry| &entry.state);
    Ok(match step {
        StageStep::AddWorktree { base } => worktree(ground, stage, base)?,
        StageStep::Spawn => match ground.queue(&RealDisk).probe(&ground.site(key).id()) {
            Ok(SessionProbe::Nothing) | Err(_) => EffectTrace::Nothing,
            Ok(SessionProbe::Running | SessionProbe::Ended(_) | SessionProbe::Died) => EffectTrace::Session,
        },
        // Repeated, it reuses what is already written.
        StageStep::Salvage if matches!(state, Some(StageState::HandingOff { .. })) => EffectTrace::Nothing,
        StageStep::Salvage => {
            let reference = ground.salvage(stage, state.map_or(0, StageState::attempt));
            match refs::resolve(root, &reference)? {
                Some(_) => EffectTrace::Salvaged { carry: Text::new(reference) },
                None => EffectTrace::Nothing,
            }
        }
        StageStep::RemoveWorktree => {
            let path = ground.worktree(stage);
            let is_known = worktrees::is_known(root, &path);
            let is_left = is_known || path.exists() || merged_branch(ground, stage)?.is_some();
            if is_left { EffectTrace::Nothing } else { EffectTrace::Gone }
        }
        // Other steps leave no trace and are repeated.
        _ => EffectTrace::Nothing,
    })
}

fn has(root: &Path, reference: &str, commit: &CommitId) -> Result<EffectTrace, GitError> {
    let at = refs::resolve(root, reference)?.unwrap_or_default();
    let has = if !at.is_empty() && refs::contains(root, commit.0.as_str(), &at)? {
        TrunkHas::Candidate
    } else {
        TrunkHas::Not
    };
    Ok(EffectTrace::Trunk { at: CommitId(Text::new(at)), has })
}
