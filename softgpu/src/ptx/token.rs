//! Splits instructions into opcode, modifiers and operands.

use super::constant::{self, Constant};
use super::scan::Scanner;

/// Maximum nesting of operands in braces, brackets and parentheses.
const MAX_NESTING: u32 = 8;

/// An operand of an instruction, as written in the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg<'a> {
    /// A register, a special register or a symbol, with an optional component such as `.x`.
    Name(&'a str),
    /// A symbol plus a constant, `name+n`.
    NameOffset(&'a str, i64),
    /// An integer constant.
    Int(i128),
    /// A single-precision constant, as its bits.
    F32(u32),
    /// A double-precision constant, as its bits.
    F64(u64),
    /// `{a, b, …}`.
    Vector(Vec<Arg<'a>>),
    /// `[base + offset]`.
    Address(Box<Arg<'a>>, i64),
    /// `p|q`.
    Pair(Box<Arg<'a>>, Box<Arg<'a>>),
    /// `!p`.
    Not(Box<Arg<'a>>),
    /// `(a, b, …)` in a call.
    List(Vec<Arg<'a>>),
    /// `_`.
    Sink,
}

/// An instruction, split into its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct RawInst<'a> {
    /// The guard predicate's name, and whether the guard is negated.
    pub guard: Option<(&'a str, bool)>,
    /// The opcode: the text before the first dot.
    pub op: &'a str,
    /// The modifiers: the dot-separated parts after the opcode.
    pub mods: Vec<&'a str>,
    pub args: Vec<Arg<'a>>,
}

impl RawInst<'_> {
    /// Returns whether the instruction has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.mods.contains(&modifier)
    }
}

/// Reads one instruction, including its semicolon. Returns `None` if it's malformed.
pub fn instruction<'a>(scan: &mut Scanner<'a>) -> Option<RawInst<'a>> {
    let mut guard = None;
    if scan.eat(b'@') {
        let negated = scan.eat(b'!');
        guard = Some((scan.word()?, negated));
    }
    let op = scan.word()?;
    let mut mods = Vec::with_capacity(4);
    while let Some(modifier) = scan.dotted() {
        mods.push(modifier);
    }
    let mut reader = Operands { scan, call: op == "call" };
    let mut args = Vec::with_capacity(4);
    if !reader.scan.eat(b';') {
        loop {
            args.push(reader.arg(0)?);
            if reader.scan.eat(b';') {
                break;
            }
            if !reader.scan.eat(b',') {
                return None;
            }
        }
    }
    Some(RawInst { guard, op, mods, args })
}

struct Operands<'s, 'a> {
    scan: &'s mut Scanner<'a>,
    /// Whether the instruction is a call. Only in calls do parentheses enclose lists.
    call: bool,
}

impl<'a> Operands<'_, 'a> {
    fn arg(&mut self, depth: u32) -> Option<Arg<'a>> {
        let first = self.simple(depth)?;
        if self.scan.peek() == b'|' && self.scan.peek_second() != b'|' {
            self.scan.eat(b'|');
            let second = self.simple(depth)?;
            return Some(Arg::Pair(Box::new(first), Box::new(second)));
        }
        Some(first)
    }

    fn list(&mut self, end: u8, depth: u32) -> Option<Vec<Arg<'a>>> {
        if depth >= MAX_NESTING {
            return None;
        }
        let mut items = Vec::new();
        if self.scan.eat(end) {
            return Some(items);
        }
        loop {
            items.push(self.arg(depth + 1)?);
            if self.scan.eat(end) {
                return Some(items);
            }
            if !self.scan.eat(b',') {
                return None;
            }
        }
    }

    fn simple(&mut self, depth: u32) -> Option<Arg<'a>> {
        match self.scan.peek() {
            b'{' => {
                self.scan.eat(b'{');
                Some(Arg::Vector(self.list(b'}', depth)?))
            }
            b'(' if self.call => {
                self.scan.eat(b'(');
                Some(Arg::List(self.list(b')', depth)?))
            }
            b'[' => {
                self.scan.eat(b'[');
                self.address(depth)
            }
            b'!' => {
                self.scan.eat(b'!');
                let start = self.scan.position();
                if let Some(name) = self.scan.word() {
                    return Some(Arg::Not(Box::new(Arg::Name(name))));
                }
                self.scan.rewind(start);
                let Constant::Int(value, _) = constant::unary(self.scan)? else { return None };
                Some(Arg::Int((value == 0).into()))
            }
            _ => {
                let start = self.scan.position();
                let Some(name) = self.scan.word() else { return self.constant() };
                if name == "WARP_SZ" {
                    self.scan.rewind(start);
                    return self.constant();
                }
                if name == "_" {
                    return Some(Arg::Sink);
                }
                if self.scan.component() {
                    return Some(Arg::Name(self.scan.since(start)));
                }
                if self.scan.peek() == b'[' {
                    // `array[3]` is the name of an array plus an offset. It isn't an address in
                    // brackets.
                    self.scan.eat(b'[');
                    let index = self.integer()?;
                    return self.scan.eat(b']').then_some(Arg::NameOffset(name, index));
                }
                Some(match self.offsets()? {
                    None => Arg::Name(name),
                    Some(offset) => Arg::NameOffset(name, offset),
                })
            }
        }
    }

    fn constant(&mut self) -> Option<Arg<'a>> {
        Some(match constant::expression(self.scan)? {
            Constant::Int(v, true) => Arg::Int(v.into()),
            Constant::Int(v, false) => Arg::Int((v as i64).into()),
            Constant::F32(bits) => Arg::F32(bits),
            Constant::F64(bits) => Arg::F64(bits),
        })
    }

    fn integer(&mut self) -> Option<i64> {
        match constant::unary(self.scan)? {
            Constant::Int(v, _) => Some(v as i64),
            _ => None,
        }
    }

    /// Reads any number of terms `+ n` and `- n`, and returns their sum. Returns `Some(None)` if
    /// there are no terms.
    fn offsets(&mut self) -> Option<Option<i64>> {
        let mut sum = None;
        loop {
            let negative = match self.scan.peek() {
                b'+' => false,
                b'-' => true,
                _ => return Some(sum),
            };
            self.scan.eat(b'+');
            if negative {
                self.scan.eat(b'-');
            }
            let value = self.integer()?;
            let value = if negative { value.wrapping_neg() } else { value };
            sum = Some(sum.unwrap_or(0i64).wrapping_add(value));
        }
    }

    fn address(&mut self, depth: u32) -> Option<Arg<'a>> {
        if depth >= MAX_NESTING {
            return None;
        }
        let (base, offset) = match self.simple(depth + 1)? {
            Arg::NameOffset(name, offset) => (Arg::Name(name), offset),
            other => (other, 0),
        };
        if self.scan.eat(b',') {
            // In `[tensor, {…}]` and `[a, b]`, represent the elements as a vector in the address.
            let mut items = vec![base];
            items.extend(self.list(b']', depth)?);
            return Some(Arg::Address(Box::new(Arg::Vector(items)), 0));
        }
        let offset = offset.wrapping_add(self.offsets()?.unwrap_or(0));
        self.scan.eat(b']').then_some(Arg::Address(Box::new(base), offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<RawInst<'_>> {
        instruction(&mut Scanner::new(text, 0, text.len()))
    }

    #[test]
    fn test_parse_splits_opcode_modifiers_operands() {
        let inst =
            parse("@!%p1 ld.global.nc.L1::no_allocate.v2.f32 {%f1, %f2}, [%rd1+-4];").unwrap();
        assert_eq!(inst.guard, Some(("%p1", true)));
        assert_eq!(inst.op, "ld");
        assert_eq!(inst.mods, ["global", "nc", "L1::no_allocate", "v2", "f32"]);
        assert_eq!(inst.args[0], Arg::Vector(vec![Arg::Name("%f1"), Arg::Name("%f2")]));
        assert_eq!(inst.args[1], Arg::Address(Box::new(Arg::Name("%rd1")), -4));
    }

    #[test]
    fn test_parse_call_keeps_lists() {
        let inst = parse("call.uni (retval0), vprintf, (param0, param1);").unwrap();
        assert_eq!(inst.args[1], Arg::Name("vprintf"));
        assert_eq!(inst.args[2], Arg::List(vec![Arg::Name("param0"), Arg::Name("param1")]));
    }

    #[test]
    fn test_parse_constants() {
        for (text, want) in [
            ("mov.u32 %r1, 0x1F;", Arg::Int(31)),
            ("mov.u32 %r1, -7;", Arg::Int(-7)),
            ("mov.f32 %f1, 0f3F800000;", Arg::F32(0x3f80_0000)),
            ("mov.f32 %f1, -1.0;", Arg::F64((-1f64).to_bits())),
            ("mov.u32 %r1, 017U;", Arg::Int(15)),
            ("mov.u32 %r1, (2+3)*4;", Arg::Int(20)),
            ("mov.u32 %r1, 1 << 4 | 1;", Arg::Int(17)),
            ("mov.u32 %r1, %tid.x;", Arg::Name("%tid.x")),
            ("mov.u64 %r1, table+8;", Arg::NameOffset("table", 8)),
            ("mov.u64 %r1, table+8-4;", Arg::NameOffset("table", 4)),
        ] {
            assert_eq!(parse(text).unwrap().args[1], want, "{text}");
        }
    }

    #[test]
    fn test_malformed_instructions() {
        for text in ["add.u32 %r1 %r2;", "add.u32 %r1,, %r2;", "ld.u32 %r1, [%r2;", "add.u32 %r1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!("mov.b32 %r1, {}", "{".repeat(100_000))), None);
    }
}
