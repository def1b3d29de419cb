//! What follows when a session is over: who starts again and when, who waits, who is a person's.

use super::record::{Ended, Progress};
use super::run::Standing;
use super::stage::{Failure, Happened};
use crate::text::Text;
use crate::time::Timestamp;

/// Crashes of one stage without a commit between them, after which it is a person's.
const CRASHES: u8 = 3;
/// So many crashes of all stages within so many seconds stop spawning for a while.
pub const STORM: usize = 5;
const STORM_SECONDS: i64 = 600;
const CALM_SECONDS: i64 = 300;
/// A limit that is said to hold for longer is a mistake of units.
const LONGEST_WAIT: i64 = 7 * 86_400;

/// Seconds before the next try.
pub fn backoff(attempt: u32) -> i64 {
    let doubled = 30i64.checked_shl(attempt.saturating_sub(1).min(8)).unwrap_or(300);
    doubled.min(300)
}

/// What the end of its session means for a stage at work.
pub fn follows(ended: &Ended, standing: &Standing, retries: u8, at: Timestamp) -> Happened {
    match ended {
        Ended::Well => Happened::Claimed,
        Ended::ContextFull => Happened::ContextFull { why: Text::new("its context is full") },
        Ended::Stopped => Happened::Paused { until: None },
        Ended::RateLimited { until } => Happened::Paused { until: Some(bounded(*until, at)) },
        Ended::Failed { failure, .. } => {
            let attempt = standing.stage.attempt();
            let is_spent = attempt > u32::from(retries) || standing.crashes >= CRASHES;
            let again = (is_retried(*failure) && !is_spent).then(|| at.plus_seconds(backoff(attempt)));
            Happened::Failed { failure: *failure, again }
        }
    }
}

/// Crashes in a row, after this end.
pub fn crashes(before: u8, ended: &Ended) -> u8 {
    match ended {
        Ended::Failed { failure, progress: Progress::Nothing } if is_retried(*failure) => {
            before.saturating_add(1)
        }
        Ended::Failed { .. } | Ended::Well | Ended::ContextFull => 0,
        Ended::Stopped | Ended::RateLimited { .. } => before,
    }
}

pub fn is_retried(failure: Failure) -> bool {
    match failure {
        Failure::Crash | Failure::Timeout | Failure::Overload | Failure::Wedged => true,
        Failure::Auth
        | Failure::Sandbox
        | Failure::Setup
        | Failure::Budget
        | Failure::Conflict
        | Failure::Told
        | Failure::Unknown => false,
    }
}

fn bounded(until: Timestamp, now: Timestamp) -> Timestamp {
    until.clamp(now, now.plus_seconds(LONGEST_WAIT))
}

/// Whether agents may be started at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    Closed,
    /// Nobody before then.
    Open {
        until: Timestamp,
    },
    /// One, to see whether it goes well.
    HalfOpen,
}

/// From the last crashes, the newest last; a good end has cleared them.
pub fn breaker(crashes: &[Timestamp], now: Timestamp) -> Breaker {
    let Some(first) = crashes.len().checked_sub(STORM).map(|at| crashes[at]) else { return Breaker::Closed };
    let last = *crashes.last().expect("there are five");
    if last.seconds_since(first) > STORM_SECONDS {
        return Breaker::Closed;
    }
    let until = last.plus_seconds(CALM_SECONDS);
    if now < until { Breaker::Open { until } } else { Breaker::HalfOpen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_further_apart_each_time() {
        assert_eq!([1, 2, 3, 4, 5, 60].map(backoff), [30, 60, 120, 240, 300, 300]);
    }

    #[test]
    fn many_crashes_in_a_short_time_open_the_breaker() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let storm: Vec<Timestamp> = (0..5).map(|n| at(n * 60)).collect();
        assert_eq!(breaker(&storm[1..], at(300)), Breaker::Closed);
        assert_eq!(breaker(&storm, at(300)), Breaker::Open { until: at(540) });
        assert_eq!(breaker(&storm, at(540)), Breaker::HalfOpen);
        let slow: Vec<Timestamp> = (0..5).map(|n| at(n * 200)).collect();
        assert_eq!(breaker(&slow, at(900)), Breaker::Closed);
    }

    #[test]
    fn a_limit_beyond_a_week_is_a_mistake_of_units() {
        let now = Timestamp::from_millis(0);
        assert_eq!(bounded(now.plus_seconds(60), now), now.plus_seconds(60));
        assert_eq!(bounded(now.plus_seconds(1_000_000_000), now), now.plus_seconds(LONGEST_WAIT));
    }
}
