//! The start of the period for which usage is shown: a month, a day, or any other time. Months are
//! in UTC.

use jiff::Timestamp;

use crate::since::Since;

/// Returns the time at which the current month began in UTC, in milliseconds since 1970.
pub(crate) fn this_month() -> u64 {
    let month = Timestamp::now().strftime("%Y-%m").to_string();
    start_of(&format!("{month}-01")).unwrap_or_default()
}

/// Returns the time at which a day begins in UTC, in milliseconds since 1970.
fn start_of(day: &str) -> Option<u64> {
    let start: Timestamp = format!("{day}T00:00:00Z").parse().ok()?;
    u64::try_from(start.as_millisecond()).ok()
}

/// Parses a month, a day, or a time in a form that `events --since` accepts.
pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    let day = || match text.len() {
        7 => start_of(&format!("{text}-01")),
        10 => start_of(text),
        _ => None,
    };
    text.parse().or_else(|error: String| {
        let other = "a month, such as 2026-03, or a day, such as 2026-03-15";
        day().map(Since::At).ok_or_else(|| format!("{error}; or {other}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_are_times_in_utc() {
        for (text, time) in [
            ("2026-11", 1_793_491_200_000),
            ("2026-11-01", 1_793_491_200_000),
            ("2026-11-01T00:00:01Z", 1_793_491_201_000),
            ("1970-01", 0),
        ] {
            assert_eq!(parse_since(text), Ok(Since::At(time)), "{text}");
        }
        assert!(matches!(parse_since("24h"), Ok(Since::Ago(_))));
        for text in ["", "2026", "2026-13", "2026-11-31", "2026-11-01T00", "november", "1969-12"] {
            let error = parse_since(text).unwrap_err();
            assert!(error.contains("2026-03-15"), "{text}: {error}");
        }
        let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap();
        assert!(this_month() <= now && now - this_month() < 32 * 86_400_000);
    }
}
