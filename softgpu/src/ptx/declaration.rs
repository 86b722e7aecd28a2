//! Parses declarations of variables, parameters and registers.

use super::constant::{self, Constant};
use super::error::{PtxError, invalid, unsupported};
use super::scan::Scanner;
use super::types::Ty;

/// Maximum size of a variable, in bytes.
pub const MAX_VARIABLE: u64 = 1 << 40;
/// Maximum alignment, in bytes.
const MAX_ALIGN: u64 = 1 << 20;
/// Maximum nesting of the braces in an initializer.
const MAX_NESTING: u32 = 16;

/// The modifiers and the type of a declaration. They apply to all names that it declares.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The type of the elements.
    pub ty: Ty,
    /// Number of elements in a vector, or 1.
    pub width: u8,
    /// The alignment from `.align`, in bytes.
    pub align: Option<u64>,
    /// Whether the variable is in managed memory.
    pub managed: bool,
    /// Whether the variable is a texture reference or a surface reference.
    pub reference: Option<Reference>,
}

/// A kind of variable that refers to a texture or a surface. Kernels use the address of the
/// variable as the object's handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// `.texref`
    Texture,
    /// `.surfref`
    Surface,
}

/// A variable or a parameter.
#[derive(Debug, Clone)]
pub struct Declared<'a> {
    pub name: &'a str,
    /// Byte position of the name in the PTX text.
    pub at: usize,
    pub kind: Kind,
    /// Number of elements in an array, or 1 for other variables. `None` for an array that is
    /// declared without a size (`[]`).
    pub elements: Option<u64>,
}

impl Declared<'_> {
    /// Returns the alignment in bytes.
    pub fn align(&self) -> u64 {
        let natural = self.kind.ty.bytes() as u64 * u64::from(self.kind.width);
        self.kind.align.unwrap_or(natural.next_power_of_two())
    }

    /// Returns the size in bytes, or 0 for an array that is declared without a size.
    pub fn size(&self) -> Option<u64> {
        let element = self.kind.ty.bytes() as u64 * u64::from(self.kind.width);
        element.checked_mul(self.elements.unwrap_or(0)).filter(|size| *size <= MAX_VARIABLE)
    }
}

/// The value that an initializer gives to one element of a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// A number, which is the initial value of the element.
    Constant(Constant),
    /// The address of this symbol, plus the first number, shifted right by the second number of
    /// bits.
    Symbol(&'a str, i64, u32),
    /// The characters of a string.
    Text(&'a str),
}

/// Reads a declaration's modifiers and type.
pub fn kind(scan: &mut Scanner<'_>, text: &str) -> Result<Kind, PtxError> {
    let (mut ty, mut width, mut align, mut managed) = (None, 1, None, false);
    let mut reference = None;
    loop {
        let at = scan.position();
        let Some(word) = scan.dotted() else { break };
        match word {
            "align" => align = Some(alignment(scan, text)?),
            // `.ptr` may be followed by an alignment, which is that of the object to which the
            // parameter points, not that of the parameter.
            "ptr" => pointer(scan, text)?,
            "v2" => width = 2,
            "v4" => width = 4,
            "v8" => width = 8,
            "attribute" => managed |= attributes(scan, text)?,
            "texref" | "surfref" if ty.is_none() => {
                let texture = word == "texref";
                reference = Some(if texture { Reference::Texture } else { Reference::Surface });
                ty = Some(Ty::B64);
            }
            "texref" | "samplerref" | "surfref" => {
                return Err(unsupported(text, at, format!(".{word} variables")));
            }
            _ => match Ty::parse(word) {
                Some(parsed) if ty.is_none() => ty = Some(parsed),
                _ => return Err(invalid(text, at, format!("unexpected '.{word}'"))),
            },
        }
    }
    let at = scan.position();
    let ty = ty.ok_or_else(|| invalid(text, at, "a type is missing"))?;
    Ok(Kind { ty, width, align, managed, reference })
}

fn alignment(scan: &mut Scanner<'_>, text: &str) -> Result<u64, PtxError> {
    let at = scan.position();
    match constant::unary(scan) {
        Some(Constant::Int(n, _)) if n.is_power_of_two() && n <= MAX_ALIGN => Ok(n),
        _ => Err(invalid(text, at, "an alignment must be a power of two")),
    }
}

/// Skips the properties of a pointer parameter: a state space and an alignment.
fn pointer(scan: &mut Scanner<'_>, text: &str) -> Result<(), PtxError> {
    loop {
        let at = scan.position();
        match scan.dotted() {
            Some("const" | "global" | "local" | "shared") => {}
            Some("align") => {
                alignment(scan, text)?;
            }
            _ => {
                scan.rewind(at);
                return Ok(());
            }
        }
    }
}

/// Reads the list after `.attribute`, and returns whether it contains `.managed`.
pub fn attributes(scan: &mut Scanner<'_>, text: &str) -> Result<bool, PtxError> {
    let at = scan.position();
    let mut managed = false;
    let mut list = || {
        scan.eat(b'(').then_some(())?;
        loop {
            managed |= scan.dotted()? == "managed";
            if scan.eat(b'(') {
                // Skip the two numbers in `.unified(uuid1, uuid2)`, which identify a function or
                // variable across devices.
                constant::unary(scan)?;
                scan.eat(b',').then_some(())?;
                constant::unary(scan)?;
                scan.eat(b')').then_some(())?;
            }
            if !scan.eat(b',') {
                return scan.eat(b')').then_some(());
            }
        }
    };
    list().ok_or_else(|| invalid(text, at, "malformed attributes"))?;
    Ok(managed)
}

/// Reads a name and its array dimensions.
pub fn name<'a>(scan: &mut Scanner<'a>, text: &str, kind: Kind) -> Result<Declared<'a>, PtxError> {
    let at = scan.position();
    let Some(name) = scan.word() else {
        return Err(invalid(text, at, format!("a name is missing before {}", scan.describe())));
    };
    let mut elements = Some(1u64);
    while scan.eat(b'[') {
        if scan.eat(b']') {
            elements = None;
            continue;
        }
        let size = match constant::expression(scan) {
            Some(Constant::Int(n, unsigned)) if scan.eat(b']') && (unsigned || n >> 63 == 0) => n,
            _ => return Err(invalid(text, at, format!("the size of '{name}' is not a number"))),
        };
        elements = match elements {
            Some(before) => Some(before.checked_mul(size).ok_or_else(|| {
                unsupported(text, at, format!("variables of this size (variable '{name}')"))
            })?),
            None => None,
        };
    }
    let declared = Declared { name, at, kind, elements };
    if declared.size().is_none() {
        return Err(unsupported(text, at, format!("variables of this size (variable '{name}')")));
    }
    Ok(declared)
}

/// Reads an initializer, whose `=` has been read.
pub fn initializer<'a>(scan: &mut Scanner<'a>, text: &str) -> Result<Vec<Value<'a>>, PtxError> {
    let mut values = Vec::new();
    let at = scan.position();
    match items(scan, &mut values, 0) {
        Some(()) => Ok(values),
        None => {
            let found = scan.describe();
            Err(invalid(text, at, format!("malformed initializer, before {found}")))
        }
    }
}

fn items<'a>(scan: &mut Scanner<'a>, values: &mut Vec<Value<'a>>, depth: u32) -> Option<()> {
    if !scan.eat(b'{') {
        values.push(value(scan)?);
        return Some(());
    }
    if depth >= MAX_NESTING {
        return None;
    }
    if scan.eat(b'}') {
        return Some(());
    }
    loop {
        items(scan, values, depth + 1)?;
        if !scan.eat(b',') {
            return scan.eat(b'}').then_some(());
        }
    }
}

fn value<'a>(scan: &mut Scanner<'a>) -> Option<Value<'a>> {
    if let Some(text) = scan.string() {
        return Some(Value::Text(text));
    }
    let start = scan.position();
    if let Some(symbol) = symbol(scan) {
        return Some(symbol);
    }
    scan.rewind(start);
    let constant = constant::expression(scan)?;
    // A mask before a symbol, as in `0xFF00(symbol)`, selects one byte of the symbol's address.
    if let Constant::Int(mask, _) = constant
        && scan.eat(b'(')
    {
        let Value::Symbol(name, add, 0) = symbol(scan)? else { return None };
        let shift = mask.trailing_zeros();
        let one_byte = mask != 0 && shift.is_multiple_of(8) && mask >> shift == 0xff;
        return (scan.eat(b')') && one_byte).then_some(Value::Symbol(name, add, shift));
    }
    Some(Value::Constant(constant))
}

/// Reads a symbol and an optional offset, as in `table+8` or `generic(table)+8`.
fn symbol<'a>(scan: &mut Scanner<'a>) -> Option<Value<'a>> {
    let mut name = scan.word().filter(|name| *name != "WARP_SZ")?;
    let mut inner = 0;
    if name == "generic" && scan.eat(b'(') {
        name = scan.word()?;
        inner = addend(scan)?;
        scan.eat(b')').then_some(())?;
    }
    Some(Value::Symbol(name, inner.wrapping_add(addend(scan)?), 0))
}

fn addend(scan: &mut Scanner<'_>) -> Option<i64> {
    if !matches!(scan.peek(), b'+' | b'-') {
        return Some(0);
    }
    // The sign before the offset is part of the expression.
    match constant::expression(scan)? {
        Constant::Int(n, _) => Some(n as i64),
        _ => None,
    }
}
