//! Splits instructions into opcode, modifiers and operands.
//!
//! ptx-syntax checks the grammar and locates the instructions. Lowering uses the simple form in
//! this module for all opcodes, instead of ptx-syntax's type per opcode.

use ptx_syntax::{PtxToken, tokenize};

/// An operand of an instruction, as written in the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A register, a special register or a symbol, with an optional component such as `.x`.
    Name(String),
    /// A symbol plus a constant, `name+n`.
    NameOffset(String, i64),
    /// An integer literal.
    Int(i128),
    /// A single-precision literal, as its bits.
    F32(u32),
    /// A double-precision literal, as its bits.
    F64(u64),
    /// `{a, b, …}`.
    Vector(Vec<Arg>),
    /// `[base + offset]`.
    Address(Box<Arg>, i64),
    /// `p|q`.
    Pair(Box<Arg>, Box<Arg>),
    /// `!p`.
    Not(Box<Arg>),
    /// `(a, b, …)` in a call.
    List(Vec<Arg>),
    /// `_`.
    Sink,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct RawInst {
    /// The opcode: the text before the first dot.
    pub op: String,
    /// The modifiers: the dot-separated parts after the opcode.
    pub mods: Vec<String>,
    /// The operands.
    pub args: Vec<Arg>,
}

impl RawInst {
    /// Returns whether the instruction has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.mods.iter().any(|m| m == modifier)
    }
}

/// Parses an integer or floating-point literal.
pub fn literal(token: &PtxToken) -> Option<Arg> {
    let text = token.as_str();
    Some(match token {
        PtxToken::HexFloatSingle(_) => Arg::F32(u32::from_str_radix(&text[2..], 16).ok()?),
        PtxToken::HexFloatDouble(_) => Arg::F64(u64::from_str_radix(&text[2..], 16).ok()?),
        PtxToken::HexInteger(_)
        | PtxToken::BinaryInteger(_)
        | PtxToken::OctalInteger(_)
        | PtxToken::DecimalInteger(_) => Arg::Int(integer(text)?),
        PtxToken::Float(_) | PtxToken::FloatExponent(_) => {
            Arg::F64(text.parse::<f64>().ok()?.to_bits())
        }
        _ => return None,
    })
}

/// Parses a PTX integer literal.
pub fn integer(text: &str) -> Option<i128> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        (hex, 16)
    } else if let Some(bin) = text.strip_prefix("0b").or(text.strip_prefix("0B")) {
        (bin, 2)
    } else if text.len() > 1 && text.starts_with('0') {
        (&text[1..], 8)
    } else {
        (text, 10)
    };
    i128::from_str_radix(digits, radix).ok()
}

/// Parses a literal from the syntax tree, which may start with a sign.
pub fn literal_text(text: &str) -> Option<Arg> {
    let tokens = tokenize(text).ok()?;
    let mut parser = Parser { tokens: tokens.into_iter().map(|(t, _)| t).collect(), at: 0 };
    let arg = parser.number()?;
    (parser.at == parser.tokens.len()).then_some(arg)
}

/// Parses the text of one instruction, which may include a predicate and a semicolon.
pub fn parse(text: &str) -> Option<RawInst> {
    let tokens = tokenize(text).ok()?;
    let mut parser = Parser { tokens: tokens.into_iter().map(|(t, _)| t).collect(), at: 0 };
    parser.instruction()
}

struct Parser {
    tokens: Vec<PtxToken>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&PtxToken> {
        self.tokens.get(self.at)
    }

    fn eat(&mut self, token: &PtxToken) -> bool {
        let hit = self.peek() == Some(token);
        self.at += usize::from(hit);
        hit
    }

    fn word(&mut self) -> Option<String> {
        match self.peek()? {
            PtxToken::Identifier(s) | PtxToken::Register(s) => {
                let s = s.clone();
                self.at += 1;
                Some(s)
            }
            _ => None,
        }
    }

    fn instruction(&mut self) -> Option<RawInst> {
        if self.eat(&PtxToken::At) {
            self.eat(&PtxToken::Exclaim);
            self.word()?;
        }
        let op = self.word()?;
        let mut mods = Vec::new();
        while self.eat(&PtxToken::Dot) {
            // Modifiers such as .1d or .16x8 start with a digit and are two tokens.
            let mut name = String::new();
            loop {
                let word = match self.peek()? {
                    PtxToken::Identifier(s)
                    | PtxToken::DecimalInteger(s)
                    | PtxToken::OctalInteger(s)
                    | PtxToken::HexInteger(s)
                    | PtxToken::BinaryInteger(s) => s.clone(),
                    _ => return None,
                };
                name.push_str(&word);
                self.at += 1;
                if name.chars().all(|c| c.is_ascii_digit())
                    && matches!(self.peek(), Some(PtxToken::Identifier(_)))
                {
                    continue;
                }
                if self.eat(&PtxToken::DoubleColon) {
                    name.push_str("::");
                    continue;
                }
                break;
            }
            mods.push(name);
        }
        let mut args = Vec::new();
        while let Some(token) = self.peek() {
            match token {
                PtxToken::Semicolon => break,
                PtxToken::Comma => self.at += 1,
                _ => args.push(self.arg()?),
            }
        }
        Some(RawInst { op, mods, args })
    }

    fn arg(&mut self) -> Option<Arg> {
        let first = self.simple()?;
        if self.eat(&PtxToken::Pipe) {
            let second = self.simple()?;
            return Some(Arg::Pair(Box::new(first), Box::new(second)));
        }
        Some(first)
    }

    fn list(&mut self, end: &PtxToken) -> Option<Vec<Arg>> {
        let mut items = Vec::new();
        while !self.eat(end) {
            if !self.eat(&PtxToken::Comma) {
                items.push(self.arg()?);
            }
        }
        Some(items)
    }

    fn simple(&mut self) -> Option<Arg> {
        match self.peek()? {
            PtxToken::LBrace => {
                self.at += 1;
                Some(Arg::Vector(self.list(&PtxToken::RBrace)?))
            }
            PtxToken::LParen => {
                self.at += 1;
                Some(Arg::List(self.list(&PtxToken::RParen)?))
            }
            PtxToken::LBracket => {
                self.at += 1;
                self.address()
            }
            PtxToken::Exclaim => {
                self.at += 1;
                Some(Arg::Not(Box::new(self.simple()?)))
            }
            PtxToken::Identifier(s) if s == "_" => {
                self.at += 1;
                Some(Arg::Sink)
            }
            PtxToken::Identifier(_) | PtxToken::Register(_) => {
                let mut name = self.word()?;
                if self.eat(&PtxToken::Dot) {
                    name.push('.');
                    name.push_str(&self.word()?);
                    return Some(Arg::Name(name));
                }
                if self.peek() == Some(&PtxToken::LBracket) {
                    // `array[3]` is an address without brackets around it.
                    self.at += 1;
                    let index = self.offset()?;
                    self.eat(&PtxToken::RBracket).then_some(())?;
                    return Some(Arg::NameOffset(name, index));
                }
                match self.tail()? {
                    None => Some(Arg::Name(name)),
                    Some(offset) => Some(Arg::NameOffset(name, offset)),
                }
            }
            _ => self.number(),
        }
    }

    /// Parses `+ n` or `- n`, if present, and returns the signed number. Fails if no number follows
    /// the sign.
    fn tail(&mut self) -> Option<Option<i64>> {
        match self.peek() {
            Some(PtxToken::Plus) => {
                self.at += 1;
                Some(Some(self.offset()?))
            }
            Some(PtxToken::Minus) => {
                self.at += 1;
                Some(Some(self.offset()?.wrapping_neg()))
            }
            _ => Some(None),
        }
    }

    fn offset(&mut self) -> Option<i64> {
        match self.number()? {
            Arg::Int(v) => Some(v as i64),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Arg> {
        if self.eat(&PtxToken::Plus) {
            return self.number();
        }
        if self.eat(&PtxToken::Minus) {
            return Some(match self.number()? {
                Arg::Int(v) => Arg::Int(v.wrapping_neg()),
                Arg::F32(v) => Arg::F32(v ^ (1 << 31)),
                Arg::F64(v) => Arg::F64(v ^ (1 << 63)),
                other => other,
            });
        }
        let arg = literal(self.peek()?)?;
        self.at += 1;
        Some(arg)
    }

    fn address(&mut self) -> Option<Arg> {
        let base = self.simple()?;
        let (base, mut offset) = match base {
            Arg::NameOffset(name, offset) => (Arg::Name(name), offset),
            other => (other, 0),
        };
        if self.peek() == Some(&PtxToken::Comma) {
            // `[tensor, {…}]` and `[a, b]` become an address with a vector, which lowering always
            // rejects.
            self.at += 1;
            let mut items = vec![base];
            items.extend(self.list(&PtxToken::RBracket)?);
            return Some(Arg::Address(Box::new(Arg::Vector(items)), 0));
        }
        while let Some(more) = self.tail()? {
            offset = offset.wrapping_add(more);
        }
        self.eat(&PtxToken::RBracket).then_some(())?;
        Some(Arg::Address(Box::new(base), offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(s: &str) -> Arg {
        Arg::Name(s.into())
    }

    #[test]
    fn test_parse_splits_opcode_modifiers_operands() {
        let inst =
            parse("@!%p1 ld.global.nc.L1::no_allocate.v2.f32 {%f1, %f2}, [%rd1+-4];").unwrap();
        assert_eq!(inst.op, "ld");
        assert_eq!(inst.mods, ["global", "nc", "L1::no_allocate", "v2", "f32"]);
        assert_eq!(inst.args[0], Arg::Vector(vec![name("%f1"), name("%f2")]));
        assert_eq!(inst.args[1], Arg::Address(Box::new(name("%rd1")), -4));
    }

    #[test]
    fn test_parse_call_keeps_lists() {
        let inst = parse("call.uni (retval0), vprintf, (param0, param1);").unwrap();
        assert_eq!(inst.args[1], name("vprintf"));
        assert_eq!(inst.args[2], Arg::List(vec![name("param0"), name("param1")]));
    }

    #[test]
    fn test_parse_literals() {
        for (text, want) in [
            ("mov.u32 %r1, 0x1F;", Arg::Int(31)),
            ("mov.u32 %r1, -7;", Arg::Int(-7)),
            ("mov.f32 %f1, 0f3F800000;", Arg::F32(0x3f80_0000)),
            ("mov.u32 %r1, 017U;", Arg::Int(15)),
            ("mov.u32 %r1, %tid.x;", name("%tid.x")),
            ("mov.u64 %r1, table+8;", Arg::NameOffset("table".into(), 8)),
        ] {
            assert_eq!(parse(text).unwrap().args[1], want, "{text}");
        }
    }
}
