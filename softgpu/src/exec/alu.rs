//! Integer arithmetic, moves and sign changes on a whole warp, with one function per opcode and
//! type.

use super::lanes::{bin, f32_of, from_f32, ftz, un};
use crate::ptx::ir::{BinFn, UnFn};
use crate::ptx::types::Ty;

macro_rules! ints {
    // Makes one function per integer type for an operation, and selects the one for `$ty`. Results
    // are truncated to the type's width.
    ($ty:expr, |$a:ident, $b:ident: $t:ident| $e:expr) => {
        match $ty {
            Ty::U16 | Ty::B16 => ints!(@one u16, u16, $t, $a, $b, $e),
            Ty::U32 | Ty::B32 => ints!(@one u32, u32, $t, $a, $b, $e),
            Ty::U64 | Ty::B64 => ints!(@one u64, u64, $t, $a, $b, $e),
            Ty::S16 => ints!(@one i16, u16, $t, $a, $b, $e),
            Ty::S32 => ints!(@one i32, u32, $t, $a, $b, $e),
            Ty::S64 => ints!(@one i64, u64, $t, $a, $b, $e),
            Ty::U8 | Ty::B8 => ints!(@one u8, u8, $t, $a, $b, $e),
            Ty::S8 => ints!(@one i8, u8, $t, $a, $b, $e),
            _ => return None,
        }
    };
    (@one $ty:ident, $bits:ident, $t:ident, $a:ident, $b:ident, $e:expr) => {
        bin!(|x, y| {
            #[allow(dead_code)]
            type $t = $ty;
            let ($a, $b) = (x as $ty, y as $ty);
            ($e) as $bits as u64
        })
    };
}

macro_rules! shift {
    ($ty:expr, |$a:ident, $n:ident, $bits:ident| $e:expr) => {
        match $ty {
            Ty::B16 | Ty::U16 => shift!(@one u16, u16, $a, $n, $bits, $e),
            Ty::B32 | Ty::U32 => shift!(@one u32, u32, $a, $n, $bits, $e),
            Ty::B64 | Ty::U64 => shift!(@one u64, u64, $a, $n, $bits, $e),
            Ty::S16 => shift!(@one i16, u16, $a, $n, $bits, $e),
            Ty::S32 => shift!(@one i32, u32, $a, $n, $bits, $e),
            Ty::S64 => shift!(@one i64, u64, $a, $n, $bits, $e),
            _ => return None,
        }
    };
    (@one $ty:ident, $un:ident, $a:ident, $n:ident, $bits:ident, $e:expr) => {
        bin!(|x, y| {
            let ($a, $n, $bits) = (x as $ty, y as u32, $ty::BITS);
            ($e) as $un as u64
        })
    };
}

fn mul_hi(ty: Ty) -> Option<BinFn> {
    Some(match ty {
        Ty::U16 => bin!(|a, b| u64::from(((a as u16 as u32 * b as u16 as u32) >> 16) as u16)),
        Ty::S16 => bin!(|a, b| u64::from(((a as i16 as i32 * b as i16 as i32) >> 16) as u16)),
        Ty::U32 => bin!(|a, b| (u64::from(a as u32) * u64::from(b as u32)) >> 32),
        Ty::S32 => {
            bin!(|a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32 as u64)
        }
        Ty::U64 => bin!(|a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        Ty::S64 => bin!(|a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64),
        _ => return None,
    })
}

fn mul_wide(ty: Ty) -> Option<BinFn> {
    Some(match ty {
        Ty::U16 => bin!(|a, b| u64::from(u32::from(a as u16) * u32::from(b as u16))),
        Ty::S16 => bin!(|a, b| u64::from((i32::from(a as i16) * i32::from(b as i16)) as u32)),
        Ty::U32 => bin!(|a, b| u64::from(a as u32) * u64::from(b as u32)),
        Ty::S32 => bin!(|a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        _ => return None,
    })
}

/// The part of the product that an integer multiplication keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The lower half of the product.
    Lo,
    /// The upper half of the product.
    Hi,
    /// The whole product, which is twice as wide as the operands.
    Wide,
}

/// Returns the function for integer multiplication.
pub fn mul_int(part: Part, ty: Ty) -> Option<BinFn> {
    match part {
        Part::Lo => Some(ints!(ty, |a, b: T| a.wrapping_mul(b))),
        Part::Hi => mul_hi(ty),
        Part::Wide => mul_wide(ty),
    }
}

/// Returns the function for 24-bit multiplication, which keeps the upper or lower 32 bits of the
/// 48-bit product.
pub fn mul24(hi: bool, ty: Ty) -> Option<BinFn> {
    Some(match (hi, ty) {
        (false, Ty::U32) => bin!(|a, b| u64::from(((a & 0xff_ffff) * (b & 0xff_ffff)) as u32)),
        (true, Ty::U32) => {
            bin!(|a, b| u64::from((((a & 0xff_ffff) * (b & 0xff_ffff)) >> 16) as u32))
        }
        (false, Ty::S32) => bin!(|a, b| u64::from((s24(a) * s24(b)) as u32)),
        (true, Ty::S32) => bin!(|a, b| u64::from(((s24(a) * s24(b)) >> 16) as u32)),
        _ => return None,
    })
}

fn s24(a: u64) -> i64 {
    i64::from((a as i32) << 8 >> 8)
}

/// Returns the function for an integer operation with two operands.
pub fn int_bin(op: &str, ty: Ty, sat: bool) -> Option<BinFn> {
    Some(match (op, sat) {
        ("add", false) => match ty {
            Ty::U16x2 | Ty::S16x2 => bin!(|a, b| two16(a, b, |x, y| x.wrapping_add(y))),
            _ => ints!(ty, |a, b: T| a.wrapping_add(b)),
        },
        ("sub", false) => ints!(ty, |a, b: T| a.wrapping_sub(b)),
        ("add", true) if ty == Ty::S32 => ints!(ty, |a, b: T| a.saturating_add(b)),
        ("sub", true) if ty == Ty::S32 => ints!(ty, |a, b: T| a.saturating_sub(b)),
        ("div", _) => ints!(ty, |a, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }),
        ("rem", _) => ints!(ty, |a, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
        ("min", _) => match ty {
            Ty::U16x2 => bin!(|a, b| two16(a, b, u16::min)),
            Ty::S16x2 => bin!(|a, b| two16(a, b, |x, y| (x as i16).min(y as i16) as u16)),
            _ => ints!(ty, |a, b: T| a.min(b)),
        },
        ("max", _) => match ty {
            Ty::U16x2 => bin!(|a, b| two16(a, b, u16::max)),
            Ty::S16x2 => bin!(|a, b| two16(a, b, |x, y| (x as i16).max(y as i16) as u16)),
            _ => ints!(ty, |a, b: T| a.max(b)),
        },
        ("and", _) => ints!(ty, |a, b: T| a & b),
        ("or", _) => ints!(ty, |a, b: T| a | b),
        ("xor", _) => ints!(ty, |a, b: T| a ^ b),
        ("shl", _) => shift!(ty, |a, n, bits| if n >= bits { 0 } else { a << n }),
        ("shr", _) => match ty {
            Ty::S16 | Ty::S32 | Ty::S64 => shift!(ty, |a, n, bits| a >> n.min(bits - 1)),
            _ => shift!(ty, |a, n, bits| if n >= bits { 0 } else { a >> n }),
        },
        _ => return None,
    })
}

fn two16(a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(f(a as u16, b as u16)) | u64::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Returns the function for negation or absolute value.
pub fn neg_abs(op: &str, ty: Ty, flush: bool) -> Option<UnFn> {
    Some(match (op, ty) {
        ("neg", Ty::S16) => un!(|a| u64::from((a as u16).wrapping_neg())),
        ("neg", Ty::S32) => un!(|a| u64::from((a as u32).wrapping_neg())),
        ("neg", Ty::S64) => un!(|a| a.wrapping_neg()),
        ("abs", Ty::S16) => un!(|a| u64::from((a as i16).unsigned_abs())),
        ("abs", Ty::S32) => un!(|a| u64::from((a as i32).unsigned_abs())),
        ("abs", Ty::S64) => un!(|a| (a as i64).unsigned_abs()),
        ("neg", Ty::F32) if flush => un!(|a| from_f32(-ftz(f32_of(a)))),
        ("neg", Ty::F32) => un!(|a| (a as u32 ^ 1 << 31) as u64),
        ("neg", Ty::F64) => un!(|a| a ^ 1 << 63),
        ("abs", Ty::F32) if flush => un!(|a| from_f32(ftz(f32_of(a)).abs())),
        ("abs", Ty::F32) => un!(|a| a & 0x7fff_ffff),
        ("abs", Ty::F64) => un!(|a| a & !(1 << 63)),
        ("neg", Ty::F16 | Ty::Bf16) => un!(|a| (a ^ 0x8000) & 0xffff),
        ("neg", Ty::F16x2 | Ty::Bf16x2) => un!(|a| (a ^ 0x8000_8000) & 0xffff_ffff),
        ("abs", Ty::F16 | Ty::Bf16) => un!(|a| a & 0x7fff),
        ("abs", Ty::F16x2 | Ty::Bf16x2) => un!(|a| a & 0x7fff_7fff),
        _ => return None,
    })
}

/// Returns a function that copies the low `bits` bits of its operand.
pub fn mov(bits: u32) -> UnFn {
    match bits {
        8 => un!(|a| a & 0xff),
        16 => un!(|a| a & 0xffff),
        32 => un!(|a| a & 0xffff_ffff),
        _ => un!(|a| a),
    }
}
