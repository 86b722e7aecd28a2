//! Comparisons on a whole warp, with one function per opcode and type.

use super::lanes::{f32_of, f64_of, ftz};
use super::round::{BF16, F16};
use crate::ptx::ir::{CmpFn, Lanes, WARP};
use crate::ptx::types::Ty;

macro_rules! cmp {
    ($ty:ty, |$a:ident, $b:ident| $e:expr, $get:expr) => {{
        fn lanes(a: &Lanes, b: &Lanes) -> u32 {
            let mut mask = 0;
            for i in 0..WARP {
                let get = $get;
                let ($a, $b): ($ty, $ty) = (get(a[i]), get(b[i]));
                mask |= u32::from($e) << i;
            }
            mask
        }
        lanes as CmpFn
    }};
}

macro_rules! int_cmp {
    ($op:expr, $t:ty) => {
        match $op {
            "eq" => cmp!($t, |a, b| a == b, |x: u64| x as $t),
            "ne" => cmp!($t, |a, b| a != b, |x: u64| x as $t),
            "lt" | "lo" => cmp!($t, |a, b| a < b, |x: u64| x as $t),
            "le" | "ls" => cmp!($t, |a, b| a <= b, |x: u64| x as $t),
            "gt" | "hi" => cmp!($t, |a, b| a > b, |x: u64| x as $t),
            "ge" | "hs" => cmp!($t, |a, b| a >= b, |x: u64| x as $t),
            _ => return None,
        }
    };
}

macro_rules! float_cmp {
    ($op:expr, $t:ty, $get:expr) => {
        match $op {
            "eq" => cmp!($t, |a, b| a == b, $get),
            "ne" => cmp!($t, |a, b| a != b && !a.is_nan() && !b.is_nan(), $get),
            "lt" => cmp!($t, |a, b| a < b, $get),
            "le" => cmp!($t, |a, b| a <= b, $get),
            "gt" => cmp!($t, |a, b| a > b, $get),
            "ge" => cmp!($t, |a, b| a >= b, $get),
            "equ" => cmp!($t, |a, b| a == b || a.is_nan() || b.is_nan(), $get),
            "neu" => cmp!($t, |a, b| a != b, $get),
            "ltu" => cmp!($t, |a, b| a < b || a.is_nan() || b.is_nan(), $get),
            "leu" => cmp!($t, |a, b| a <= b || a.is_nan() || b.is_nan(), $get),
            "gtu" => cmp!($t, |a, b| a > b || a.is_nan() || b.is_nan(), $get),
            "geu" => cmp!($t, |a, b| a >= b || a.is_nan() || b.is_nan(), $get),
            "num" => cmp!($t, |a, b| !a.is_nan() && !b.is_nan(), $get),
            "nan" => cmp!($t, |a, b| a.is_nan() || b.is_nan(), $get),
            _ => return None,
        }
    };
}

/// Returns the function for a comparison.
pub fn compare(op: &str, ty: Ty, flush: bool) -> Option<CmpFn> {
    Some(match ty {
        Ty::U8 | Ty::B8 => int_cmp!(op, u8),
        Ty::S8 => int_cmp!(op, i8),
        Ty::U16 | Ty::B16 => int_cmp!(op, u16),
        Ty::U32 | Ty::B32 => int_cmp!(op, u32),
        Ty::U64 | Ty::B64 => int_cmp!(op, u64),
        Ty::S16 => int_cmp!(op, i16),
        Ty::S32 => int_cmp!(op, i32),
        Ty::S64 => int_cmp!(op, i64),
        Ty::F32 if flush => float_cmp!(op, f32, |x: u64| ftz(f32_of(x))),
        Ty::F32 => float_cmp!(op, f32, f32_of),
        Ty::F64 => float_cmp!(op, f64, f64_of),
        Ty::F16 => float_cmp!(op, f64, |x: u64| F16.decode(x as u16)),
        Ty::Bf16 => float_cmp!(op, f64, |x: u64| BF16.decode(x as u16)),
        _ => return None,
    })
}

/// Returns the function for a `testp` test, which ignores the second operand.
pub fn testp(op: &str, ty: Ty) -> Option<CmpFn> {
    macro_rules! test {
        ($t:ty, $get:expr) => {
            match op {
                "finite" => cmp!($t, |a, _b| a.is_finite(), $get),
                "infinite" => cmp!($t, |a, _b| a.is_infinite(), $get),
                "number" => cmp!($t, |a, _b| !a.is_nan(), $get),
                "notanumber" => cmp!($t, |a, _b| a.is_nan(), $get),
                "normal" => cmp!($t, |a, _b| a.is_normal(), $get),
                "subnormal" => cmp!($t, |a, _b| a.is_subnormal(), $get),
                _ => return None,
            }
        };
    }
    Some(match ty {
        Ty::F32 => test!(f32, f32_of),
        Ty::F64 => test!(f64, f64_of),
        _ => return None,
    })
}
