//! Sizes as people write them: `4G`, `512M`, `4096`.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Size(pub u64);

/// A size that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a size: write a number of bytes, or one with K, M, G or T (4G)")]
pub struct BadSize(String);

impl std::str::FromStr for Size {
    type Err = BadSize;

    fn from_str(text: &str) -> Result<Self, BadSize> {
        control_api::parse_size(text).map(Size).map_err(|_| BadSize(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a size, such as \"4G\" or a number of bytes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes).map(Size).map_err(|_| E::custom("a size is not negative"))
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }
        }
        from.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_suffixes() {
        let cases = [("0", 0), ("4096", 4096), ("3K", 3072), ("2m", 2 << 20), ("4G", 4 << 30)];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "G", "4X", "-1", "+1", "1.5G", " 4G", "99999999999T", "4GB", "é"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
