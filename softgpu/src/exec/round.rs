//! IEEE arithmetic in rounding modes that Rust's operators don't support, and half-precision
//! formats.

use std::arch::asm;

/// A rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To the nearest value. A tie goes to the value whose last bit is 0.
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// Returns the MXCSR value for a rounding mode, with all exceptions masked.
const fn mxcsr(mode: Mode) -> u32 {
    0x1f80
        | match mode {
            Mode::Nearest => 0,
            Mode::Down => 0x2000,
            Mode::Up => 0x4000,
            Mode::Zero => 0x6000,
        }
}

macro_rules! directed {
    ($name:ident, $ty:ty, $inst:literal) => {
        /// Performs the operation in a rounding mode.
        pub fn $name(mode: Mode, a: $ty, b: $ty) -> $ty {
            let mut d = a;
            let new = mxcsr(mode);
            let mut old = 0u32;
            // SAFETY: the assembly restores the rounding mode, and touches only the two local words
            // and the named registers.
            unsafe {
                asm!(
                    "stmxcsr [{old}]", "ldmxcsr [{new}]", concat!($inst, " {d}, {b}"),
                    "ldmxcsr [{old}]",
                    old = in(reg) &mut old, new = in(reg) &new, d = inout(xmm_reg) d,
                    b = in(xmm_reg) b, options(nostack)
                );
            }
            d
        }
    };
}

directed!(add_f32, f32, "addss");
directed!(sub_f32, f32, "subss");
directed!(mul_f32, f32, "mulss");
directed!(div_f32, f32, "divss");
directed!(sqrt_f32_of, f32, "sqrtss");
directed!(add_f64, f64, "addsd");
directed!(sub_f64, f64, "subsd");
directed!(mul_f64, f64, "mulsd");
directed!(div_f64, f64, "divsd");
directed!(sqrt_f64_of, f64, "sqrtsd");

/// Computes a square root in a rounding mode.
pub fn sqrt_f32(mode: Mode, a: f32) -> f32 {
    sqrt_f32_of(mode, a, a)
}

/// Computes a square root in a rounding mode.
pub fn sqrt_f64(mode: Mode, a: f64) -> f64 {
    sqrt_f64_of(mode, a, a)
}

/// Converts a double to a single in a rounding mode.
pub fn f64_to_f32(mode: Mode, a: f64) -> f32 {
    let d: f32;
    let new = mxcsr(mode);
    let mut old = 0u32;
    // SAFETY: the assembly restores the rounding mode, and touches only the two local words and the
    // named registers.
    unsafe {
        asm!(
            "stmxcsr [{old}]", "ldmxcsr [{new}]", "cvtsd2ss {d}, {a}", "ldmxcsr [{old}]",
            old = in(reg) &mut old, new = in(reg) &new, d = out(xmm_reg) d, a = in(xmm_reg) a,
            options(nostack)
        );
    }
    d
}

/// Computes `a * b + c` with a single rounding.
pub fn fma_f64(mode: Mode, a: f64, b: f64, c: f64) -> f64 {
    if mode == Mode::Nearest {
        return a.mul_add(b, c);
    }
    if std::arch::is_x86_feature_detected!("fma") {
        let mut d = a;
        let new = mxcsr(mode);
        let mut old = 0u32;
        // SAFETY: the CPU has the FMA instruction. The assembly restores the rounding mode, and
        // touches only the two local words and the named registers.
        unsafe {
            asm!(
                "stmxcsr [{old}]", "ldmxcsr [{new}]", "vfmadd213sd {d}, {b}, {c}",
                "ldmxcsr [{old}]",
                old = in(reg) &mut old, new = in(reg) &new, d = inout(xmm_reg) d,
                b = in(xmm_reg) b, c = in(xmm_reg) c, options(nostack)
            );
        }
        return d;
    }
    // The error in the result rounded to nearest shows which neighboring value the mode requires.
    // Both sums are exact unless they overflow, in which case there is no neighbor to step to.
    let near = a.mul_add(b, c);
    if !near.is_finite() {
        return near;
    }
    let product = a * b;
    let low = a.mul_add(b, -product);
    let (s1, e1) = two_sum(c, low);
    let (s2, e2) = two_sum(product, s1);
    let error = (s2 - near) + (e2 + e1);
    step_f64(mode, near, error)
}

/// Computes `a * b + c` with a single rounding.
pub fn fma_f32(mode: Mode, a: f32, b: f32, c: f32) -> f32 {
    if mode == Mode::Nearest {
        return a.mul_add(b, c);
    }
    // The product is exact in a double. Rounding the sum to odd makes the second rounding, to a
    // single, correct.
    let product = f64::from(a) * f64::from(b);
    f64_to_f32(mode, add_odd(product, f64::from(c)))
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// Returns the sum of two doubles, rounded to odd: if the sum is inexact, its last bit is set.
/// Rounding the result to a format with fewer bits then gives the correctly rounded sum.
pub fn add_odd(a: f64, b: f64) -> f64 {
    let (s, e) = two_sum(a, b);
    if e == 0.0 || !s.is_finite() || s.to_bits() & 1 == 1 {
        return s;
    }
    // Step toward the exact value: away from zero if the error has the same sign as the sum.
    if (e > 0.0) == (s > 0.0) {
        f64::from_bits(s.to_bits() + 1)
    } else {
        f64::from_bits(s.to_bits() - 1)
    }
}

fn step_f64(mode: Mode, near: f64, error: f64) -> f64 {
    match mode {
        Mode::Up if error > 0.0 => near.next_up(),
        Mode::Down if error < 0.0 => near.next_down(),
        Mode::Zero if error < 0.0 && near > 0.0 => near.next_down(),
        Mode::Zero if error > 0.0 && near < 0.0 => near.next_up(),
        _ => near,
    }
}

/// Rounds an integer, given as sign and magnitude, to a float with a mantissa of `bits` bits,
/// including the leading one. A double holds the result exactly.
pub fn int_to_float(mode: Mode, negative: bool, magnitude: u64, bits: u32) -> f64 {
    let len = 64 - magnitude.leading_zeros();
    let mut kept = u128::from(magnitude);
    if len > bits {
        let drop = len - bits;
        let rest = kept & ((1 << drop) - 1);
        kept >>= drop;
        let half = 1u128 << (drop - 1);
        let up = match mode {
            Mode::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Mode::Zero => false,
            Mode::Down => negative && rest != 0,
            Mode::Up => !negative && rest != 0,
        };
        kept = (kept + u128::from(up)) << drop;
    }
    let value = kept as f64;
    if negative { -value } else { value }
}

/// Rounds a value to an integral value in a rounding mode.
pub fn integral(mode: Mode, a: f64) -> f64 {
    match mode {
        Mode::Nearest => a.round_ties_even(),
        Mode::Zero => a.trunc(),
        Mode::Down => a.floor(),
        Mode::Up => a.ceil(),
    }
}

/// A floating-point format of at most 16 bits.
#[derive(Debug, Clone, Copy)]
pub struct Small {
    mantissa: u32,
    exponent: u32,
    /// Whether the format has infinities. If it hasn't, the largest exponent also encodes finite
    /// values, and only the largest mantissa with that exponent is NaN.
    infinite: bool,
}

/// IEEE half precision.
pub const F16: Small = Small { mantissa: 10, exponent: 5, infinite: true };
/// The bfloat16 format.
pub const BF16: Small = Small { mantissa: 7, exponent: 8, infinite: true };
/// The 8-bit format with 4 bits of exponent and 3 bits of mantissa.
pub const E4M3: Small = Small { mantissa: 3, exponent: 4, infinite: false };
/// The 8-bit format with 5 bits of exponent and 2 bits of mantissa.
pub const E5M2: Small = Small { mantissa: 2, exponent: 5, infinite: true };

impl Small {
    /// Returns the value that the bits encode. The conversion is exact.
    pub fn decode(self, bits: u16) -> f64 {
        let bias = (1i32 << (self.exponent - 1)) - 1;
        let negative = bits >> (self.mantissa + self.exponent) & 1 == 1;
        let exponent = i32::from(bits >> self.mantissa) & ((1 << self.exponent) - 1);
        let mantissa = i32::from(bits) & ((1 << self.mantissa) - 1);
        let special = exponent == (1 << self.exponent) - 1;
        let magnitude = if special && self.infinite {
            if mantissa == 0 { f64::INFINITY } else { f64::NAN }
        } else if special && mantissa == (1 << self.mantissa) - 1 {
            f64::NAN
        } else if exponent == 0 {
            f64::from(mantissa) * 2f64.powi(1 - bias - self.mantissa as i32)
        } else {
            f64::from(mantissa | 1 << self.mantissa)
                * 2f64.powi(exponent - bias - self.mantissa as i32)
        };
        if negative { -magnitude } else { magnitude }
    }

    /// Rounds a value and encodes it. NaN becomes 0x7fff, as in hardware. The format must have 16
    /// bits.
    pub fn encode(self, mode: Mode, value: f64) -> u16 {
        if value.is_nan() {
            return 0x7fff;
        }
        let negative = value.is_sign_negative();
        let sign = self.sign(negative);
        let infinity = self.top_exponent();
        let bits = if value.is_infinite() { infinity.into() } else { self.round(mode, value) };
        if bits < u32::from(infinity) {
            return sign | bits as u16;
        }
        let to_infinity = value.is_infinite()
            || match mode {
                Mode::Nearest => true,
                Mode::Zero => false,
                Mode::Down => negative,
                Mode::Up => !negative,
            };
        sign | if to_infinity { infinity } else { infinity - 1 }
    }

    /// Rounds a value to the nearest finite one and encodes it. NaN becomes 0x7f, as in hardware.
    /// The format must have 8 bits.
    pub fn encode_finite(self, value: f64) -> u8 {
        if value.is_nan() {
            return 0x7f;
        }
        let largest = if self.infinite { self.top_exponent() - 1 } else { 0x7e };
        let bits =
            if value.is_infinite() { largest.into() } else { self.round(Mode::Nearest, value) };
        (self.sign(value.is_sign_negative()) | (bits as u16).min(largest)) as u8
    }

    fn sign(self, negative: bool) -> u16 {
        u16::from(negative) << (self.mantissa + self.exponent)
    }

    /// Returns the largest exponent, shifted to its place in the encoding.
    fn top_exponent(self) -> u16 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// Rounds a finite value as if exponents were unlimited. Returns the bits without the sign,
    /// which may be too large for the format.
    fn round(self, mode: Mode, value: f64) -> u32 {
        let bias = (1i32 << (self.exponent - 1)) - 1;
        let magnitude = value.abs();
        if magnitude == 0.0 {
            return 0;
        }
        // Compute the unit in the last place, which is at least that of subnormals. It's a power of
        // two, so dividing by it is exact.
        let raw = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
        let ulp = 2f64.powi(raw - self.mantissa as i32);
        let steps = integral(mode, (magnitude / ulp).copysign(value)).abs() as u32;
        // A carry out of the mantissa increments the exponent.
        (((raw + bias - 1) as u32) << self.mantissa) + steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_directed_modes_bracket_the_exact_value() {
        let third = div_f32(Mode::Down, 1.0, 3.0);
        assert_eq!(third.next_up(), div_f32(Mode::Up, 1.0, 3.0));
        assert_eq!(add_f64(Mode::Up, 1.0, 1e-30), 1.0f64.next_up());
        assert_eq!(add_f64(Mode::Zero, -1.0, 1e-30), (-1.0f64).next_up());
        assert_eq!(sqrt_f64(Mode::Up, 2.0), sqrt_f64(Mode::Down, 2.0).next_up());
        assert_eq!(fma_f32(Mode::Up, 1.0, 1.0, 1e-20), 1.0f32.next_up());
        assert_eq!(fma_f64(Mode::Down, 1.0, 1.0, -1e-30), 1.0f64.next_down());
    }

    #[test]
    fn test_half_round_trips_and_rounds() {
        for bits in 0..0x7c00u16 {
            assert_eq!(F16.encode(Mode::Nearest, F16.decode(bits)), bits);
        }
        for bits in 0..0x7f80u16 {
            assert_eq!(BF16.encode(Mode::Nearest, BF16.decode(bits)), bits);
        }
        assert_eq!(F16.encode(Mode::Nearest, 65520.0), 0x7c00);
        assert_eq!(F16.encode(Mode::Zero, 65520.0), 0x7bff);
        assert_eq!(F16.encode(Mode::Nearest, 2f64.powi(-25)), 0);
        assert_eq!(F16.encode(Mode::Up, 2f64.powi(-25)), 1);
    }

    #[test]
    fn test_8_bit_formats_round_trip_and_saturate() {
        for bits in 0..0x7fu8 {
            assert_eq!(E4M3.encode_finite(E4M3.decode(bits.into())), bits);
        }
        for bits in 0..0x7cu8 {
            assert_eq!(E5M2.encode_finite(E5M2.decode(bits.into())), bits);
        }
        assert!(E4M3.decode(0xff).is_nan() && E5M2.decode(0x7d).is_nan());
        assert_eq!((E4M3.decode(0x7e), E5M2.decode(0x7b)), (448.0, 57344.0));
        assert_eq!(E5M2.decode(0xfc), f64::NEG_INFINITY);
        for value in [-449.0, -1e300, f64::NEG_INFINITY] {
            assert_eq!(E4M3.encode_finite(value), 0xfe);
        }
        assert_eq!(E5M2.encode_finite(f64::INFINITY), 0x7b);
        assert_eq!((E4M3.encode_finite(f64::NAN), E5M2.encode_finite(-f64::NAN)), (0x7f, 0x7f));
        // These values are halfway between two representable ones. They are rounded to the one with
        // an even mantissa.
        assert_eq!((E4M3.encode_finite(17.0), E4M3.encode_finite(19.0)), (0x58, 0x5a));
        assert_eq!(E4M3.encode_finite(-2f64.powi(-10)), 0x80);
    }

    #[test]
    fn test_int_to_float_rounds_once() {
        assert_eq!(int_to_float(Mode::Nearest, false, u64::MAX, 24), 2f64.powi(64));
        assert_eq!(int_to_float(Mode::Zero, false, (1 << 24) + 1, 24), 16_777_216.0);
        assert_eq!(int_to_float(Mode::Up, false, (1 << 24) + 1, 24), 16_777_218.0);
        assert_eq!(int_to_float(Mode::Down, true, (1 << 24) + 1, 24), -16_777_218.0);
    }
}
