//! Conversions between pairs of 8-bit floats and wider types. The second value of a pair is in the
//! upper half of the operand.

use super::lanes::{bin, f32_of, un};
use super::round::{E4M3, E5M2, F16, Mode, Small};
use crate::ptx::ir::{BinFn, UnFn};

/// A type of pairs of 8-bit floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// 4 bits of exponent and 3 bits of mantissa.
    E4m3,
    /// 5 bits of exponent and 2 bits of mantissa.
    E5m2,
}

/// Chooses a function for a format, with or without `.relu`.
macro_rules! choose {
    ($pair:expr, $relu:expr, |$format:ident, $clamps:ident| $function:expr) => {
        match ($pair, $relu) {
            (Pair::E4m3, false) => choose!(@ $format = E4M3, $clamps = false, $function),
            (Pair::E4m3, true) => choose!(@ $format = E4M3, $clamps = true, $function),
            (Pair::E5m2, false) => choose!(@ $format = E5M2, $clamps = false, $function),
            (Pair::E5m2, true) => choose!(@ $format = E5M2, $clamps = true, $function),
        }
    };
    (@ $format:ident = $small:ident, $clamps:ident = $value:literal, $function:expr) => {{
        const $format: Small = $small;
        const $clamps: bool = $value;
        $function
    }};
}

impl Pair {
    /// Parses a modifier such as `e4m3x2`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "e4m3x2" => Some(Self::E4m3),
            "e5m2x2" => Some(Self::E5m2),
            _ => None,
        }
    }

    /// Returns a function that converts two singles. The first operand becomes the upper value.
    pub fn pack_singles(self, relu: bool) -> BinFn {
        choose!(self, relu, |FORMAT, RELU| bin!(|a, b| pack(
            FORMAT,
            RELU,
            f32_of(a).into(),
            f32_of(b).into()
        )))
    }

    /// Returns a function that converts a pair of halves.
    pub fn pack_halves(self, relu: bool) -> UnFn {
        choose!(self, relu, |FORMAT, RELU| un!(|a| from_halves(FORMAT, RELU, a)))
    }

    /// Returns a function that converts to a pair of halves.
    pub fn unpack(self, relu: bool) -> UnFn {
        choose!(self, relu, |FORMAT, RELU| un!(|a| to_halves(FORMAT, RELU, a)))
    }
}

fn clamp(value: f64, relu: bool) -> f64 {
    if relu && value < 0.0 { 0.0 } else { value }
}

fn pack(format: Small, relu: bool, upper: f64, lower: f64) -> u64 {
    let byte = |value| u64::from(format.encode_finite(clamp(value, relu)));
    byte(upper) << 8 | byte(lower)
}

fn from_halves(format: Small, relu: bool, a: u64) -> u64 {
    pack(format, relu, F16.decode((a >> 16) as u16), F16.decode(a as u16))
}

fn to_halves(format: Small, relu: bool, a: u64) -> u64 {
    let half = |byte: u64| {
        u64::from(F16.encode(Mode::Nearest, clamp(format.decode((byte & 0xff) as u16), relu)))
    };
    half(a >> 8) << 16 | half(a)
}
