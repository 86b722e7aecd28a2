//! Months in UTC.

const DAY_MS: u64 = 86_400_000;

/// Returns the month of a time in milliseconds since 1970, as in `2026-03`. Later months come later
/// in the alphabet.
pub(super) fn month_of(time_ms: u64) -> String {
    // Days since 0000-03-01 in the Gregorian calendar. A year that begins in March ends with the
    // leap day, so the length of all other months is fixed.
    let days = time_ms / DAY_MS + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // 0 is March.
    let month = (5 * day + 2) / 153;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}", (era * 400 + year + next).min(9999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_and_end_at_midnight() {
        for (time_ms, month) in [
            (0, "1970-01"),
            (951_782_399_999, "2000-02"),
            (951_868_799_999, "2000-02"),
            (951_868_800_000, "2000-03"),
            (1_709_251_199_000, "2024-02"),
            (1_709_251_200_000, "2024-03"),
            (1_798_761_599_999, "2026-12"),
            (1_798_761_600_000, "2027-01"),
            (4_107_542_399_999, "2100-02"),
            (4_107_542_400_000, "2100-03"),
            (u64::MAX, "9999-"),
        ] {
            assert!(month_of(time_ms).starts_with(month), "{time_ms}: {}", month_of(time_ms));
        }
        let all: Vec<String> = (0..60_000).map(|day| month_of(day * DAY_MS)).collect();
        assert!(all.is_sorted());
    }
}
