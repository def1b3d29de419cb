//! Performs the actions that must happen before a decision, predicts their results for a dry run, and undoes
//! unnecessary ones. No other file performs these actions.

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_govern::decide::Step;
use sprag_govern::event::Input;
use sprag_govern::facts::ProtectedDamage;
use sprag_govern::gates::before::{Before, Prepared};

use crate::answers::AnswerCx;
use crate::pipeline::PipelineMode;
use crate::worktree::baseline;
use crate::worktree::leases::{self, LeaseMode};
use crate::worktree::protect::snapshot::{self, CompareCx, RestoreMode};
use crate::world::World;

/// Placeholder for the baseline that a dry run does not take.
const PREDICTED: &str = "predicted";

/// Performs or predicts all actions in their order. Leases come last, because they hold only for a short
/// time.
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
        Before::CompareProtected => prepared.restored = compare(cx, RestoreMode::Restore),
        Before::TakeBaseline => {
            let world = cx.session_world();
            // Without a baseline the size of the changes is unknown. That does not justify a refusal.
            let taken = baseline::capture(&world.places, world.disk, &cx.input.session);
            prepared.baseline = taken.ok().map(|taken| Text::new(taken.name));
        }
        Before::LeaseFiles { files, history } => {
            let (world, session) = (cx.world(), cx.session);
            prepared.leases = leases::lease_files(world, cx.input, session, files, history, LeaseMode::Take);
        }
    }
}

/// Compares the protected files of the session's worktree, and of another one if the agent is there.
fn compare(cx: &AnswerCx<'_>, mode: RestoreMode) -> Vec<ProtectedDamage> {
    let event = CompareCx { input: cx.input, started: cx.session.started };
    let (own, here) = (cx.session_world(), cx.world());
    let mut damage = snapshot::compare(own, &event, mode);
    if own.places.worktree != here.places.worktree {
        damage.extend(snapshot::compare(here, &event, mode));
    }
    damage
}

fn predict(action: &Before, cx: &AnswerCx<'_>, prepared: &mut Prepared) {
    match action {
        Before::CompareProtected => prepared.restored = compare(cx, RestoreMode::Predict),
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

/// Undoes unneeded actions: the baseline of a call that was not the first, and the leases of a refused call.
pub(crate) fn undo(prepared: &Prepared, step: &Step, world: &World<'_>, input: &Input) {
    if let Some(taken) =
        prepared.baseline.as_ref().filter(|taken| step.session.about.start.as_ref() != Some(taken))
    {
        // A parallel call was first.
        baseline::drop_taken(&world.places, world.disk, taken.as_str())
            .discard("a remaining baseline is removed with its journal");
    }
    if let Some(leases) = &prepared.leases {
        leases::release(world, input, leases, &step.verdict.ruling);
    }
}
