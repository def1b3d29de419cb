//! Decides what follows the end of a session: a retry and its time, a wait, or a question to a person.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::StageEntry;
use super::record::{CommitProgress, SessionOutcome};
use crate::sentences;
use crate::spec::StageSpec;
use crate::spec::values::Seconds;
use crate::stage::{StageEvent, StageFailure};

/// Crashes of one stage without a commit in between, after which a person decides.
const CRASHES: u8 = 3;
/// Crashes of all stages within `STORM_SECONDS` after which no agent starts for a while.
pub(crate) const STORM: usize = 5;
const STORM_SECONDS: i64 = 600;
/// Longest wait, and the pause after too many crashes, as a multiple of the first wait.
const LONGEST: i64 = 10;
/// Longest plausible wait for a limit in seconds; a longer one is a mistake of units.
const LONGEST_WAIT: i64 = 7 * 86_400;

/// Returns the seconds before the next attempt.
pub(crate) fn backoff(first: Seconds, attempt: u32) -> i64 {
    let first = i64::from(first.get());
    (first << attempt.saturating_sub(1).min(8)).min(first * LONGEST)
}

/// Returns the event that the end of a session means for its stage.
pub(crate) fn follows(
    ended: &SessionOutcome,
    entry: &StageEntry,
    spec: &StageSpec,
    first: Seconds,
    at: Timestamp,
) -> StageEvent {
    match ended {
        SessionOutcome::Well => StageEvent::Claimed,
        SessionOutcome::ContextFull => StageEvent::ContextFull { why: Text::new(sentences::CONTEXT_FULL) },
        SessionOutcome::Stopped => StageEvent::Paused { until: None },
        SessionOutcome::RateLimited { until } => StageEvent::Paused { until: Some(bounded(*until, at)) },
        SessionOutcome::Failed { failure, .. } => {
            let attempt = entry.state.attempt();
            let is_spent = attempt > u32::from(spec.retries) || entry.counters.crashes >= CRASHES;
            let again = (is_retried(*failure) && !is_spent).then(|| at.plus_seconds(backoff(first, attempt)));
            StageEvent::Failed { failure: *failure, again }
        }
    }
}

/// Returns the crashes in a row after this end.
pub(crate) fn crashes(before: u8, ended: &SessionOutcome) -> u8 {
    match ended {
        SessionOutcome::Failed { failure, progress: CommitProgress::Nothing } if is_retried(*failure) => {
            before.saturating_add(1)
        }
        SessionOutcome::Failed { .. } | SessionOutcome::Well | SessionOutcome::ContextFull => 0,
        SessionOutcome::Stopped | SessionOutcome::RateLimited { .. } => before,
    }
}

pub(crate) fn is_retried(failure: StageFailure) -> bool {
    match failure {
        StageFailure::Crash | StageFailure::Timeout | StageFailure::Overload | StageFailure::Wedged => true,
        StageFailure::Auth
        | StageFailure::Sandbox
        | StageFailure::Setup
        | StageFailure::Budget
        | StageFailure::Conflict
        | StageFailure::Context
        | StageFailure::Told
        | StageFailure::Unknown => false,
    }
}

fn bounded(until: Timestamp, now: Timestamp) -> Timestamp {
    until.clamp(now, now.plus_seconds(LONGEST_WAIT))
}

/// Whether agents may start at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashBreaker {
    Closed,
    /// No agent starts before this time.
    Open {
        until: Timestamp,
    },
    /// One agent starts as a test.
    HalfOpen,
}

/// Computes the breaker from the last crashes, the newest last; a good end has cleared them.
pub(crate) fn breaker(crashes: &[Timestamp], first: Seconds, now: Timestamp) -> CrashBreaker {
    let Some(oldest) = crashes.len().checked_sub(STORM).map(|at| crashes[at]) else {
        return CrashBreaker::Closed;
    };
    let last = *crashes.last().expect("there are five");
    if last.seconds_since(oldest) > STORM_SECONDS {
        return CrashBreaker::Closed;
    }
    let until = last.plus_seconds(i64::from(first.get()) * LONGEST);
    if now < until { CrashBreaker::Open { until } } else { CrashBreaker::HalfOpen }
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
        assert_eq!(breaker(&storm[1..], at(300)), CrashBreaker::Closed);
        assert_eq!(breaker(&storm, at(300)), CrashBreaker::Open { until: at(540) });
        assert_eq!(breaker(&storm, at(540)), CrashBreaker::HalfOpen);
        let slow: Vec<Timestamp> = (0..5).map(|n| at(n * 200)).collect();
        assert_eq!(breaker(&slow, at(900)), CrashBreaker::Closed);
    }

    #[test]
    fn a_limit_beyond_a_week_is_a_mistake_of_units() {
        let now = Timestamp::from_millis(0);
        assert_eq!(bounded(now.plus_seconds(60), now), now.plus_seconds(60));
        assert_eq!(bounded(now.plus_seconds(1_000_000_000), now), now.plus_seconds(LONGEST_WAIT));
    }
}
