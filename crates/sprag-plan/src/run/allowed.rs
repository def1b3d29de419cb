//! Lists the commands that a stage accepts in its state. People are offered these, and all others are
//! refused.

use super::command::DISPUTES;
use crate::run::effect::Effect;
use crate::run::{Run, StageEntry};
use crate::stage::command::StageCommandKind as Kind;
use crate::stage::state::StageState;
use crate::stage::{FIXES, Phase, ReviewQuestion, StageConflict, StageFailure};

/// Returns the accepted commands, the likeliest first.
pub fn allowed(run: &Run, entry: &StageEntry) -> Vec<Kind> {
    let is_gone = |session| run.ended(session).is_some();
    let mut commands: Vec<Kind> = match &entry.state {
        StageState::Waiting { .. } => vec![Kind::Skip],
        StageState::Ready(ready) => {
            let is_preparing = entry.state.is_preparing();
            let is_late = (entry.is_held() || ready.not_before.is_some()) && !is_preparing;
            let has_begun = entry.worktree.base().is_some() || is_preparing;
            let mut commands = Vec::new();
            commands.extend(is_late.then_some(Kind::Resume));
            commands.extend([Kind::Skip, Kind::Block]);
            commands.extend(has_begun.then_some(Kind::Reset));
            commands
        }
        StageState::Running(work) => {
            let mut commands = vec![Kind::Complete, Kind::Dispute, Kind::Block, Kind::Reset];
            if work.phase == Phase::Working {
                commands.push(Kind::Ask);
                // While the agent works, the state that would be checked is not known.
                commands.extend(
                    is_gone(&work.session).then_some([Kind::Verify, Kind::Bypass]).into_iter().flatten(),
                );
            }
            commands
        }
        StageState::Asking { .. } => {
            vec![Kind::Resume, Kind::Block, Kind::Reset]
        }
        StageState::HandingOff { .. } => vec![Kind::Block, Kind::Reset],
        StageState::Failing { work, .. } => {
            let mut commands = vec![Kind::Verify, Kind::Bypass, Kind::Dispute, Kind::Block, Kind::Reset];
            commands.extend((work.fixes < FIXES).then_some(Kind::Complete));
            commands
        }
        // A landing that has begun cannot be undone.
        StageState::Merging { .. } => {
            let is_landing = run.open().any(Effect::is_landing);
            if is_landing { Vec::new() } else { vec![Kind::Reset] }
        }
        StageState::Conflicted(StageConflict { resolver, .. }) => {
            let mut commands = vec![Kind::Dispute, Kind::Reset];
            commands.extend(resolver.as_ref().map(|_| Kind::Complete));
            commands
        }
        StageState::MergeFailed { .. } => vec![Kind::Dispute, Kind::Reset],
        StageState::Review { question, back } => reviewed(entry, question, back),
        StageState::Blocked { failure, .. } => {
            let mut commands = vec![Kind::Retry, Kind::Reset, Kind::Skip];
            // The stage was blocked with a reason, and an answer can resolve that.
            if *failure == StageFailure::Told {
                commands.insert(0, Kind::Resume);
            }
            commands
        }
        StageState::Skipped { .. } | StageState::Done { .. } => return Vec::new(),
    };
    commands.extend(held(entry));
    commands.extend([Kind::Task, Kind::Output]);
    commands
}

/// Returns the command that sets or ends a hold, if one applies.
fn held(entry: &StageEntry) -> Option<Kind> {
    if entry.is_held() {
        return (!matches!(entry.state, StageState::Merging { .. })).then_some(Kind::Release);
    }
    match &entry.state {
        StageState::Waiting { .. }
        | StageState::Ready(_)
        | StageState::Running(_)
        | StageState::Asking { .. }
        | StageState::HandingOff { .. }
        | StageState::Failing { .. }
        | StageState::Conflicted(_)
        | StageState::MergeFailed { .. } => Some(Kind::Hold),
        // Nothing follows automatically, or it is too late.
        StageState::Merging { .. }
        | StageState::Review { .. }
        | StageState::Blocked { .. }
        | StageState::Skipped { .. }
        | StageState::Done { .. } => None,
    }
}

fn reviewed(entry: &StageEntry, question: &ReviewQuestion, back: &StageState) -> Vec<Kind> {
    let mut commands = Vec::new();
    commands.extend(question.verified().map(|_| Kind::Merge));
    if let ReviewQuestion::Disputed(_) = question {
        commands.extend((entry.waivers.checks.len() < DISPUTES).then_some(Kind::Accept));
        commands.push(Kind::Reject);
    }
    commands.extend([Kind::Resume, Kind::Retry]);
    let has_work = matches!(
        back,
        StageState::Running(_)
            | StageState::Failing { .. }
            | StageState::Conflicted(StageConflict { resolver: Some(_), .. })
    );
    if has_work {
        commands.extend([Kind::Verify, Kind::Bypass]);
    }
    commands.extend([Kind::Reset, Kind::Skip, Kind::Block]);
    commands
}
