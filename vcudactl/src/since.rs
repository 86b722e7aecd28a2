//! The time from which past events are printed.

use std::str::FromStr;

use control_api::Timespan;
use jiff::Timestamp;

/// A time, given as a time or as a duration before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// This duration before now.
    Ago(Timespan),
    /// The time in milliseconds since 1970.
    At(u64),
}

impl Since {
    /// Returns the time in milliseconds since 1970.
    pub(crate) fn time_ms(self) -> u64 {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => {
                let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
                now.saturating_sub(span.nanos() / 1_000_000)
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

/// Parses a time in RFC 3339 or ISO 8601, with an offset. Returns milliseconds since 1970.
fn parse_time(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<Timestamp>().ok()?.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_parsed() {
        for (text, time) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2023-11-14T22:13:20.123456Z", 1_700_000_000_123),
            ("2023-11-14t23:13:20.5+01:00", 1_700_000_000_500),
            ("2023-11-14 17:13:20-05:00", 1_700_000_000_000),
            ("2023-11-14T23:13:20+0100", 1_700_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Since::At(time)), "{text}");
        }
        assert_eq!("10m".parse(), Ok(Since::Ago(Timespan::from_nanos(600_000_000_000))));
        let two_hours: Since = "2h".parse().unwrap();
        assert!(Since::Ago(Timespan::from_nanos(0)).time_ms() - two_hours.time_ms() >= 7_200_000);
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
            "2023-11-14T22:13:20Zulu",
            "+023-11-14T22:13:20Z",
            "1969-12-31T23:59:59Z",
            "2023-11-14T22:13:2éZ",
        ] {
            assert!(text.parse::<Since>().is_err(), "{text}");
        }
    }
}
