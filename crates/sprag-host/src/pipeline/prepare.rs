//! Performs the actions that must happen before a decision, predicts their results for a dry run, and undoes
//! those that turn out to be unnecessary. No other file performs them.

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_govern::decide::Step;
use sprag_govern::event::Input;
use sprag_govern::gates::before::{Before, Prepared};
use sprag_govern::gates::protection::Restore;

use crate::answers::AnswerCx;
use crate::pipeline::PipelineMode;
use crate::worktree::baseline;
use crate::worktree::leases::{self, LeaseMode};
use crate::worktree::protect::snapshot::{self, RestoreMode};
use crate::world::World;

/// Stands for a baseline that a dry run does not take.
const PREDICTED: &str = "predicted";

/// Performs or predicts all actions, in their order: a lease does not hold for long, so it comes last.
pub(crate) fn prepare(actions: &[Before], cx: &AnswerCx<'_>, mode: PipelineMode) -> Prepared {
    let mut prepared = Prepared::default();
    for action in actions {
        match mode {
            PipelineMode::Real => perform(action, cx, &mut prepared),
            PipelineMode::DryRun => predict(action, cx, &mut prepared),
        }
    }
    prepared
}

fn perform(action: &Before, cx: &AnswerCx<'_>, prepared: &mut Prepared) {
    match action {
        Before::SnapshotProtected => {
            if cx.world().config.settings.govern.gates.protection.restore == Restore::On {
                snapshot::before(cx.world(), cx.input);
            }
        }
        Before::RestoreProtected => {
            prepared.restored = snapshot::after(cx.world(), cx.input, RestoreMode::Restore);
        }
        Before::TakeBaseline => {
            let world = cx.session_world();
            // Without it the size of what changes is not known, which is no reason to refuse a call.
            let taken = baseline::capture(&world.places, world.disk, &cx.input.session);
            prepared.baseline = taken.ok().map(|taken| Text::new(taken.name));
        }
        Before::LeaseFiles { files, history } => {
            let (world, session) = (cx.world(), cx.session);
            prepared.leases = leases::lease_files(world, cx.input, session, files, history, LeaseMode::Take);
        }
    }
}

fn predict(action: &Before, cx: &AnswerCx<'_>, prepared: &mut Prepared) {
    match action {
        Before::SnapshotProtected => {}
        Before::RestoreProtected => {
            prepared.restored = snapshot::after(cx.world(), cx.input, RestoreMode::Predict);
        }
        Before::TakeBaseline => {
            let is_git = cx.session_world().places.worktree.is_some();
            prepared.baseline = is_git.then(|| Text::from(PREDICTED));
        }
        Before::LeaseFiles { files, history } => {
            let (world, session) = (cx.world(), cx.session);
            prepared.leases =
                leases::lease_files(world, cx.input, session, files, history, LeaseMode::Predict);
        }
    }
}

/// Undoes what the decision has no use for: the baseline of a call that was not the first, and the leases of a
/// call that is refused.
pub(crate) fn undo(prepared: &Prepared, step: &Step, world: &World<'_>, input: &Input) {
    if let Some(taken) =
        prepared.baseline.as_ref().filter(|taken| step.session.about.start.as_ref() != Some(taken))
    {
        // A parallel call was first.
        baseline::drop_taken(&world.places, world.disk, taken.as_str())
            .discard("a baseline that stays is swept with its journal");
    }
    if let Some(leases) = &prepared.leases {
        leases::release(world, input, leases, &step.verdict.ruling);
    }
}
