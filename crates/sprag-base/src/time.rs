//! Points in time as values, written as RFC 3339 in UTC with milliseconds. Only the host reads the clock.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const DAY: i64 = 86_400_000;

/// Milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Accepts any value and clamps it to the years 0 to 9999, because the text form has a fixed width.
    pub fn from_millis(millis: i64) -> Self {
        Timestamp(millis.clamp(-62_167_219_200_000, 253_402_300_799_999))
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    pub fn seconds_since(self, earlier: Timestamp) -> i64 {
        (self.0 - earlier.0) / 1000
    }

    pub fn plus_seconds(self, seconds: i64) -> Self {
        Timestamp::from_millis(self.0.saturating_add(seconds.saturating_mul(1000)))
    }

    /// Returns the month, for example `2026-11`. Log files are named by it.
    pub fn month(self) -> String {
        let (year, month, _) = civil(self.0.div_euclid(DAY));
        format!("{year:04}-{month:02}")
    }

    /// Reads the text form of a [`Timestamp`], with or without a fraction.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = bytes.get(from..to)?;
            digits
                .iter()
                .all(u8::is_ascii_digit)
                .then(|| digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
        };
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if marks.iter().any(|&(at, mark)| bytes.get(at) != Some(&mark)) || bytes.last() != Some(&b'Z') {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let millis = match &bytes[19..bytes.len() - 1] {
            [] => 0,
            [b'.', fraction @ ..] if !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit) => {
                (0..3).fold(0, |n, i| n * 10 + fraction.get(i).map_or(0, |d| i64::from(d - b'0')))
            }
            _ => return None,
        };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Timestamp::from_millis(seconds * 1000 + millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let rest = self.0.rem_euclid(DAY);
        // Writes digit by digit, because this code runs several times in every hook call.
        let mut out = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, width: usize, mut value: i64| {
            for i in (at..at + width).rev() {
                out[i] = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, rest / 3_600_000);
        put(14, 2, rest / 60_000 % 60);
        put(17, 2, rest / 1000 % 60);
        put(20, 3, rest % 1000);
        f.write_str(std::str::from_utf8(&out).expect("digits and marks are ASCII"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Timestamp::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an RFC 3339 time in UTC")))
    }
}

/// Converts a day count from 1970-01-01 to a date of the proleptic Gregorian calendar. It counts in eras of
/// 400 years that begin on 1 March, so the leap day is the last day of a year.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_794_733_261_000, "2026-11-15T09:01:01.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), text);
        }
        assert_eq!(Timestamp::from_millis(1_794_733_261_000).month(), "2026-11");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in ["", "2026-11-15", "2026-11-15T09:01:01", "2026-13-15T09:01:01Z", "2026-11-15T09:01:01.Z"]
        {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
        assert_eq!(Timestamp::parse("2026-11-15T09:01:01Z"), Some(Timestamp::from_millis(1_794_733_261_000)));
    }

    proptest! {
        #[test]
        fn writing_and_reading_give_the_same_moment(millis in any::<i64>()) {
            let moment = Timestamp::from_millis(millis);
            prop_assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _read_or_not = Timestamp::parse(&text);
        }
    }
}
