//! What follows when a session is over: who starts again and when, who waits, who is a person's.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::Standing;
use super::record::{Ended, Progress};
use crate::spec::StageSpec;
use crate::spec::values::Seconds;
use crate::stage::{Failure, Happened};

/// Crashes of one stage without a commit between them, after which it is a person's.
const CRASHES: u8 = 3;
/// So many crashes of all stages within so many seconds stop spawning for a while.
pub const STORM: usize = 5;
const STORM_SECONDS: i64 = 600;
/// How many times the first wait is the longest one, and the calm after a storm.
const LONGEST: i64 = 10;
/// A limit that is said to hold for longer is a mistake of units.
const LONGEST_WAIT: i64 = 7 * 86_400;

/// Seconds before the next try.
pub fn backoff(first: Seconds, attempt: u32) -> i64 {
    let first = i64::from(first.get());
    (first << attempt.saturating_sub(1).min(8)).min(first * LONGEST)
}

/// What the end of its session means for a stage at work.
pub fn follows(
    ended: &Ended,
    standing: &Standing,
    spec: &StageSpec,
    first: Seconds,
    at: Timestamp,
) -> Happened {
    match ended {
        Ended::Well => Happened::Claimed,
        Ended::ContextFull => Happened::ContextFull { why: Text::new("its context is full") },
        Ended::Stopped => Happened::Paused { until: None },
        Ended::RateLimited { until } => Happened::Paused { until: Some(bounded(*until, at)) },
        Ended::Failed { failure, .. } => {
            let attempt = standing.stage.attempt();
            let is_spent = attempt > u32::from(spec.retries) || standing.crashes >= CRASHES;
            let again = (is_retried(*failure) && !is_spent).then(|| at.plus_seconds(backoff(first, attempt)));
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
        | Failure::Context
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
pub fn breaker(crashes: &[Timestamp], first: Seconds, now: Timestamp) -> Breaker {
    let Some(oldest) = crashes.len().checked_sub(STORM).map(|at| crashes[at]) else { return Breaker::Closed };
    let last = *crashes.last().expect("there are five");
    if last.seconds_since(oldest) > STORM_SECONDS {
        return Breaker::Closed;
    }
    let until = last.plus_seconds(i64::from(first.get()) * LONGEST);
    if now < until { Breaker::Open { until } } else { Breaker::HalfOpen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_further_apart_each_time() {
        let waits = |first| [1, 2, 3, 4, 5, 60].map(|attempt| backoff(Seconds::new(first), attempt));
        assert_eq!(waits(30), [30, 60, 120, 240, 300, 300]);
        assert_eq!(waits(1), [1, 2, 4, 8, 10, 10]);
        assert!(waits(u32::MAX).iter().all(|wait| *wait > 0));
    }

    #[test]
    fn many_crashes_in_a_short_time_open_the_breaker() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let storm: Vec<Timestamp> = (0..5).map(|n| at(n * 60)).collect();
        let breaker = |crashes: &[Timestamp], now| breaker(crashes, Seconds::new(30), now);
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
