//! Sizes in text form: `4G`, `512M`, `4096`.

use crate::units::{BadUnit, parse_size};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Size(pub u64);

impl std::str::FromStr for Size {
    type Err = BadUnit;

    fn from_str(text: &str) -> Result<Self, BadUnit> {
        parse_size(text).map(Size)
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
                u64::try_from(bytes).map(Size).map_err(|_| E::custom("a size can't be negative"))
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }
        }
        from.deserialize_any(Visitor)
    }
}
