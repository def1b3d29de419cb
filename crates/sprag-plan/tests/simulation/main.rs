//! Whole runs of random plans, with agents that do whatever agents do and a daemon that dies between any two records.
//! Everything follows from a seed, which is printed when something does not hold:
//! `SPRAG_SIM_SEED=7 cargo test -p sprag-plan --test simulation` plays that one again.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and its seed comes from the environment"
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

/// Steps that are played at least.
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
    // A simulation in which nothing happens proves nothing.
    assert!(ends.merged > 500 && ends.deaths > 500 && ends.persons > 20 && ends.skipped > 20, "{ends:?}");
    assert!(ends.conflicts > 50 && ends.limits > 100 && ends.crashes > 300 && ends.reds > 50, "{ends:?}");
    assert!(ends.foreign > 20 && ends.held > 5 && ends.resets > 100, "{ends:?}");
    assert!(ends.resolved > 3 && ends.overtaken > 0, "{ends:?}");
}
