//! The summary of many measurements: median and 99th percentile.

use std::time::Duration;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median_us: f64,
    pub p99_us: f64,
}

impl Spread {
    /// Returns the summary of at least one measurement.
    pub fn of(times: &[Duration]) -> Spread {
        let mut sorted = times.to_vec();
        sorted.sort();
        Spread { median_us: micros(percentile(&sorted, 50)), p99_us: micros(percentile(&sorted, 99)) }
    }
}

/// Returns a percentile by the nearest rank, which is always a measured value. `sorted` is not empty.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank.max(1) - 1]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(count: u64) -> Vec<Duration> {
        (1..=count).map(Duration::from_micros).collect()
    }

    #[test]
    fn nearest_rank() {
        let cases =
            [(1, 50, 1), (1, 99, 1), (2, 50, 1), (3, 50, 2), (100, 50, 50), (100, 99, 99), (500, 99, 495)];
        for (count, percent, expected) in cases {
            let found = percentile(&sorted(count), percent);
            assert_eq!(found, Duration::from_micros(expected), "{percent}% of {count}");
        }
    }

    #[test]
    fn order_does_not_matter() {
        let mut times = sorted(101);
        times.reverse();
        assert_eq!(Spread::of(&times), Spread { median_us: 51.0, p99_us: 100.0 });
    }
}
