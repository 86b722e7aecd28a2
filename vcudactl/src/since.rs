//! The time from which on past events are printed.

use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use control_api::Timespan;

/// A time, or how long ago it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// This long before now.
    Ago(Timespan),
    /// Milliseconds since 1970.
    At(u64),
}

impl Since {
    /// Returns the time in milliseconds since 1970.
    pub(crate) fn time_ms(self) -> u64 {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(now.as_millis())
                    .unwrap_or(u64::MAX)
                    .saturating_sub(span.nanos() / 1_000_000)
            }
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ago = text.parse().map(Self::Ago).ok();
        ago.or_else(|| parse_time(text).map(Self::At)).ok_or_else(|| {
            "must be a duration, such as 10m or 2h, or a time, such as 2026-03-01T12:00:00Z or \
             2026-03-01T13:00:00+01:00"
                .to_owned()
        })
    }
}

/// Parses a time as RFC 3339 defines it. Returns milliseconds since 1970.
fn parse_time(text: &str) -> Option<u64> {
    // All characters up to the seconds have fixed positions.
    let (head, rest) = text.split_at_checked(19)?;
    let is_mark = |at: usize, marks: &[u8]| marks.contains(&head.as_bytes()[at]);
    let has_marks = [4, 7].iter().all(|at| is_mark(*at, b"-"))
        && is_mark(10, b"Tt ")
        && [13, 16].iter().all(|at| is_mark(*at, b":"));
    let number = |text: Option<&str>, max: i64| -> Option<i64> {
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        text.parse().ok().filter(|number| *number <= max)
    };
    let part = |from: usize, max: i64| number(head.get(from..from + 2), max);
    let year = number(head.get(..4), 9999).filter(|_| has_marks)?;
    let month = part(5, 12).filter(|month| *month > 0)?;
    let day = part(8, 31).filter(|day| *day > 0)?;
    let of_day = part(11, 23)? * 3600 + part(14, 59)? * 60 + part(17, 60)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let milliseconds = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        // More digits than three are dropped.
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<3}")[..3].parse().ok()?
        }
        _ => return None,
    };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (hours, minutes) = zone[1..].split_once(':').filter(|_| zone.len() == 6)?;
            let seconds = number(Some(hours), 23)? * 3600 + number(Some(minutes), 59)? * 60;
            if zone.starts_with('-') { -seconds } else { seconds }
        }
    };
    let seconds = days(year, month, day) * 86_400 + of_day - offset;
    u64::try_from(seconds * 1000 + milliseconds).ok()
}

/// Returns the number of days since January 1, 1970.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Count years from March 1, so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // January 1, 1970, is day 719,468 after March 1 of year 0.
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::timestamp;

    #[test]
    fn times_and_durations_are_parsed() {
        for (text, time) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2023-11-14T22:13:20.123456Z", 1_700_000_000_123),
            ("2023-11-14t23:13:20.5+01:00", 1_700_000_000_500),
            ("2023-11-14 17:13:20-05:00", 1_700_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Since::At(time)), "{text}");
        }
        assert_eq!("10m".parse(), Ok(Since::Ago(Timespan::from_nanos(600_000_000_000))));
        let two_hours: Since = "2h".parse().unwrap();
        assert!(Since::Ago(Timespan::from_nanos(0)).time_ms() - two_hours.time_ms() >= 7_200_000);
        for day in (0..80_000).step_by(13) {
            let text = timestamp(day * 86_400_000);
            assert_eq!(parse_time(&text), Some(day * 86_400_000), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "10",
            "-1h",
            "yesterday",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-13-14T22:13:20Z",
            "2023-11-00T22:13:20Z",
            "2023-11-14T24:13:20Z",
            "2023-11-14T22:13:20.Z",
            "2023-11-14T22:13:20+1:00",
            "2023-11-14T22:13:20+0100",
            "2023-11-14T22:13:20Zulu",
            "+023-11-14T22:13:20Z",
            "1969-12-31T23:59:59Z",
            "2023-11-14T22:13:2éZ",
        ] {
            assert!(text.parse::<Since>().is_err(), "{text}");
        }
    }
}
