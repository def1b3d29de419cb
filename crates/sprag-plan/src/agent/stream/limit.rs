//! Reads the end of a limit. Clients have reported it in seconds, in milliseconds and as the time left; an
//! implausible value is ignored.

use serde_json::Value;

use sprag_base::time::Timestamp;

/// Longest time in seconds that a limit of an account can last; a longer one is a mistake of units.
pub(super) const LONGEST: i64 = 7 * 86_400;

/// Reads a point in time; `None` if the value is not plausible.
pub(crate) fn reset(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
    let seconds = Timestamp::from_millis((number * 1000.0) as i64);
    let millis = Timestamp::from_millis(number as i64);
    [seconds, millis].into_iter().find(|until| is_meant(*until, now))
}

/// Reads the end of a limit from the seconds that are left.
pub(crate) fn reset_in(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let seconds = value.as_f64().filter(|number| (0.0..=LONGEST as f64).contains(number))?;
    Some(now.plus_seconds(seconds as i64))
}

/// Reports whether an end is plausible. It may lie up to a day in the past, because a report may arrive
/// late.
fn is_meant(until: Timestamp, now: Timestamp) -> bool {
    (-86_400..=LONGEST).contains(&until.seconds_since(now))
}
