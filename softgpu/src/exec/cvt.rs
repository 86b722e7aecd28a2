//! Conversions between integer and floating-point types.

use super::lanes::{f32_of, f64_of, from_f32, ftz, sat_f32, un};
use super::round::{self, BF16, F16, Mode};
use crate::ptx::ir::{Cvt, UnFn};
use crate::ptx::types::Ty;

impl Cvt {
    /// Converts the value of one lane.
    pub fn convert(&self, a: u64) -> u64 {
        if self.src.float() { self.float_to(self.decode(a)) } else { self.int_to(a) }
    }

    fn decode(&self, a: u64) -> f64 {
        match self.src {
            Ty::F16 => F16.decode(a as u16),
            Ty::Bf16 => BF16.decode(a as u16),
            Ty::F32 if self.ftz => f64::from(ftz(f32_of(a))),
            Ty::F32 => f64::from(f32_of(a)),
            _ => f64_of(a),
        }
    }

    fn int(&self, a: u64) -> i128 {
        match self.src {
            Ty::U8 | Ty::B8 => i128::from(a as u8),
            Ty::U16 | Ty::B16 => i128::from(a as u16),
            Ty::U32 | Ty::B32 => i128::from(a as u32),
            Ty::S8 => i128::from(a as i8),
            Ty::S16 => i128::from(a as i16),
            Ty::S32 => i128::from(a as i32),
            Ty::S64 => i128::from(a as i64),
            _ => i128::from(a),
        }
    }

    fn range(&self) -> (i128, i128) {
        let bits = self.dst.bits();
        if self.dst.signed() {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        }
    }

    /// Truncates an integer to the destination's width, and then sign-extends signed 8- and 16-bit
    /// integers to the width of a register.
    fn place(&self, value: i128) -> u64 {
        match self.dst.bits() {
            8 if self.dst.signed() => value as i8 as u64,
            16 if self.dst.signed() => value as i16 as u64,
            8 => u64::from(value as u8),
            16 => u64::from(value as u16),
            32 => u64::from(value as u32),
            _ => value as u64,
        }
    }

    fn int_to(&self, a: u64) -> u64 {
        let value = self.int(a);
        let (negative, magnitude) = (value < 0, value.unsigned_abs() as u64);
        match self.dst {
            Ty::F32 => {
                let x = round::int_to_float(self.mode, negative, magnitude, 24) as f32;
                from_f32(if self.sat { sat_f32(x) } else { x })
            }
            Ty::F64 => round::int_to_float(self.mode, negative, magnitude, 53).to_bits(),
            Ty::F16 | Ty::Bf16 => {
                // A double may not hold all bits of the integer. Replace the bits that don't fit
                // with a sticky bit: if any of them is set, set the lowest bit that fits. The
                // sticky bit keeps the second rounding from mistaking an inexact value for a tie.
                let extra = 11u32.saturating_sub(magnitude.leading_zeros());
                let dropped = magnitude & ((1 << extra) - 1);
                let sticky = u64::from(dropped != 0) << extra;
                let x = ((magnitude - dropped) | sticky) as f64;
                let x = if negative { -x } else { x };
                let format = if self.dst == Ty::F16 { F16 } else { BF16 };
                u64::from(format.encode(self.mode, x))
            }
            _ => {
                let (low, high) = self.range();
                self.place(if self.sat { value.clamp(low, high) } else { value })
            }
        }
    }

    fn float_to(&self, value: f64) -> u64 {
        let mode = self.mode;
        if !self.dst.float() {
            if value.is_nan() {
                let wide = self.src == Ty::F64 || self.dst.bits() == 64;
                return if wide { 1 << (self.dst.bits() - 1) } else { 0 };
            }
            let (low, high) = self.range();
            // Rust's conversion saturates at the limits of i128, which are far outside the range of
            // every destination type.
            return self.place((round::integral(mode, value) as i128).clamp(low, high));
        }
        let mut value = if self.integral { round::integral(mode, value) } else { value };
        if self.relu && value < 0.0 {
            value = 0.0;
        }
        if self.sat {
            value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        }
        match self.dst {
            Ty::F16 => u64::from(F16.encode(mode, value)),
            Ty::Bf16 => u64::from(BF16.encode(mode, value)),
            Ty::F32 => {
                let x = round::f64_to_f32(mode, value);
                from_f32(if self.ftz { ftz(x) } else { x })
            }
            _ => value.to_bits(),
        }
    }

    /// Returns a vectorized function for the conversion, or `None` for a conversion that compilers
    /// rarely emit.
    pub fn fast(&self) -> Option<UnFn> {
        if self.sat || self.ftz || self.relu {
            return None;
        }
        let (dst, src) = (self.dst, self.src);
        if !dst.float() && !src.float() {
            // Extend or truncate according to the narrower of the two types. If the destination is
            // unsigned, truncate a sign-extended source to the destination's width.
            let narrow = if dst.bits() < src.bits() { dst } else { src };
            return Some(match (narrow, dst) {
                (Ty::S8, Ty::U16 | Ty::B16) => un!(|a| a as i8 as u16 as u64),
                (Ty::S8, Ty::U32 | Ty::B32) => un!(|a| a as i8 as u32 as u64),
                (Ty::S8, Ty::U8 | Ty::B8) => un!(|a| a & 0xff),
                (Ty::S16, Ty::U16 | Ty::B16) => un!(|a| a & 0xffff),
                (Ty::S16, Ty::U32 | Ty::B32) => un!(|a| a as i16 as u32 as u64),
                (Ty::S32, Ty::U32 | Ty::B32) => un!(|a| a & 0xffff_ffff),
                (Ty::U8 | Ty::B8, Ty::S8) | (Ty::S8, _) => un!(|a| a as i8 as u64),
                (Ty::U16 | Ty::B16, Ty::S16) | (Ty::S16, _) => un!(|a| a as i16 as u64),
                (Ty::S32, _) => un!(|a| a as i32 as u64),
                (Ty::U8 | Ty::B8, _) => un!(|a| a & 0xff),
                (Ty::U16 | Ty::B16, _) => un!(|a| a & 0xffff),
                (Ty::U32 | Ty::B32, _) => un!(|a| a & 0xffff_ffff),
                _ => un!(|a| a),
            });
        }
        Some(match (dst, src, self.mode, self.integral) {
            (Ty::F32, Ty::S32, Mode::Nearest, _) => un!(|a| ((a as i32) as f32).to_bits().into()),
            (Ty::F32, Ty::U32, Mode::Nearest, _) => un!(|a| ((a as u32) as f32).to_bits().into()),
            (Ty::F32, Ty::S64, Mode::Nearest, _) => un!(|a| ((a as i64) as f32).to_bits().into()),
            (Ty::F32, Ty::U64, Mode::Nearest, _) => un!(|a| (a as f32).to_bits().into()),
            (Ty::F64, Ty::S32, ..) => un!(|a| f64::from(a as i32).to_bits()),
            (Ty::F64, Ty::U32, ..) => un!(|a| f64::from(a as u32).to_bits()),
            (Ty::F64, Ty::S64, Mode::Nearest, _) => un!(|a| ((a as i64) as f64).to_bits()),
            (Ty::F64, Ty::U64, Mode::Nearest, _) => un!(|a| (a as f64).to_bits()),
            (Ty::F64, Ty::F32, _, false) => un!(|a| f64::from(f32_of(a)).to_bits()),
            (Ty::F32, Ty::F64, Mode::Nearest, false) => un!(|a| from_f32(f64_of(a) as f32)),
            (Ty::S32, Ty::F32, Mode::Zero, _) => un!(|a| u64::from((f32_of(a) as i32) as u32)),
            (Ty::U32, Ty::F32, Mode::Zero, _) => un!(|a| u64::from(f32_of(a) as u32)),
            _ => return None,
        })
    }
}

/// Converts two singles and packs them into a pair of half-precision values, with the first one in
/// the upper half.
pub fn pack(dst: Ty, mode: Mode, relu: bool, a: u64, b: u64) -> u64 {
    let element = if dst == Ty::F16x2 { Ty::F16 } else { Ty::Bf16 };
    let cvt =
        Cvt { dst: element, src: Ty::F32, mode, integral: false, ftz: false, sat: false, relu };
    cvt.convert(a) << 16 | cvt.convert(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cvt(dst: Ty, src: Ty, mode: Mode) -> Cvt {
        Cvt { dst, src, mode, integral: false, ftz: false, sat: false, relu: false }
    }

    #[test]
    fn test_float_to_int_saturates_and_maps_nan() {
        let c = cvt(Ty::S32, Ty::F32, Mode::Zero);
        assert_eq!(c.convert(3e10f32.to_bits().into()), 0x7fff_ffff);
        assert_eq!(c.convert((-2.9f32).to_bits().into()), 0xffff_fffe);
        assert_eq!(c.convert(f32::NAN.to_bits().into()), 0);
        assert_eq!(cvt(Ty::U32, Ty::F32, Mode::Zero).convert((-1f32).to_bits().into()), 0);
        assert_eq!(cvt(Ty::S64, Ty::F64, Mode::Up).convert(1.1f64.to_bits()), 2);
        assert_eq!(cvt(Ty::S64, Ty::F64, Mode::Up).convert(f64::NAN.to_bits()), 1 << 63);
    }

    #[test]
    fn test_wide_integers_round_once() {
        let c = cvt(Ty::Bf16, Ty::U64, Mode::Nearest);
        assert_eq!(c.convert(1 << 63 | 1 << 55), 0x5f00, "a tie goes to even");
        assert_eq!(c.convert(1 << 63 | 1 << 55 | 1), 0x5f01, "just above a tie");
        assert_eq!(c.convert(1 << 63 | 3 << 55), 0x5f02, "a tie goes to even");
        assert_eq!(c.convert((1 << 63 | 3 << 55) - 1), 0x5f01, "just below a tie");
        let c = cvt(Ty::Bf16, Ty::S64, Mode::Nearest);
        assert_eq!(c.convert((-(1i64 << 62 | 1 << 54 | 1)) as u64), 0xde81);
        let c = cvt(Ty::Bf16, Ty::U64, Mode::Up);
        assert_eq!(c.convert(1 << 63 | 1), 0x5f01);
    }

    #[test]
    fn test_vectorized_conversions_agree_with_the_general_ones() {
        let ints = [Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64];
        let values =
            [0u64, 1, 0x7f, 0x80, 0xff, 0x8000, 0xffff, 0x8000_0000, 0xffff_ffff, 1 << 63, !0];
        for src in ints {
            for dst in ints.into_iter().chain([Ty::F32, Ty::F64]) {
                let c = cvt(dst, src, Mode::Nearest);
                let Some(fast) = c.fast() else { continue };
                for value in values {
                    let mut out = [0; 32];
                    fast(&mut out, &[value; 32], !0);
                    let mask = if dst.bits() == 64 { !0 } else { (1 << dst.bits()) - 1 };
                    assert_eq!(out[5] & mask, c.convert(value) & mask, "{dst:?} {src:?} {value:x}");
                }
            }
        }
    }
}
