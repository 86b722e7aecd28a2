//! Overcommit ratios.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

/// The error for text that isn't a valid ratio.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a ratio: write a number from 1.0 to 100.0 with at most two decimals, such as 1.5"
)]
pub struct BadRatio(String);

/// Parses a number with at most two decimals, and returns it in hundredths.
fn hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 2 {
        return None;
    }
    let part: u64 = format!("{part:0<2}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part)
}

/// An overcommit ratio, in hundredths: 100 to 10000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// A ratio of 1.0, which means no overcommit.
    pub const ONE: Self = Self(100);

    /// Returns `amount` times the ratio, rounded down.
    pub fn of(self, amount: u64) -> u64 {
        let product = u128::from(amount) * u128::from(self.0) / 100;
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 100.0)
    }
}

impl FromStr for Ratio {
    type Err = BadRatio;

    fn from_str(text: &str) -> Result<Self, BadRatio> {
        let value = hundredths(text).filter(|value| (100..=10_000).contains(value));
        value.map(|value| Self(value as u32)).ok_or_else(|| BadRatio(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Ratio;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a ratio from 1.0 to 100.0, such as 1.5")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Ratio, E> {
                number.to_string().parse().map_err(E::custom)
            }
        }
        from.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_at_least_one() {
        assert_eq!("1.5".parse::<Ratio>().unwrap().of(1000), 1500);
        assert_eq!(Ratio::ONE.of(u64::MAX), u64::MAX);
        for text in ["", "0.99", "100.01", "x", "1,5", "-1", "1.234"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }
}
