//! Bit and byte operations on a whole warp, with one function per opcode and type.

use super::alu::Part;
use super::cvt;
use super::lanes::{bin, f32_of, tern, un};
use super::round::Mode;
use crate::ptx::ir::{BinFn, TernFn, UnFn};
use crate::ptx::types::Ty;

/// Returns the position of the most significant bit that differs from the sign bit, or 0xffffffff
/// if there is none. With `shift`, returns by how much the value must be shifted left to move that
/// bit to the top.
fn bfind(value: u64, signed: bool, bits: u32, shift: bool) -> u64 {
    let value = if signed && value >> (bits - 1) & 1 == 1 { !value } else { value };
    let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
    if value == 0 {
        return 0xffff_ffff;
    }
    let at = 63 - value.leading_zeros();
    u64::from(if shift { bits - 1 - at } else { at })
}

/// Returns the function for a bit operation with one operand.
pub fn unary(op: &str, ty: Ty, shift: bool) -> Option<UnFn> {
    Some(match (op, ty.bits()) {
        ("not", 16) => un!(|a| !a & 0xffff),
        ("not", 32) => un!(|a| !a & 0xffff_ffff),
        ("not", 64) => un!(|a| !a),
        ("cnot", 16) => un!(|a| u64::from(a as u16 == 0)),
        ("cnot", 32) => un!(|a| u64::from(a as u32 == 0)),
        ("cnot", 64) => un!(|a| u64::from(a == 0)),
        ("popc", 32) => un!(|a| u64::from((a as u32).count_ones())),
        ("popc", 64) => un!(|a| u64::from(a.count_ones())),
        ("clz", 32) => un!(|a| u64::from((a as u32).leading_zeros())),
        ("clz", 64) => un!(|a| u64::from(a.leading_zeros())),
        ("brev", 32) => un!(|a| u64::from((a as u32).reverse_bits())),
        ("brev", 64) => un!(|a| a.reverse_bits()),
        ("bfind", _) => match (ty, shift) {
            (Ty::U32, false) => un!(|a| bfind(a, false, 32, false)),
            (Ty::S32, false) => un!(|a| bfind(a, true, 32, false)),
            (Ty::U64, false) => un!(|a| bfind(a, false, 64, false)),
            (Ty::S64, false) => un!(|a| bfind(a, true, 64, false)),
            (Ty::U32, true) => un!(|a| bfind(a, false, 32, true)),
            (Ty::S32, true) => un!(|a| bfind(a, true, 32, true)),
            (Ty::U64, true) => un!(|a| bfind(a, false, 64, true)),
            (Ty::S64, true) => un!(|a| bfind(a, true, 64, true)),
            _ => return None,
        },
        _ => return None,
    })
}

fn extract_field(value: u64, start: u64, length: u64, bits: u32, signed: bool) -> u64 {
    let (start, length) = ((start & 0xff) as u32, (length & 0xff) as u32);
    let sign_at = (start + length).saturating_sub(1).min(bits - 1);
    let sign = signed && length != 0 && value >> sign_at & 1 == 1;
    let field = if start >= bits { 0 } else { value >> start };
    let available = bits.saturating_sub(start);
    let kept = length.min(available);
    let low = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    let field = field & low;
    let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    if sign && length < bits + start { (field | !low) & all } else { field }
}

/// Returns the function for bit-field extraction.
pub fn bfe(ty: Ty) -> Option<TernFn> {
    Some(match ty {
        Ty::U32 => tern!(|a, b, c| extract_field(a & 0xffff_ffff, b, c, 32, false)),
        Ty::S32 => tern!(|a, b, c| extract_field(a & 0xffff_ffff, b, c, 32, true)),
        Ty::U64 => tern!(|a, b, c| extract_field(a, b, c, 64, false)),
        Ty::S64 => tern!(|a, b, c| extract_field(a, b, c, 64, true)),
        _ => return None,
    })
}

/// Returns a function that packs the start and length of a bit field into one operand for [`bfi`].
pub fn field() -> BinFn {
    bin!(|a, b| (a & 0xff) | (b & 0xff) << 8)
}

fn insert_field(a: u64, b: u64, place: u64, bits: u32) -> u64 {
    let (start, length) = ((place & 0xff) as u32, (place >> 8 & 0xff) as u32);
    if start >= bits || length == 0 {
        return b;
    }
    let length = length.min(bits - start);
    let mask = (if length >= 64 { u64::MAX } else { (1 << length) - 1 }) << start;
    (b & !mask) | (a << start & mask)
}

/// Returns the function for bit-field insertion, whose third operand is packed by [`field`].
pub fn bfi(ty: Ty) -> Option<TernFn> {
    Some(match ty.bits() {
        32 => tern!(|a, b, c| insert_field(a, b, c, 32) & 0xffff_ffff),
        64 => tern!(|a, b, c| insert_field(a, b, c, 64)),
        _ => return None,
    })
}

/// Returns the function for `bmsk`, which makes a mask of a given start and length.
pub fn bmsk(clamp: bool) -> BinFn {
    fn mask(start: u64, length: u64) -> u64 {
        if start >= 32 || length == 0 {
            return 0;
        }
        (((1u64 << length.min(32)) - 1) << start) & 0xffff_ffff
    }
    if clamp {
        bin!(|a, b| mask(a & 0xffff_ffff, b & 0xffff_ffff))
    } else {
        bin!(|a, b| mask(a & 31, b & 31))
    }
}

/// Returns the function for `szext`, which sign- or zero-extends the low bits of a value.
pub fn szext(ty: Ty, clamp: bool) -> Option<BinFn> {
    fn extend(value: u64, bits: u64, signed: bool) -> u64 {
        match bits {
            0 => 0,
            32.. => value & 0xffff_ffff,
            n if signed => (((value << (64 - n)) as i64) >> (64 - n)) as u32 as u64,
            n => value & ((1 << n) - 1),
        }
    }
    Some(match (ty, clamp) {
        (Ty::S32, true) => bin!(|a, b| extend(a, b & 0xffff_ffff, true)),
        (Ty::U32, true) => bin!(|a, b| extend(a, b & 0xffff_ffff, false)),
        (Ty::S32, false) => bin!(|a, b| extend(a, b & 31, true)),
        (Ty::U32, false) => bin!(|a, b| extend(a, b & 31, false)),
        _ => return None,
    })
}

/// Returns the function for `fns`, which finds the n-th set bit from a given position.
pub fn fns() -> TernFn {
    fn find(mask: u32, base: u32, offset: i32) -> u64 {
        if base >= 32 {
            return 0xffff_ffff;
        }
        if offset == 0 {
            return if mask >> base & 1 == 1 { u64::from(base) } else { 0xffff_ffff };
        }
        let mut left = offset.unsigned_abs();
        let mut at = i64::from(base);
        while (0..32).contains(&at) {
            if mask >> at & 1 == 1 {
                left -= 1;
                if left == 0 {
                    return at as u64;
                }
            }
            at += if offset > 0 { 1 } else { -1 };
        }
        0xffff_ffff
    }
    tern!(|a, b, c| find(a as u32, b as u32, c as i32))
}

/// Returns the function for `prmt`, which permutes bytes.
pub fn prmt(how: Option<&str>) -> Option<TernFn> {
    fn permute(a: u64, b: u64, selectors: [u8; 4]) -> u64 {
        let bytes = ((a & 0xffff_ffff) | b << 32).to_le_bytes();
        let mut out = [0u8; 4];
        for (d, selector) in out.iter_mut().zip(selectors) {
            let byte = bytes[usize::from(selector & 7)];
            *d = if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        }
        u64::from(u32::from_le_bytes(out))
    }
    Some(match how {
        None => tern!(|a, b, c| permute(a, b, [0, 4, 8, 12].map(|s| (c >> s & 15) as u8))),
        Some("f4e") => {
            tern!(|a, b, c| permute(a, b, [0, 1, 2, 3].map(|i| (i + (c & 3) as u8) & 7)))
        }
        Some("b4e") => {
            tern!(|a, b, c| permute(a, b, [0, 7, 6, 5].map(|i| (i + (c & 3) as u8) & 7)))
        }
        Some("rc8") => tern!(|a, b, c| permute(a, b, [(c & 3) as u8; 4])),
        Some("ecl") => {
            tern!(|a, b, c| permute(a, b, [0, 1, 2, 3].map(|i: u8| i.max((c & 3) as u8))))
        }
        Some("ecr") => {
            tern!(|a, b, c| permute(a, b, [0, 1, 2, 3].map(|i: u8| i.min((c & 3) as u8))))
        }
        Some("rc16") => {
            tern!(|a, b, c| permute(a, b, [0, 1, 0, 1].map(|i| i + 2 * (c & 1) as u8)))
        }
        _ => return None,
    })
}

/// Returns the function for a funnel shift. With `wrap`, the shift amount is taken modulo 32.
/// Otherwise, it is clamped to 32.
pub fn shf(left: bool, wrap: bool) -> TernFn {
    fn both(a: u64, b: u64) -> u64 {
        (a & 0xffff_ffff) | b << 32
    }
    match (left, wrap) {
        (true, true) => tern!(|a, b, c| (both(a, b) << (c & 31)) >> 32),
        (true, false) => tern!(|a, b, c| (both(a, b) << (c & 0xffff_ffff).min(32)) >> 32),
        (false, true) => tern!(|a, b, c| (both(a, b) >> (c & 31)) & 0xffff_ffff),
        (false, false) => {
            tern!(|a, b, c| (both(a, b) >> (c & 0xffff_ffff).min(32)) & 0xffff_ffff)
        }
    }
}

/// Returns the function for `sad`, which adds the absolute difference of two operands to a third.
pub fn sad(ty: Ty) -> Option<TernFn> {
    Some(match ty {
        Ty::U16 => tern!(|a, b, c| u64::from((a as u16).abs_diff(b as u16).wrapping_add(c as u16))),
        Ty::S16 => tern!(|a, b, c| u64::from((a as i16).abs_diff(b as i16).wrapping_add(c as u16))),
        Ty::U32 => tern!(|a, b, c| u64::from((a as u32).abs_diff(b as u32).wrapping_add(c as u32))),
        Ty::S32 => tern!(|a, b, c| u64::from((a as i32).abs_diff(b as i32).wrapping_add(c as u32))),
        Ty::U64 => tern!(|a, b, c| a.abs_diff(b).wrapping_add(c)),
        Ty::S64 => tern!(|a, b, c| (a as i64).abs_diff(b as i64).wrapping_add(c)),
        _ => return None,
    })
}

/// Returns the function for `slct`, which returns the first operand if the third one isn't
/// negative, and the second one otherwise.
pub fn slct(selector: Ty) -> Option<TernFn> {
    Some(match selector {
        Ty::S32 => tern!(|a, b, c| if c as i32 >= 0 { a } else { b }),
        Ty::F32 => tern!(|a, b, c| if f32_of(c) >= 0.0 { a } else { b }),
        _ => return None,
    })
}

fn byte(word: u64, i: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * i)) as u8;
    if signed { i32::from(byte as i8) } else { i32::from(byte) }
}

fn half(word: u64, i: u32, signed: bool) -> i32 {
    let half = (word >> (16 * i)) as u16;
    if signed { i32::from(half as i16) } else { i32::from(half) }
}

fn dot4(a: u64, b: u64, c: u64, signed: [bool; 2]) -> u64 {
    let sum = (0..4).fold(c as u32, |sum, i| {
        sum.wrapping_add((byte(a, i, signed[0]) * byte(b, i, signed[1])) as u32)
    });
    u64::from(sum)
}

fn dot2(a: u64, b: u64, c: u64, signed: [bool; 2], first: u32) -> u64 {
    let sum = (0..2).fold(c as u32, |sum, i| {
        sum.wrapping_add(half(a, i, signed[0]).wrapping_mul(byte(b, first + i, signed[1])) as u32)
    });
    u64::from(sum)
}

/// Returns the function for the dot product of two vectors of four bytes.
pub fn dp4a(signed: [bool; 2]) -> TernFn {
    match signed {
        [false, false] => tern!(|a, b, c| dot4(a, b, c, [false, false])),
        [false, true] => tern!(|a, b, c| dot4(a, b, c, [false, true])),
        [true, false] => tern!(|a, b, c| dot4(a, b, c, [true, false])),
        [true, true] => tern!(|a, b, c| dot4(a, b, c, [true, true])),
    }
}

/// Returns the function for the dot product of two halfwords of the first operand and two bytes of
/// the second. With `hi`, uses the upper two bytes of the second operand, otherwise the lower two.
pub fn dp2a(signed: [bool; 2], hi: bool) -> TernFn {
    match (signed, hi) {
        ([false, false], false) => tern!(|a, b, c| dot2(a, b, c, [false, false], 0)),
        ([false, true], false) => tern!(|a, b, c| dot2(a, b, c, [false, true], 0)),
        ([true, false], false) => tern!(|a, b, c| dot2(a, b, c, [true, false], 0)),
        ([true, true], false) => tern!(|a, b, c| dot2(a, b, c, [true, true], 0)),
        ([false, false], true) => tern!(|a, b, c| dot2(a, b, c, [false, false], 2)),
        ([false, true], true) => tern!(|a, b, c| dot2(a, b, c, [false, true], 2)),
        ([true, false], true) => tern!(|a, b, c| dot2(a, b, c, [true, false], 2)),
        ([true, true], true) => tern!(|a, b, c| dot2(a, b, c, [true, true], 2)),
    }
}

/// Returns a function that extracts `width` bits from the first operand at the position in the
/// second.
pub fn extract(width: u32) -> Option<BinFn> {
    Some(match width {
        8 => bin!(|a, b| (a >> (b & 63)) & 0xff),
        16 => bin!(|a, b| (a >> (b & 63)) & 0xffff),
        32 => bin!(|a, b| (a >> (b & 63)) & 0xffff_ffff),
        64 => bin!(|a, _b| a),
        _ => return None,
    })
}

/// Returns a function that inserts `width` bits of the second operand into the first at the
/// position in the third. The first operand must be 0 there.
pub fn insert(width: u32) -> Option<TernFn> {
    Some(match width {
        8 => tern!(|a, b, c| a | (b & 0xff) << (c & 63)),
        16 => tern!(|a, b, c| a | (b & 0xffff) << (c & 63)),
        32 => tern!(|a, b, c| a | (b & 0xffff_ffff) << (c & 63)),
        _ => return None,
    })
}

/// Returns a function that converts two singles and packs them into a pair of half-precision
/// values.
pub fn pack_halves(dst: Ty, mode: Mode, relu: bool) -> Option<BinFn> {
    Some(match (dst, mode, relu) {
        (Ty::F16x2, Mode::Nearest, false) => {
            bin!(|a, b| cvt::pack(Ty::F16x2, Mode::Nearest, false, a, b))
        }
        (Ty::F16x2, Mode::Zero, false) => {
            bin!(|a, b| cvt::pack(Ty::F16x2, Mode::Zero, false, a, b))
        }
        (Ty::F16x2, Mode::Nearest, true) => {
            bin!(|a, b| cvt::pack(Ty::F16x2, Mode::Nearest, true, a, b))
        }
        (Ty::Bf16x2, Mode::Nearest, false) => {
            bin!(|a, b| cvt::pack(Ty::Bf16x2, Mode::Nearest, false, a, b))
        }
        (Ty::Bf16x2, Mode::Zero, false) => {
            bin!(|a, b| cvt::pack(Ty::Bf16x2, Mode::Zero, false, a, b))
        }
        (Ty::Bf16x2, Mode::Nearest, true) => {
            bin!(|a, b| cvt::pack(Ty::Bf16x2, Mode::Nearest, true, a, b))
        }
        _ => return None,
    })
}

/// Returns one function for both the multiplication and the addition of a multiply-add. Returns
/// `None` for a variant that compilers rarely emit.
pub fn mad(part: Part, ty: Ty) -> Option<TernFn> {
    Some(match (part, ty) {
        (Part::Lo, Ty::S32 | Ty::U32) => {
            tern!(|a, b, c| u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32)))
        }
        (Part::Lo, Ty::S64 | Ty::U64) => tern!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        (Part::Wide, Ty::S32) => {
            tern!(
                |a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
            )
        }
        (Part::Wide, Ty::U32) => {
            tern!(|a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c))
        }
        _ => return None,
    })
}

/// Returns the function for a SIMD operation on bytes or halfwords. With `accumulate`, the function
/// adds the sum of the results to the third operand.
pub fn video(name: &str, signed: bool, accumulate: bool) -> Option<TernFn> {
    fn each(a: u64, b: u64, bytes: bool, signed: bool, f: impl Fn(i32, i32) -> i32) -> (u64, i32) {
        let (count, get): (u32, fn(u64, u32, bool) -> i32) =
            if bytes { (4, byte) } else { (2, half) };
        let (mut packed, mut sum) = (0u64, 0i32);
        for i in 0..count {
            let value = f(get(a, i, signed), get(b, i, signed));
            sum = sum.wrapping_add(value);
            let part = if bytes {
                u64::from(value as u8) << (8 * i)
            } else {
                u64::from(value as u16) << (16 * i)
            };
            packed |= part;
        }
        (packed, sum)
    }
    macro_rules! build {
        ($bytes:expr, $f:expr) => {
            match (signed, accumulate) {
                (false, false) => tern!(|a, b, _c| each(a, b, $bytes, false, $f).0),
                (true, false) => tern!(|a, b, _c| each(a, b, $bytes, true, $f).0),
                (false, true) => {
                    tern!(|a, b, c| (each(a, b, $bytes, false, $f).1 as u32)
                        .wrapping_add(c as u32)
                        .into())
                }
                (true, true) => {
                    tern!(|a, b, c| (each(a, b, $bytes, true, $f).1 as u32)
                        .wrapping_add(c as u32)
                        .into())
                }
            }
        };
    }
    Some(match name {
        "vadd4" => build!(true, |x, y| x + y),
        "vsub4" => build!(true, |x, y| x - y),
        "vabsdiff4" => build!(true, |x, y| (x - y).abs()),
        "vmin4" => build!(true, |x, y| x.min(y)),
        "vmax4" => build!(true, |x, y| x.max(y)),
        "vavrg4" => build!(true, |x, y| (x + y + 1) >> 1),
        "vadd2" => build!(false, |x, y| x + y),
        "vsub2" => build!(false, |x, y| x - y),
        "vabsdiff2" => build!(false, |x, y| (x - y).abs()),
        "vmin2" => build!(false, |x, y| x.min(y)),
        "vmax2" => build!(false, |x, y| x.max(y)),
        "vavrg2" => build!(false, |x, y| (x + y + 1) >> 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run3(f: TernFn, a: u64, b: u64, c: u64) -> u64 {
        let mut d = [0; 32];
        f(&mut d, &[a; 32], &[b; 32], &[c; 32], 1);
        d[0]
    }

    #[test]
    fn test_bit_fields() {
        let s32 = bfe(Ty::S32).unwrap();
        assert_eq!(run3(s32, 0x0000_0f80, 7, 5), 0xffff_ffff);
        assert_eq!(run3(s32, 0x8000_0000, 28, 8), 0xffff_fff8);
        assert_eq!(run3(bfe(Ty::U32).unwrap(), 0xabcd_1234, 8, 8), 0x12);
        assert_eq!(run3(bfe(Ty::U64).unwrap(), !0, 0, 64), !0);
        let place = 4 | 8 << 8;
        assert_eq!(run3(bfi(Ty::B32).unwrap(), 0xff, 0, place), 0xff0);
        assert_eq!(run3(bfi(Ty::B32).unwrap(), 0, 0xffff_ffff, place), 0xffff_f00f);
    }

    #[test]
    fn test_permute_and_funnel() {
        let plain = prmt(None).unwrap();
        assert_eq!(run3(plain, 0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(run3(plain, 0x0000_0080, 0, 0x8888), 0xffff_ffff);
        assert_eq!(run3(shf(true, true), 0x8000_0000, 1, 1), 3);
        assert_eq!(run3(shf(false, false), 1, 2, 40), 2);
    }

    #[test]
    fn test_dot_and_video() {
        assert_eq!(run3(dp4a([true, true]), 0xff02_0304, 0x0101_0101, 10), 18);
        assert_eq!(
            run3(video("vabsdiff4", false, true).unwrap(), 0x05ff_0000, 0x0a00_0001, 1),
            262
        );
        assert_eq!(run3(fns(), 0b1011_0000, 0, 2), 5);
    }
}
