//! When a limit ends, as a client says it. Clients have said it in seconds, in milliseconds, and as what is left: what
//! cannot be meant is not believed.

use serde_json::Value;

use sprag_base::time::Timestamp;

/// Seconds for which any limit of an account may hold; a longer one is a mistake of units.
pub(super) const LONGEST: i64 = 7 * 86_400;

/// `None`: it says nothing that can be meant.
pub(crate) fn reset(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let number = value.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
    let seconds = Timestamp::from_millis((number * 1000.0) as i64);
    let millis = Timestamp::from_millis(number as i64);
    [seconds, millis].into_iter().find(|until| is_meant(*until, now))
}

/// The same, where it is how long it still takes.
pub(crate) fn reset_in(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let seconds = value.as_f64().filter(|number| (0.0..=LONGEST as f64).contains(number))?;
    Some(now.plus_seconds(seconds as i64))
}

/// One that is over already was told late; the day before is no reset.
fn is_meant(until: Timestamp, now: Timestamp) -> bool {
    (-86_400..=LONGEST).contains(&until.seconds_since(now))
}
