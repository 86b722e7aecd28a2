//! Arithmetic on a whole warp: one function for each opcode and type.

use super::round::{self, BF16, F16, Mode, Small};
use crate::ptx::ir::{BinFn, CmpFn, Lanes, TernFn, UnFn, WARP};
use crate::ptx::types::Ty;

const FULL: u32 = u32::MAX;

/// A function of one operand over the lanes of a warp.
#[macro_export]
macro_rules! un {
    (|$a:ident| $e:expr) => {{
        fn lanes(d: &mut $crate::ptx::ir::Lanes, a: &$crate::ptx::ir::Lanes, mask: u32) {
            $crate::each_lane!(mask, i, {
                let $a = a[i];
                d[i] = $e;
            });
        }
        lanes as $crate::ptx::ir::UnFn
    }};
}

/// Runs a body for each active lane; the full warp in a plain loop, which vectorises.
#[macro_export]
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

macro_rules! bin {
    (|$a:ident, $b:ident| $e:expr) => {{
        fn lanes(d: &mut Lanes, a: &Lanes, b: &Lanes, mask: u32) {
            each_lane!(mask, i, {
                let ($a, $b) = (a[i], b[i]);
                d[i] = $e;
            });
        }
        lanes as BinFn
    }};
}

macro_rules! tern {
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {{
        fn lanes(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, mask: u32) {
            each_lane!(mask, i, {
                let ($a, $b, $c) = (a[i], b[i], c[i]);
                d[i] = $e;
            });
        }
        lanes as TernFn
    }};
}

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

/// A single from a register.
pub fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// A double from a register.
pub fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A single into a register; every NaN becomes the one that the hardware makes.
pub fn from_f32(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

/// A double into a register.
pub fn from_f64(value: f64) -> u64 {
    value.to_bits()
}

/// Flushes a subnormal to a zero of its sign.
pub fn ftz(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// Clamps to [0, 1]; NaN becomes 0.
pub fn sat_f32(value: f32) -> f32 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn sat_f64(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn min_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    }
}

fn max_f32(a: f32, b: f32) -> f32 {
    -min_f32(-a, -b)
}

fn min_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    }
}

fn max_f64(a: f64, b: f64) -> f64 {
    -min_f64(-a, -b)
}

/// Which variant of a floating-point operation is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    /// Rounding.
    pub mode: Mode,
    /// Flush subnormals.
    pub ftz: bool,
    /// Clamp to [0, 1].
    pub sat: bool,
    /// NaN wins in `min` and `max`.
    pub nan: bool,
    /// Clamp negative results to 0.
    pub relu: bool,
}

macro_rules! float_bin {
    // One function for each mode and modifier that the instruction can have.
    ($v:expr, $plain:expr, $directed:path, $of:path, $from:path, $ftz:path, $sat:path) => {
        match ($v.mode, $v.ftz, $v.sat) {
            (Mode::Nearest, false, false) => bin!(|a, b| $from($plain($of(a), $of(b)))),
            (Mode::Nearest, true, false) => {
                bin!(|a, b| $from($ftz($plain($ftz($of(a)), $ftz($of(b))))))
            }
            (Mode::Nearest, false, true) => bin!(|a, b| $from($sat($plain($of(a), $of(b))))),
            (Mode::Nearest, true, true) => {
                bin!(|a, b| $from($sat($ftz($plain($ftz($of(a)), $ftz($of(b)))))))
            }
            (Mode::Zero, f, s) => float_bin!(@mode Mode::Zero, f, s, $directed, $of, $from, $ftz, $sat),
            (Mode::Down, f, s) => float_bin!(@mode Mode::Down, f, s, $directed, $of, $from, $ftz, $sat),
            (Mode::Up, f, s) => float_bin!(@mode Mode::Up, f, s, $directed, $of, $from, $ftz, $sat),
        }
    };
    (@mode $mode:expr, $f:expr, $s:expr, $directed:path, $of:path, $from:path, $ftz:path, $sat:path) => {
        match ($f, $s) {
            (false, false) => bin!(|a, b| $from($directed($mode, $of(a), $of(b)))),
            (true, false) => bin!(|a, b| $from($ftz($directed($mode, $ftz($of(a)), $ftz($of(b)))))),
            (false, true) => bin!(|a, b| $from($sat($directed($mode, $of(a), $of(b))))),
            (true, true) => {
                bin!(|a, b| $from($sat($ftz($directed($mode, $ftz($of(a)), $ftz($of(b)))))))
            }
        }
    };
}

fn same(value: f64) -> f64 {
    value
}

macro_rules! fma_by_mode {
    ($v:expr, $fma:path, $of:path, $from:path, $ftz:path, $sat:path) => {
        match $v.mode {
            Mode::Nearest => fma_by_mode!(@mode Mode::Nearest, $v, $fma, $of, $from, $ftz, $sat),
            Mode::Zero => fma_by_mode!(@mode Mode::Zero, $v, $fma, $of, $from, $ftz, $sat),
            Mode::Down => fma_by_mode!(@mode Mode::Down, $v, $fma, $of, $from, $ftz, $sat),
            Mode::Up => fma_by_mode!(@mode Mode::Up, $v, $fma, $of, $from, $ftz, $sat),
        }
    };
    (@mode $mode:expr, $v:expr, $fma:path, $of:path, $from:path, $ftz:path, $sat:path) => {
        match ($v.ftz, $v.sat) {
            (false, false) => tern!(|a, b, c| $from($fma($mode, $of(a), $of(b), $of(c)))),
            (true, false) => {
                tern!(|a, b, c| $from($ftz($fma($mode, $ftz($of(a)), $ftz($of(b)), $ftz($of(c))))))
            }
            (false, true) => tern!(|a, b, c| $from($sat($fma($mode, $of(a), $of(b), $of(c))))),
            (true, true) => tern!(|a, b, c| $from($sat($ftz($fma(
                $mode,
                $ftz($of(a)),
                $ftz($of(b)),
                $ftz($of(c))
            ))))),
        }
    };
}

/// An operation on halves, done exactly enough in doubles and rounded once.
macro_rules! half_bin {
    ($format:expr, $packed:expr, $relu:expr, $sat:expr, |$a:ident, $b:ident| $e:expr) => {
        match ($packed, $relu, $sat) {
            (false, false, false) => bin!(|x, y| half2($format, x, y, |$a, $b| $e)),
            (false, true, _) => bin!(|x, y| half2($format, x, y, |$a, $b| relu($e))),
            (false, false, true) => bin!(|x, y| half2($format, x, y, |$a, $b| sat_f64($e))),
            (true, false, false) => bin!(|x, y| packed2($format, x, y, |$a, $b| $e)),
            (true, true, _) => bin!(|x, y| packed2($format, x, y, |$a, $b| relu($e))),
            (true, false, true) => bin!(|x, y| packed2($format, x, y, |$a, $b| sat_f64($e))),
        }
    };
}

fn relu(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

fn half2(format: Small, a: u64, b: u64, f: impl Fn(f64, f64) -> f64) -> u64 {
    u64::from(format.encode(Mode::Nearest, f(format.decode(a as u16), format.decode(b as u16))))
}

fn packed2(format: Small, a: u64, b: u64, f: impl Fn(f64, f64) -> f64) -> u64 {
    half2(format, a, b, &f) | half2(format, a >> 16, b >> 16, &f) << 16
}

fn half1(format: Small, a: u64, f: impl Fn(f64) -> f64) -> u64 {
    u64::from(format.encode(Mode::Nearest, f(format.decode(a as u16))))
}

/// The product of two halves is exact in a double; the sum is rounded to odd so that the rounding
/// to a half is the only one.
fn half_fma(format: Small, a: u64, b: u64, c: u64, f: impl Fn(f64) -> f64) -> u64 {
    let (a, b, c) = (format.decode(a as u16), format.decode(b as u16), format.decode(c as u16));
    u64::from(format.encode(Mode::Nearest, f(round::add_odd(a * b, c))))
}

macro_rules! half_ops {
    ($op:expr, $format:expr, $packed:expr, $v:expr) => {
        match ($op, $v.nan) {
            ("add", _) => half_bin!($format, $packed, $v.relu, $v.sat, |a, b| round::add_odd(a, b)),
            ("sub", _) => {
                half_bin!($format, $packed, $v.relu, $v.sat, |a, b| round::add_odd(a, -b))
            }
            ("mul", _) => half_bin!($format, $packed, $v.relu, $v.sat, |a, b| a * b),
            ("min", false) => half_bin!($format, $packed, $v.relu, $v.sat, |a, b| min_f64(a, b)),
            ("max", false) => half_bin!($format, $packed, $v.relu, $v.sat, |a, b| max_f64(a, b)),
            ("min", true) => {
                half_bin!($format, $packed, $v.relu, $v.sat, |a, b| nan2(a, b, min_f64(a, b)))
            }
            ("max", true) => {
                half_bin!($format, $packed, $v.relu, $v.sat, |a, b| nan2(a, b, max_f64(a, b)))
            }
            _ => return None,
        }
    };
}

fn nan2(a: f64, b: f64, value: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { value }
}

fn nan2_f32(a: f32, b: f32, value: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { value }
}

macro_rules! ints {
    // Expands an operation for each integer type; results are cut to the type's width.
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

/// How an integer multiplication uses its product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The lower half.
    Lo,
    /// The upper half.
    Hi,
    /// All of it.
    Wide,
}

/// Integer multiplication.
pub fn mul_int(part: Part, ty: Ty) -> Option<BinFn> {
    match part {
        Part::Lo => Some(ints!(ty, |a, b: T| a.wrapping_mul(b))),
        Part::Hi => mul_hi(ty),
        Part::Wide => mul_wide(ty),
    }
}

/// 24-bit multiplication.
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

/// Integer operations of two operands.
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

/// Floating-point operations of two operands.
pub fn float_bin(op: &str, ty: Ty, v: Float) -> Option<BinFn> {
    Some(match ty {
        Ty::F32 => match op {
            "add" => float_bin!(
                v,
                |a: f32, b: f32| a + b,
                round::add_f32,
                f32_of,
                from_f32,
                ftz,
                sat_f32
            ),
            "sub" => float_bin!(
                v,
                |a: f32, b: f32| a - b,
                round::sub_f32,
                f32_of,
                from_f32,
                ftz,
                sat_f32
            ),
            "mul" => float_bin!(
                v,
                |a: f32, b: f32| a * b,
                round::mul_f32,
                f32_of,
                from_f32,
                ftz,
                sat_f32
            ),
            "div" => float_bin!(
                v,
                |a: f32, b: f32| a / b,
                round::div_f32,
                f32_of,
                from_f32,
                ftz,
                sat_f32
            ),
            "min" => match (v.ftz, v.nan) {
                (false, false) => bin!(|a, b| from_f32(min_f32(f32_of(a), f32_of(b)))),
                (true, false) => bin!(|a, b| from_f32(min_f32(ftz(f32_of(a)), ftz(f32_of(b))))),
                (_, true) => {
                    bin!(|a, b| from_f32(nan2_f32(
                        f32_of(a),
                        f32_of(b),
                        min_f32(f32_of(a), f32_of(b))
                    )))
                }
            },
            "max" => match (v.ftz, v.nan) {
                (false, false) => bin!(|a, b| from_f32(max_f32(f32_of(a), f32_of(b)))),
                (true, false) => bin!(|a, b| from_f32(max_f32(ftz(f32_of(a)), ftz(f32_of(b))))),
                (_, true) => {
                    bin!(|a, b| from_f32(nan2_f32(
                        f32_of(a),
                        f32_of(b),
                        max_f32(f32_of(a), f32_of(b))
                    )))
                }
            },
            "copysign" => bin!(|a, b| (b & 0x7fff_ffff) | (a & 0x8000_0000)),
            _ => return None,
        },
        Ty::F64 => match op {
            "add" => float_bin!(
                v,
                |a: f64, b: f64| a + b,
                round::add_f64,
                f64_of,
                from_f64,
                same,
                sat_f64
            ),
            "sub" => float_bin!(
                v,
                |a: f64, b: f64| a - b,
                round::sub_f64,
                f64_of,
                from_f64,
                same,
                sat_f64
            ),
            "mul" => float_bin!(
                v,
                |a: f64, b: f64| a * b,
                round::mul_f64,
                f64_of,
                from_f64,
                same,
                sat_f64
            ),
            "div" => float_bin!(
                v,
                |a: f64, b: f64| a / b,
                round::div_f64,
                f64_of,
                from_f64,
                same,
                sat_f64
            ),
            "min" => bin!(|a, b| from_f64(min_f64(f64_of(a), f64_of(b)))),
            "max" => bin!(|a, b| from_f64(max_f64(f64_of(a), f64_of(b)))),
            "copysign" => bin!(|a, b| (b & !(1 << 63)) | (a & (1 << 63))),
            _ => return None,
        },
        Ty::F16 => half_ops!(op, F16, false, v),
        Ty::F16x2 => half_ops!(op, F16, true, v),
        Ty::Bf16 => half_ops!(op, BF16, false, v),
        Ty::Bf16x2 => half_ops!(op, BF16, true, v),
        _ => return None,
    })
}

/// Fused multiply-add, with the processor's own instruction where it has one.
pub fn fma(ty: Ty, v: Float) -> Option<TernFn> {
    if v.mode == Mode::Nearest && !v.ftz && !v.sat && super::fused::available() {
        match ty {
            Ty::F32 => return Some(super::fused::f32),
            Ty::F64 => return Some(super::fused::f64),
            _ => {}
        }
    }
    Some(match ty {
        Ty::F32 => fma_by_mode!(v, round::fma_f32, f32_of, from_f32, ftz, sat_f32),
        Ty::F64 => fma_by_mode!(v, round::fma_f64, f64_of, from_f64, same, sat_f64),
        Ty::F16 => match (v.relu, v.sat) {
            (false, false) => tern!(|a, b, c| half_fma(F16, a, b, c, same)),
            (true, _) => tern!(|a, b, c| half_fma(F16, a, b, c, relu)),
            (_, true) => tern!(|a, b, c| half_fma(F16, a, b, c, sat_f64)),
        },
        Ty::Bf16 if v.relu => tern!(|a, b, c| half_fma(BF16, a, b, c, relu)),
        Ty::Bf16 => tern!(|a, b, c| half_fma(BF16, a, b, c, same)),
        Ty::F16x2 => match (v.relu, v.sat) {
            (false, false) => tern!(|a, b, c| half_fma(F16, a, b, c, same)
                | half_fma(F16, a >> 16, b >> 16, c >> 16, same) << 16),
            (true, _) => tern!(|a, b, c| half_fma(F16, a, b, c, relu)
                | half_fma(F16, a >> 16, b >> 16, c >> 16, relu) << 16),
            (_, true) => tern!(|a, b, c| half_fma(F16, a, b, c, sat_f64)
                | half_fma(F16, a >> 16, b >> 16, c >> 16, sat_f64) << 16),
        },
        Ty::Bf16x2 if v.relu => tern!(|a, b, c| half_fma(BF16, a, b, c, relu)
            | half_fma(BF16, a >> 16, b >> 16, c >> 16, relu) << 16),
        Ty::Bf16x2 => tern!(|a, b, c| half_fma(BF16, a, b, c, same)
            | half_fma(BF16, a >> 16, b >> 16, c >> 16, same) << 16),
        _ => return None,
    })
}

/// Sign changes.
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

/// Reciprocal, roots and transcendental functions.
pub fn float_un(op: &str, ty: Ty, v: Float, approx: bool) -> Option<UnFn> {
    macro_rules! with_ftz {
        (|$x:ident| $e:expr) => {
            if v.ftz {
                un!(|a| {
                    let $x = ftz(f32_of(a));
                    from_f32(ftz($e))
                })
            } else {
                un!(|a| {
                    let $x = f32_of(a);
                    from_f32($e)
                })
            }
        };
    }
    macro_rules! by_mode {
        (|$m:ident, $x:ident| $e:expr) => {
            match v.mode {
                Mode::Nearest => with_ftz!(|$x| {
                    const $m: Mode = Mode::Nearest;
                    $e
                }),
                Mode::Zero => with_ftz!(|$x| {
                    const $m: Mode = Mode::Zero;
                    $e
                }),
                Mode::Down => with_ftz!(|$x| {
                    const $m: Mode = Mode::Down;
                    $e
                }),
                Mode::Up => with_ftz!(|$x| {
                    const $m: Mode = Mode::Up;
                    $e
                }),
            }
        };
    }
    macro_rules! by_mode64 {
        (|$m:ident, $x:ident| $e:expr) => {
            match v.mode {
                Mode::Nearest => un!(|a| {
                    const $m: Mode = Mode::Nearest;
                    let $x = f64_of(a);
                    from_f64($e)
                }),
                Mode::Zero => un!(|a| {
                    const $m: Mode = Mode::Zero;
                    let $x = f64_of(a);
                    from_f64($e)
                }),
                Mode::Down => un!(|a| {
                    const $m: Mode = Mode::Down;
                    let $x = f64_of(a);
                    from_f64($e)
                }),
                Mode::Up => un!(|a| {
                    const $m: Mode = Mode::Up;
                    let $x = f64_of(a);
                    from_f64($e)
                }),
            }
        };
    }
    Some(match (op, ty) {
        ("rcp", Ty::F32) => by_mode!(|M, x| round::div_f32(M, 1.0, x)),
        ("sqrt", Ty::F32) => by_mode!(|M, x| round::sqrt_f32(M, x)),
        // The double has the upper half of the result only, the rest being 0.
        ("rcp", Ty::F64) if approx => un!(|a| from_f64(1.0 / f64_of(a)) & !0xffff_ffff),
        ("rsqrt", Ty::F64) if v.ftz => {
            un!(|a| from_f64(1.0 / f64_of(a).sqrt()) & !0xffff_ffff)
        }
        ("rcp", Ty::F64) => by_mode64!(|M, x| round::div_f64(M, 1.0, x)),
        ("sqrt", Ty::F64) => by_mode64!(|M, x| round::sqrt_f64(M, x)),
        ("rsqrt", Ty::F64) => un!(|a| from_f64(1.0 / f64_of(a).sqrt())),
        ("rsqrt", Ty::F32) => with_ftz!(|x| (1.0 / f64::from(x).sqrt()) as f32),
        ("sin", Ty::F32) => with_ftz!(|x| f64::from(x).sin() as f32),
        ("cos", Ty::F32) => with_ftz!(|x| f64::from(x).cos() as f32),
        ("lg2", Ty::F32) => with_ftz!(|x| f64::from(x).log2() as f32),
        ("ex2", Ty::F32) => with_ftz!(|x| f64::from(x).exp2() as f32),
        ("tanh", Ty::F32) => with_ftz!(|x| f64::from(x).tanh() as f32),
        ("ex2", Ty::F16) => un!(|a| half1(F16, a, f64::exp2)),
        ("ex2", Ty::Bf16) => un!(|a| half1(BF16, a, f64::exp2)),
        ("ex2", Ty::F16x2) => {
            un!(|a| half1(F16, a, f64::exp2) | half1(F16, a >> 16, f64::exp2) << 16)
        }
        ("ex2", Ty::Bf16x2) => {
            un!(|a| half1(BF16, a, f64::exp2) | half1(BF16, a >> 16, f64::exp2) << 16)
        }
        ("tanh", Ty::F16) => un!(|a| half1(F16, a, f64::tanh)),
        ("tanh", Ty::Bf16) => un!(|a| half1(BF16, a, f64::tanh)),
        ("tanh", Ty::F16x2) => {
            un!(|a| half1(F16, a, f64::tanh) | half1(F16, a >> 16, f64::tanh) << 16)
        }
        ("tanh", Ty::Bf16x2) => {
            un!(|a| half1(BF16, a, f64::tanh) | half1(BF16, a >> 16, f64::tanh) << 16)
        }
        _ => return None,
    })
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

/// A comparison.
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

/// What `testp` looks for; compares with nothing, so the second operand is ignored.
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

/// A copy of that many bits.
pub fn mov(bits: u32) -> UnFn {
    match bits {
        8 => un!(|a| a & 0xff),
        16 => un!(|a| a & 0xffff),
        32 => un!(|a| a & 0xffff_ffff),
        _ => un!(|a| a),
    }
}

/// Whether all lanes are active.
pub fn is_full(mask: u32) -> bool {
    mask == FULL
}
