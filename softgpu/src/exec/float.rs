//! Floating-point arithmetic on a whole warp, with one function per opcode, type and variant.

use super::lanes::{bin, f32_of, f64_of, from_f32, from_f64, ftz, sat_f32, sat_f64, tern, un};
use super::round::{self, BF16, F16, Mode, Small};
use crate::ptx::ir::{BinFn, TernFn, UnFn};
use crate::ptx::types::Ty;

/// The variant of a floating-point operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    pub mode: Mode,
    /// Whether to flush subnormals to zero.
    pub ftz: bool,
    /// Whether to clamp to [0, 1].
    pub sat: bool,
    /// Whether `min` and `max` return NaN if an operand is NaN.
    pub nan: bool,
    /// Whether to clamp negative results to 0.
    pub relu: bool,
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

macro_rules! float_bin {
    // Selects a function for each rounding mode and each combination of modifiers.
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

/// Makes a function for an operation on half-precision values. It computes in double precision and
/// rounds once.
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

/// Computes a fused multiply-add on half-precision values. The product is exact in a double. The
/// sum is rounded to odd, so rounding it to half precision gives the correctly rounded result.
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

/// Returns the function for a floating-point operation with two operands.
pub fn binary(op: &str, ty: Ty, v: Float) -> Option<BinFn> {
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

/// Returns the function for fused multiply-add, which uses the CPU's FMA instruction if available.
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

/// Returns the function for a reciprocal, a root or a transcendental function.
pub fn unary(op: &str, ty: Ty, v: Float, approx: bool) -> Option<UnFn> {
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
        // The result is the upper 32 bits of a double. The lower bits are 0.
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
