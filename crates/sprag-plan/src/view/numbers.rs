//! Numbers of a view in the form for people. An unknown number is `?`, never zero.

use crate::agent::activity::SessionCost;

pub const UNKNOWN: &str = "?";

pub fn percent(percent: Option<u8>) -> String {
    percent.map_or(UNKNOWN.to_owned(), |percent| format!("{percent}%"))
}

/// Writes money if the client reports it, else tokens.
pub fn cost(used: Option<SessionCost>) -> String {
    match used {
        None => UNKNOWN.to_owned(),
        Some(SessionCost { micros: Some(micros), .. }) => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
        Some(SessionCost { tokens, micros: None }) => format!("{} tokens", count(tokens)),
    }
}

fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// Writes a duration; `-` if nothing has begun.
pub fn elapsed(seconds: Option<u64>) -> String {
    let Some(seconds) = seconds else { return "-".to_owned() };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_unknown_ones_are_not_zero() {
        let used = |tokens, micros| Some(SessionCost { tokens, micros });
        assert_eq!([percent(None), percent(Some(0)), percent(Some(75))], ["?", "0%", "75%"]);
        assert_eq!(
            [cost(None), cost(used(1, Some(0))), cost(used(1, Some(1_234_999))), cost(used(9_999, None))],
            ["?", "$0.00", "$1.23", "9999 tokens"]
        );
        assert_eq!(
            [cost(used(48_000, None)), cost(used(u64::MAX, None))],
            ["48k tokens", "18446744073709M tokens"]
        );
        assert_eq!(
            [0, 59, 61, 3_599, 3_660, 90_000].map(|seconds| elapsed(Some(seconds))),
            ["0s", "59s", "1m01s", "59m59s", "1h01m", "1d01h"]
        );
        assert_eq!(elapsed(None), "-");
    }
}
