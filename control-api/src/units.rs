//! Parsing and formatting of percentages, durations and sizes.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// Error for text that isn't a valid percentage, duration or size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUnit {
    /// Not a percentage.
    #[error(
        "'{0}' is not a percentage: write a number with at most two decimals and %, such as 25% or 12.5%"
    )]
    Percent(String),
    /// Not a time.
    #[error("'{0}' is not a time: write a whole number with ns, us, ms, s, m or h, such as 500ms")]
    Timespan(String),
    /// Not a size.
    #[error(
        "'{0}' is not a size: write a number of bytes, or one with K, M, G or T, such as 4G, 512MiB or 1.5G"
    )]
    Size(String),
}

/// Formats a number with its noun in the singular or plural, such as "1 VM" or "2 VMs".
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A fraction in basis points (0.01%), written as `"25%"` or `"12.5%"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u32);

impl Percent {
    /// 100%.
    pub const ALL: Self = Self(10_000);
    /// 0%.
    pub const NONE: Self = Self(0);

    /// Creates a percentage from hundredths of a percent.
    pub const fn from_basis_points(points: u32) -> Self {
        Self(points)
    }

    /// Returns hundredths of a percent: 2500 for 25%.
    pub const fn basis_points(self) -> u32 {
        self.0
    }

    /// Returns a ratio: 0.25 for 25%.
    pub fn ratio(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 100, self.0 % 100);
        match part {
            0 => write!(f, "{whole}%"),
            part if part % 10 == 0 => write!(f, "{whole}.{}%", part / 10),
            part => write!(f, "{whole}.{part:02}%"),
        }
    }
}

impl FromStr for Percent {
    type Err = BadUnit;

    fn from_str(text: &str) -> Result<Self, BadUnit> {
        let bad = || BadUnit::Percent(text.to_owned());
        let number = text.strip_suffix('%').ok_or_else(bad)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 6) || !digits(part, 2) {
            return Err(bad());
        }
        let whole: u32 = whole.parse().map_err(|_| bad())?;
        let hundredths: u32 = format!("{part:0<2}").parse().map_err(|_| bad())?;
        Ok(Self(whole * 100 + hundredths))
    }
}

/// A duration in nanoseconds, written as `"2s"` or `"500ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timespan(u64);

/// Units and their nanoseconds, longest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Timespan {
    /// Creates a duration from nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timespan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let fits = UNITS.into_iter().find(|(_, unit)| self.0.is_multiple_of(*unit));
        let (name, unit) = fits.unwrap_or(("ns", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl FromStr for Timespan {
    type Err = BadUnit;

    fn from_str(text: &str) -> Result<Self, BadUnit> {
        let bad = || BadUnit::Timespan(text.to_owned());
        let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let (number, name) = text.split_at(end);
        let (_, unit) = UNITS.into_iter().find(|(unit, _)| *unit == name).ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_| bad())?;
        number.checked_mul(unit).map(Self).ok_or_else(bad)
    }
}

/// Parses a size: a number of bytes, or a number followed by K, M, G or T (powers of 1024). With such
/// a suffix, which can also be written as KiB, MiB, GiB or TiB, the number can have up to three
/// decimals.
pub fn parse_size(text: &str) -> Result<u64, BadUnit> {
    let bad = || BadUnit::Size(text.to_owned());
    let plain =
        text.strip_suffix("iB").filter(|plain| !plain.ends_with(|c: char| c.is_ascii_digit()));
    let plain = plain.unwrap_or(text);
    let (number, shift) = match plain.chars().last() {
        Some('K' | 'k') => (&plain[..plain.len() - 1], 10),
        Some('M' | 'm') => (&plain[..plain.len() - 1], 20),
        Some('G' | 'g') => (&plain[..plain.len() - 1], 30),
        Some('T' | 't') => (&plain[..plain.len() - 1], 40),
        _ => (plain, 0),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let has_part = number.contains('.');
    if !is_digits(whole) || !is_digits(part) || part.len() > 3 || (has_part && shift == 0) {
        return Err(bad());
    }
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    let thousandths: u64 = format!("{part:0<3}").parse().map_err(|_| bad())?;
    let whole = whole.checked_mul(1 << shift).ok_or_else(bad)?;
    whole.checked_add(thousandths * (1 << shift) / 1000).ok_or_else(bad)
}

/// Formats a size for people: exactly if it is a whole number of units (`512M`), otherwise with
/// three significant digits (`1.50G`).
pub fn format_size(bytes: u64) -> String {
    const NAMES: [(u32, &str); 4] = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let Some((shift, name)) = NAMES.into_iter().find(|(shift, _)| bytes >= 1 << shift) else {
        return bytes.to_string();
    };
    if bytes.is_multiple_of(1 << shift) {
        return format!("{}{name}", bytes >> shift);
    }
    let value = bytes as f64 / (1u64 << shift) as f64;
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}{name}")
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                text.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

as_text!(Percent, Timespan);

#[cfg(feature = "openapi")]
mod schema {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    use super::{Percent, Timespan};

    fn text(description: &str, pattern: &str, example: &str) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(description))
            .pattern(Some(pattern))
            .examples([example])
            .into()
    }

    impl PartialSchema for Percent {
        fn schema() -> RefOr<Schema> {
            let description = "A percentage, in steps of 0.01%.";
            text(description, r"^[0-9]{1,6}(\.[0-9]{1,2})?%$", "12.5%")
        }
    }

    impl ToSchema for Percent {}

    impl PartialSchema for Timespan {
        fn schema() -> RefOr<Schema> {
            let description = "A duration with its unit.";
            // Generates durations of at most a day.
            let pattern =
                "^([0-9]{1,14}ns|[0-9]{1,11}us|[0-9]{1,8}ms|[0-9]{1,5}s|[0-9]{1,4}m|[0-9]{1,2}h)$";
            text(description, pattern, "500ms")
        }
    }

    impl ToSchema for Timespan {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentages_are_read_and_written() {
        for (text, points) in [("25%", 2500), ("12.5%", 1250), ("0.01%", 1), ("100%", 10_000)] {
            assert_eq!(text.parse(), Ok(Percent(points)), "{text}");
            assert_eq!(Percent(points).to_string(), text);
        }
        assert_eq!("1.50%".parse(), Ok(Percent(150)));
    }

    #[test]
    fn bad_percentages_are_refused() {
        for text in ["", "%", "25", "-1%", "+1%", "1.%", ".5%", "1.234%", "1e2%", " 1%", "9999999%"]
        {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Percent>("25").is_err());
        assert_eq!(serde_json::from_str::<Percent>("\"25%\"").unwrap(), Percent(2500));
    }

    #[test]
    fn times_are_read_and_written() {
        for (text, nanos) in [("2s", 2_000_000_000), ("500ms", 500_000_000), ("7us", 7000)] {
            assert_eq!(text.parse(), Ok(Timespan(nanos)), "{text}");
            assert_eq!(Timespan(nanos).to_string(), text);
        }
        assert_eq!("1000ms".parse::<Timespan>().unwrap().to_string(), "1s");
        for text in ["", "s", "2", "-2s", "2 s", "1.5s", "2d", "99999999999h"] {
            assert!(text.parse::<Timespan>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [
            ("4096", 4096),
            ("3K", 3072),
            ("2m", 2 << 20),
            ("4G", 4 << 30),
            ("4GiB", 4 << 30),
            ("512MiB", 512 << 20),
            ("1.5G", 3 << 29),
            ("0.25GiB", 1 << 28),
            ("1.125K", 1152),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "G",
            "4X",
            "-1",
            "1.5",
            "1.G",
            ".5G",
            "1.2345G",
            " 4G",
            "4 GiB",
            "iB",
            "4iB",
            "99999999999T",
            "4GB",
            "é",
            "éiB",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (4 << 30, "4G"),
            (3 << 29, "1.50G"),
            ((100 << 20) + 1, "100M"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn percentages_and_times_round_trip(points in 0u32..100_000_000, nanos: u64) {
            prop_assert_eq!(Percent(points).to_string().parse(), Ok(Percent(points)));
            prop_assert_eq!(Timespan(nanos).to_string().parse(), Ok(Timespan(nanos)));
        }
    }
}
