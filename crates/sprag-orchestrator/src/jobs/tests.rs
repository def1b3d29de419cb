//! Tests of jobs for agents without a supervisor.

use sprag_host::sys::disk::RealDisk;
use sprag_plan::run::record::key;

use super::*;
use crate::view::tests::started;

#[test]
fn an_interrupt_that_reaches_no_supervisor_has_failed() {
    let dir = tempfile::tempdir().unwrap();
    let run = Run::fold([&started("r", 1)]).unwrap();
    let (root, target) = (dir.path().to_owned(), "refs/heads/main".to_owned());
    let ground = RunLayout { run: root.join("run"), root, plan: "p".to_owned(), target, epoch: 1 };
    let session = key(&run.id, "s0", 1, "spawn.0");
    let interrupt = EffectKey(Text::new(format!("{}/interrupt", session.0)));
    let job = Job::new(&run, &ground, interrupt, Effect::Session { session, step: SessionSignal::Interrupt });
    let outcome = job.run(&RealDisk);
    assert!(
        matches!(outcome, EffectOutcome::Failed { .. }),
        "no supervisor received the signal: {outcome:?}"
    );
}
