//! Whole runs of random plans, with agents that act at random and a daemon that dies between any two
//! records. Everything follows from a seed, which is printed on a failure: `SPRAG_SIM_SEED=7 cargo test -p
//! sprag-plan --test simulation` plays it again.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot continue fails, and its seed comes from the environment"
)]

mod alive;
mod chance;
mod daemon;
mod landing;
mod limits;
mod reviews;
mod scenario;
mod truth;

use daemon::Daemon;

/// Least number of steps to play.
const STEPS: u64 = 100_000;

#[test]
fn nothing_is_lost_or_done_twice_whoever_dies() {
    if let Ok(seed) = std::env::var("SPRAG_SIM_SEED") {
        let mut daemon = Daemon::new(seed.parse().unwrap());
        daemon.play();
        return;
    }
    let (mut steps, mut ends) = (0, scenario::Ends::default());
    let mut seed = 1;
    while steps < STEPS {
        let played = std::panic::catch_unwind(|| {
            let mut daemon = Daemon::new(seed);
            daemon.play();
            (daemon.steps, daemon.ends())
        });
        match played {
            Ok((more, end)) => {
                steps += more;
                ends.add(&end);
            }
            Err(_) => {
                panic!("seed {seed} fails: SPRAG_SIM_SEED={seed} cargo test -p sprag-plan --test simulation")
            }
        }
        seed += 1;
    }
    // A simulation without events proves nothing.
    assert!(ends.merged > 500 && ends.deaths > 500 && ends.persons > 20 && ends.skipped > 20, "{ends:?}");
    assert!(ends.conflicts > 50 && ends.limits > 100 && ends.crashes > 300 && ends.reds > 50, "{ends:?}");
    assert!(ends.foreign > 20 && ends.held > 5 && ends.resets > 100, "{ends:?}");
    assert!(ends.resolved > 3 && ends.overtaken > 0, "{ends:?}");
}
