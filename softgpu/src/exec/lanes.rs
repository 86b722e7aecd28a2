//! Building blocks for operations on a whole warp: loops over its lanes, and conversions between
//! registers and values.

/// Runs a body for each active lane. For a full warp, this is a plain loop, which the compiler can
/// vectorize.
macro_rules! each_lane {
    ($mask:expr, $i:ident, $body:block) => {
        if $mask == u32::MAX {
            for $i in 0..$crate::ptx::ir::WARP {
                $body
            }
        } else {
            let mut rest: u32 = $mask;
            while rest != 0 {
                let $i = rest.trailing_zeros() as usize & 31;
                rest &= rest - 1;
                $body
            }
        }
    };
}

/// Makes a function that applies an expression of one operand to a warp's lanes.
macro_rules! un {
    (|$a:ident| $e:expr) => {{
        fn lanes(d: &mut $crate::ptx::ir::Lanes, a: &$crate::ptx::ir::Lanes, mask: u32) {
            $crate::exec::lanes::each_lane!(mask, i, {
                let $a = a[i];
                d[i] = $e;
            });
        }
        lanes as $crate::ptx::ir::UnFn
    }};
}

/// Makes a function that applies an expression of two operands to a warp's lanes.
macro_rules! bin {
    (|$a:ident, $b:ident| $e:expr) => {{
        fn lanes(
            d: &mut $crate::ptx::ir::Lanes,
            a: &$crate::ptx::ir::Lanes,
            b: &$crate::ptx::ir::Lanes,
            mask: u32,
        ) {
            $crate::exec::lanes::each_lane!(mask, i, {
                let ($a, $b) = (a[i], b[i]);
                d[i] = $e;
            });
        }
        lanes as $crate::ptx::ir::BinFn
    }};
}

/// Makes a function that applies an expression of three operands to a warp's lanes.
macro_rules! tern {
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {{
        fn lanes(
            d: &mut $crate::ptx::ir::Lanes,
            a: &$crate::ptx::ir::Lanes,
            b: &$crate::ptx::ir::Lanes,
            c: &$crate::ptx::ir::Lanes,
            mask: u32,
        ) {
            $crate::exec::lanes::each_lane!(mask, i, {
                let ($a, $b, $c) = (a[i], b[i], c[i]);
                d[i] = $e;
            });
        }
        lanes as $crate::ptx::ir::TernFn
    }};
}

pub(crate) use {bin, each_lane, tern, un};

/// Converts a register to a single.
pub fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Converts a register to a double.
pub fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Converts a single to a register. Every NaN becomes the hardware's canonical NaN.
pub fn from_f32(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

/// Converts a double to a register.
pub fn from_f64(value: f64) -> u64 {
    value.to_bits()
}

/// Flushes a subnormal to a zero with the same sign.
pub fn ftz(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// Clamps to [0, 1]; NaN becomes 0.
pub fn sat_f32(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Clamps to [0, 1], as [`sat_f32`] does for singles; NaN becomes 0.
pub fn sat_f64(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}
