//! Evaluates constant expressions. Integers have 64 bits, as the PTX ISA requires.

use super::scan::{Number, Scanner};

/// Maximum nesting of parentheses and unary operators, which bounds the recursion.
const MAX_DEPTH: u32 = 64;

/// The value of a constant expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// A 64-bit integer. The flag says whether its type is unsigned.
    Int(u64, bool),
    /// The bits of a single-precision number.
    F32(u32),
    /// The bits of a double-precision number.
    F64(u64),
}

/// Binary operators and their precedence. The first match wins, so an operator that is a prefix of
/// another one comes after it.
const OPERATORS: &[(&str, u32)] = &[
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

/// Reads a constant expression. Returns `None` if there is no expression at this position, or if
/// it's invalid.
pub fn expression(scan: &mut Scanner<'_>) -> Option<Constant> {
    conditional(scan, 0)
}

/// Reads a constant, which unary operators may precede.
pub fn unary(scan: &mut Scanner<'_>) -> Option<Constant> {
    prefixed(scan, 0)
}

fn conditional(scan: &mut Scanner<'_>, depth: u32) -> Option<Constant> {
    let condition = binary(scan, 1, depth)?;
    if !scan.eat(b'?') {
        return Some(condition);
    }
    let depth = deeper(depth)?;
    let (yes, colon) = (conditional(scan, depth)?, scan.eat(b':'));
    if !colon {
        return None;
    }
    let no = conditional(scan, depth)?;
    Some(if truth(condition)? { yes } else { no })
}

fn deeper(depth: u32) -> Option<u32> {
    (depth < MAX_DEPTH).then_some(depth + 1)
}

fn operator(scan: &mut Scanner<'_>) -> Option<(&'static str, u32)> {
    let (first, second) = (scan.peek(), scan.peek_second());
    OPERATORS.iter().copied().find(|(name, _)| match name.as_bytes() {
        [a] => first == *a,
        [a, b] => first == *a && second == *b,
        _ => false,
    })
}

fn binary(scan: &mut Scanner<'_>, lowest: u32, depth: u32) -> Option<Constant> {
    let depth = deeper(depth)?;
    let mut left = prefixed(scan, depth)?;
    while let Some((name, precedence)) = operator(scan).filter(|(_, p)| *p >= lowest) {
        for byte in name.bytes() {
            scan.eat(byte);
        }
        let right = binary(scan, precedence + 1, depth)?;
        left = apply(name, left, right)?;
    }
    Some(left)
}

fn prefixed(scan: &mut Scanner<'_>, depth: u32) -> Option<Constant> {
    let depth = deeper(depth)?;
    match scan.peek() {
        b'+' => {
            scan.eat(b'+');
            prefixed(scan, depth)
        }
        b'-' => {
            scan.eat(b'-');
            Some(match prefixed(scan, depth)? {
                Constant::Int(v, unsigned) => Constant::Int(v.wrapping_neg(), unsigned),
                Constant::F32(bits) => Constant::F32(bits ^ 1 << 31),
                Constant::F64(bits) => Constant::F64(bits ^ 1 << 63),
            })
        }
        b'~' => {
            scan.eat(b'~');
            let Constant::Int(v, unsigned) = prefixed(scan, depth)? else { return None };
            Some(Constant::Int(!v, unsigned))
        }
        b'!' => {
            scan.eat(b'!');
            let value = prefixed(scan, depth)?;
            Some(Constant::Int((!truth(value)?).into(), false))
        }
        b'(' => {
            scan.eat(b'(');
            if let Some(ty) = scan.dotted() {
                // PTX allows casts only to .s64 and .u64.
                let unsigned = match ty {
                    "u64" => true,
                    "s64" => false,
                    _ => return None,
                };
                if !scan.eat(b')') {
                    return None;
                }
                let Constant::Int(v, _) = prefixed(scan, depth)? else { return None };
                return Some(Constant::Int(v, unsigned));
            }
            let value = conditional(scan, depth)?;
            scan.eat(b')').then_some(value)
        }
        _ => literal(scan),
    }
}

fn literal(scan: &mut Scanner<'_>) -> Option<Constant> {
    let start = scan.position();
    if let Some(word) = scan.word() {
        if word == "WARP_SZ" {
            return Some(Constant::Int(32, false));
        }
        scan.rewind(start);
        return None;
    }
    Some(match scan.number()? {
        Number::Int(v, unsigned) => Constant::Int(v as u64, unsigned || v > i128::from(i64::MAX)),
        Number::F32(bits) => Constant::F32(bits),
        Number::F64(bits) => Constant::F64(bits),
    })
}

fn truth(value: Constant) -> Option<bool> {
    match value {
        Constant::Int(v, _) => Some(v != 0),
        _ => None,
    }
}

fn apply(operator: &str, left: Constant, right: Constant) -> Option<Constant> {
    if let (Constant::Int(a, left), Constant::Int(b, right)) = (left, right) {
        return integers(operator, a, b, left || right, left);
    }
    let (a, b) = (double(left), double(right));
    let value = match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "<" => return Some(Constant::Int((a < b).into(), false)),
        "<=" => return Some(Constant::Int((a <= b).into(), false)),
        ">" => return Some(Constant::Int((a > b).into(), false)),
        ">=" => return Some(Constant::Int((a >= b).into(), false)),
        "==" => return Some(Constant::Int((a == b).into(), false)),
        "!=" => return Some(Constant::Int((a != b).into(), false)),
        _ => return None,
    };
    Some(Constant::F64(value.to_bits()))
}

fn double(value: Constant) -> f64 {
    match value {
        Constant::Int(v, true) => v as f64,
        Constant::Int(v, false) => v as i64 as f64,
        Constant::F32(bits) => f32::from_bits(bits).into(),
        Constant::F64(bits) => f64::from_bits(bits),
    }
}

/// Applies an operator to two integers. A result is unsigned if `unsigned` is set, except that a
/// shift has the type of its left operand.
fn integers(operator: &str, a: u64, b: u64, unsigned: bool, left: bool) -> Option<Constant> {
    let order = if unsigned { a.cmp(&b) } else { (a as i64).cmp(&(b as i64)) };
    let truth = |value: bool| Some(Constant::Int(value.into(), false));
    let value = match operator {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return None,
        "/" if unsigned => a / b,
        "/" => (a as i64).wrapping_div(b as i64) as u64,
        "%" if unsigned => a % b,
        "%" => (a as i64).wrapping_rem(b as i64) as u64,
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => return Some(Constant::Int(if b < 64 { a << b } else { 0 }, left)),
        ">>" => {
            let places = b.min(63) as u32;
            let value = match left {
                true if b >= 64 => 0,
                true => a >> places,
                false => ((a as i64) >> places) as u64,
            };
            return Some(Constant::Int(value, left));
        }
        "<" => return truth(order.is_lt()),
        "<=" => return truth(order.is_le()),
        ">" => return truth(order.is_gt()),
        ">=" => return truth(order.is_ge()),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "&&" => return truth(a != 0 && b != 0),
        "||" => return truth(a != 0 || b != 0),
        _ => return None,
    };
    Some(Constant::Int(value, unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_expressions_have_their_values() {
        for (text, want) in [
            ("-125", Some(-125)),
            ("- - 3", Some(3)),
            ("~0", Some(-1)),
            ("2 + 3 * 4", Some(14)),
            ("(2 + 3) * 4 - 1", Some(19)),
            ("1 << 4 | 3", Some(19)),
            ("-8 >> 1", Some(-4)),
            ("10 - 3 - 2", Some(5)),
            ("7 / -2", Some(-3)),
            ("1 < 2 ? 10 : 20", Some(10)),
            ("!5 || 0", Some(0)),
            ("WARP_SZ * 2", Some(64)),
            ("(.u64) -1 / 2", Some(i64::MAX)),
            ("0xFFFFFFFFFFFFFFFF >> 63", Some(1)),
            ("5 / 0", None),
            ("(1", None),
            ("", None),
        ] {
            let value = expression(&mut Scanner::new(text, 0, text.len()));
            let value = value.map(|v| match v {
                Constant::Int(v, _) => v as i64,
                other => panic!("{text}: {other:?}"),
            });
            assert_eq!(value, want, "{text}");
        }
        let text = "-1.5 * 2";
        let value = expression(&mut Scanner::new(text, 0, text.len()));
        assert_eq!(value, Some(Constant::F64((-3f64).to_bits())));
        let deep = "(".repeat(100_000);
        assert_eq!(expression(&mut Scanner::new(&deep, 0, deep.len())), None);
    }
}
