//! Parses the declarations in a PTX text.
//!
//! Parsing only locates function bodies. Lowering parses a body when the function is first used.

use std::collections::HashMap;
use std::ops::Range;

use super::constant::{self, Constant};
use super::declaration::{self, Declared, Reference, Value};
use super::error::{PtxError, invalid, unsupported};
use super::ir::KernelParam;
use super::scan::{Number, Scanner};
use super::types::Ty;

/// Maximum size of a PTX text, in bytes.
pub const MAX_TEXT: usize = 256 << 20;
/// Maximum nesting of braces in a function's body.
const MAX_BLOCKS: usize = 64;
/// Maximum size of a kernel's parameter buffer, in bytes.
const MAX_PARAMS: usize = 32764;

/// How a symbol is visible to the other texts with which its text is linked. A later variant takes
/// precedence over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Linkage {
    /// Declared in this text, but defined in another one.
    Extern,
    /// Visible only in the text that declares it.
    Local,
    /// A common variable: all texts that declare the symbol share its memory.
    Common,
    /// Visible in other texts, and replaced if another text has a definition with a higher
    /// precedence.
    Weak,
    /// Visible in the other texts.
    Visible,
}

/// A variable in global or constant memory.
#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    /// Byte position of the name in the text.
    pub at: usize,
    pub linkage: Linkage,
    /// Whether the variable is in constant memory.
    pub constant: bool,
    /// Whether the variable is in managed memory.
    pub managed: bool,
    /// Whether the variable is a texture reference or a surface reference.
    pub reference: Option<Reference>,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// The initial bytes of the variable. The bytes after them are zero.
    pub initial: Vec<u8>,
    /// The parts of the variable that contain addresses.
    pub relocations: Vec<Relocation>,
}

/// A part of a variable that must contain the address of a symbol.
#[derive(Debug, Clone)]
pub struct Relocation {
    /// Offset of this part in the variable, in bytes.
    pub offset: usize,
    /// Size of this part in bytes.
    pub size: usize,
    /// The symbol whose address this part must contain.
    pub symbol: String,
    /// The number to add to the symbol's address.
    pub add: i64,
    /// The number of bits by which to shift the sum right.
    pub shift: u32,
}

/// The size and alignment of a variable in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedVariable {
    /// Size in bytes. 0 if the launch determines the size.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Whether the launch determines the size.
    pub dynamic: bool,
}

/// A parameter or result of a function.
#[derive(Debug, Clone)]
pub struct Parameter {
    pub name: String,
    /// The type of the parameter, or of its elements if it's an array.
    pub ty: Ty,
    /// Whether the parameter is passed in a register, and not in memory.
    pub register: bool,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
}

/// The declaration of a function or a kernel.
#[derive(Debug, Clone)]
pub struct Function {
    pub name: String,
    /// Byte position of the declaration in the text.
    pub at: usize,
    pub linkage: Linkage,
    /// Whether the function is a kernel.
    pub entry: bool,
    pub results: Vec<Parameter>,
    pub params: Vec<Parameter>,
    /// The range of the function's body in the text, or `None` for a declaration without a body.
    pub body: Option<Range<usize>>,
    /// Maximum number of threads per block, from `.maxntid` or `.reqntid`.
    pub max_threads: Option<u32>,
    /// Block size that a launch must have, from `.reqntid`.
    pub required: Option<[u32; 3]>,
}

impl Function {
    /// Returns the layout of a kernel's parameter buffer.
    pub fn layout(&self) -> Vec<KernelParam> {
        let mut end = 0usize;
        let place = |param: &Parameter| {
            let offset = end.next_multiple_of(param.align);
            end = offset + param.size;
            KernelParam { offset, size: param.size }
        };
        self.params.iter().map(place).collect()
    }
}

/// The oldest target that NVIDIA's driver compiles.
const OLDEST_TARGET: i32 = 20;
/// The PTX version, as major * 10 + minor, that introduced each target.
const FIRST_VERSIONS: &[(i32, i32)] = &[
    (20, 20),
    (30, 30),
    (32, 40),
    (35, 31),
    (37, 41),
    (50, 40),
    (52, 41),
    (53, 42),
    (60, 50),
    (61, 50),
    (62, 50),
    (70, 60),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (89, 78),
    (90, 78),
];

/// A PTX text and the declarations in it.
#[derive(Debug)]
pub struct Unit {
    pub text: String,
    /// The PTX version from `.version`, as major * 10 + minor.
    pub ptx_version: i32,
    /// The number in `.target sm_NN`.
    pub target: i32,
    /// The letter after the number in `.target`, such as the `a` in `sm_90a`.
    pub target_suffix: Option<char>,
    pub variables: Vec<Variable>,
    /// Variables in shared memory.
    pub shared: HashMap<String, SharedVariable>,
    /// Functions and kernels, including declarations without a body.
    pub functions: Vec<Function>,
    /// Other names for functions, as pairs of the alias and the function's name.
    pub aliases: Vec<(String, String)>,
}

/// Parses the declarations in a PTX text.
pub fn parse(text: String) -> Result<Unit, PtxError> {
    if text.len() > MAX_TEXT || text.contains('\0') {
        return Err(PtxError::Invalid { line: 0, what: "not PTX text".into() });
    }
    let unit = Unit {
        text: String::new(),
        ptx_version: 0,
        target: 0,
        target_suffix: None,
        variables: Vec::new(),
        shared: HashMap::new(),
        functions: Vec::new(),
        aliases: Vec::new(),
    };
    let mut parser = Parser { text: &text, scan: Scanner::new(&text, 0, text.len()), unit };
    parser.module()?;
    let unit = parser.unit;
    Ok(Unit { text, ..unit })
}

struct Parser<'a> {
    text: &'a str,
    scan: Scanner<'a>,
    unit: Unit,
}

impl<'a> Parser<'a> {
    fn invalid(&self, at: usize, what: impl Into<String>) -> PtxError {
        invalid(self.text, at, what)
    }

    fn unexpected(&mut self) -> PtxError {
        let at = self.scan.position();
        let found = self.scan.describe();
        self.invalid(at, format!("unexpected {found}"))
    }

    fn expect(&mut self, byte: u8) -> Result<(), PtxError> {
        if self.scan.eat(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn module(&mut self) -> Result<(), PtxError> {
        let mut linkage = Linkage::Local;
        while !self.scan.at_end() {
            let at = self.scan.position();
            if self.scan.eat_pair(b"@@") {
                // `@@` starts a line of debug information in an old format. Skip it.
                self.scan.skip_line();
                continue;
            }
            let Some(word) = self.scan.dotted() else { return Err(self.unexpected()) };
            if self.unit.ptx_version == 0 && word != "version" {
                return Err(self.invalid(at, "the directive '.version' is missing"));
            }
            let now = std::mem::replace(&mut linkage, Linkage::Local);
            match word {
                "extern" => linkage = Linkage::Extern,
                "visible" => linkage = Linkage::Visible,
                "weak" => linkage = Linkage::Weak,
                "common" => linkage = Linkage::Common,
                "version" => self.version()?,
                "target" => self.target()?,
                "address_size" => self.address_size()?,
                "file" => self.file()?,
                "section" => self.section()?,
                "pragma" => self.pragma()?,
                "global" | "const" => self.variables(now, word == "const")?,
                "shared" => self.shared(now)?,
                "func" | "entry" => self.function(at, now, word == "entry")?,
                "alias" => self.alias()?,
                "tex" => return Err(unsupported(self.text, at, "textures")),
                _ => return Err(self.invalid(at, format!("unexpected directive '.{word}'"))),
            }
        }
        if self.unit.target == 0 {
            let what = "the directives '.version' and '.target' are missing";
            return Err(self.invalid(self.text.len(), what));
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(), PtxError> {
        let at = self.scan.position();
        if self.unit.ptx_version != 0 {
            return Err(self.invalid(at, "a second '.version'"));
        }
        // The minor version can have two digits: 8.10 isn't the fraction 8.1. Therefore, parse the
        // digits and not the number.
        self.scan.number().ok_or_else(|| self.invalid(at, "malformed '.version'"))?;
        let digits = self.scan.since(at);
        let version = digits.split_once('.').and_then(|(major, minor)| {
            let (major, minor) = (major.parse::<i32>().ok()?, minor.parse::<i32>().ok()?);
            (major < 100).then_some(major * 10 + minor.min(9))
        });
        let version = version.filter(|version| *version > 0);
        self.unit.ptx_version = version.ok_or_else(|| self.invalid(at, "malformed '.version'"))?;
        Ok(())
    }

    fn target(&mut self) -> Result<(), PtxError> {
        loop {
            let at = self.scan.position();
            let Some(word) = self.scan.word() else { return Err(self.unexpected()) };
            if let Some(name) = word.strip_prefix("sm_").or(word.strip_prefix("compute_")) {
                let suffix = name.chars().next_back().filter(char::is_ascii_lowercase);
                let digits = suffix.map_or(name, |s| name.trim_end_matches(s));
                self.unit.target = match digits.parse() {
                    Ok(number) if (OLDEST_TARGET..1000).contains(&number) => number,
                    _ => return Err(self.invalid(at, format!("unknown target '{word}'"))),
                };
                let first = FIRST_VERSIONS.iter().find(|(target, _)| *target == self.unit.target);
                if first.is_some_and(|(_, version)| self.unit.ptx_version < *version) {
                    let text = format!("'.version' is too old for the target '{word}'");
                    return Err(self.invalid(at, text));
                }
                self.unit.target_suffix = suffix;
            } else if !matches!(
                word,
                "debug" | "map_f64_to_f32" | "texmode_unified" | "texmode_independent"
            ) {
                return Err(self.invalid(at, format!("unknown target '{word}'")));
            }
            if !self.scan.eat(b',') {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self) -> Result<(), PtxError> {
        let at = self.scan.position();
        match self.scan.number() {
            Some(Number::Int(64, _)) => Ok(()),
            _ => Err(self.invalid(at, "'.address_size' must be 64")),
        }
    }

    fn file(&mut self) -> Result<(), PtxError> {
        let at = self.scan.position();
        let mut read = || {
            self.scan.number()?;
            self.scan.string()?;
            while self.scan.eat(b',') {
                self.scan.number()?;
            }
            Some(())
        };
        read().ok_or_else(|| self.invalid(at, "malformed '.file'"))
    }

    fn section(&mut self) -> Result<(), PtxError> {
        let at = self.scan.position();
        let named = self.scan.dotted().is_some() || self.scan.word().is_some();
        match self.scan.block(MAX_BLOCKS) {
            Some(_) if named => Ok(()),
            _ => Err(self.invalid(at, "malformed '.section'")),
        }
    }

    fn pragma(&mut self) -> Result<(), PtxError> {
        while self.scan.string().is_some() {
            self.scan.eat(b',');
        }
        self.expect(b';')
    }

    fn variables(&mut self, linkage: Linkage, constant: bool) -> Result<(), PtxError> {
        let start = self.scan.position();
        let kind = declaration::kind(&mut self.scan, self.text)?;
        if kind.managed && constant {
            return Err(self.invalid(start, "constant memory can't be managed"));
        }
        if kind.ty == Ty::Pred {
            return Err(self.invalid(start, "a variable can't have the type '.pred'"));
        }
        loop {
            let declared = declaration::name(&mut self.scan, self.text, kind)?;
            let values = match self.scan.eat(b'=') {
                true => declaration::initializer(&mut self.scan, self.text)?,
                false => Vec::new(),
            };
            let variable = self.variable(&declared, linkage, values)?;
            self.unit.variables.push(Variable { constant, reference: kind.reference, ..variable });
            if !self.scan.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn variable(
        &self,
        declared: &Declared<'_>,
        linkage: Linkage,
        values: Vec<Value<'_>>,
    ) -> Result<Variable, PtxError> {
        let (name, at, ty) = (declared.name, declared.at, declared.kind.ty);
        let element = ty.bytes();
        let (mut initial, mut relocations) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                Value::Constant(constant) => {
                    let bits = constant_bits(constant, ty).ok_or_else(|| {
                        self.invalid(at, format!("the initializer of '{name}' has another type"))
                    })?;
                    initial.extend_from_slice(&bits.to_le_bytes()[..element]);
                }
                Value::Symbol(symbol, add, shift) => {
                    if ty.float() || (element != 8 && (element, shift / 8 < 8) != (1, true)) {
                        let what = format!("addresses of this size (variable '{name}')");
                        return Err(unsupported(self.text, at, what));
                    }
                    let offset = initial.len();
                    let symbol = symbol.to_owned();
                    relocations.push(Relocation { offset, size: element, symbol, add, shift });
                    initial.resize(offset + element, 0);
                }
                Value::Text(text) => initial.extend_from_slice(text.as_bytes()),
            }
        }
        let size = match declared.size().unwrap_or(0) as usize {
            0 => initial.len(),
            size => size,
        };
        if initial.len() > size {
            return Err(self.invalid(at, format!("too many initializers for '{name}'")));
        }
        let (name, align) = (name.to_owned(), declared.align() as usize);
        Ok(Variable {
            name,
            at,
            linkage,
            constant: false,
            managed: declared.kind.managed,
            reference: None,
            size,
            align,
            initial,
            relocations,
        })
    }

    fn shared(&mut self, linkage: Linkage) -> Result<(), PtxError> {
        let kind = declaration::kind(&mut self.scan, self.text)?;
        loop {
            let declared = declaration::name(&mut self.scan, self.text, kind)?;
            let dynamic = linkage == Linkage::Extern || declared.elements.is_none();
            let size = if dynamic { 0 } else { declared.size().unwrap_or(0) as usize };
            let shared = SharedVariable { size, align: declared.align() as usize, dynamic };
            self.unit.shared.insert(declared.name.to_owned(), shared);
            if !self.scan.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn alias(&mut self) -> Result<(), PtxError> {
        let names = (self.scan.word(), self.scan.eat(b','), self.scan.word());
        let (Some(alias), true, Some(target)) = names else { return Err(self.unexpected()) };
        self.unit.aliases.push((alias.to_owned(), target.to_owned()));
        self.expect(b';')
    }

    fn function(&mut self, at: usize, linkage: Linkage, entry: bool) -> Result<(), PtxError> {
        let start = self.scan.position();
        if self.scan.dotted() == Some("attribute") {
            declaration::attributes(&mut self.scan, self.text)?;
        } else {
            self.scan.rewind(start);
        }
        let results = if !entry && self.scan.peek() == b'(' { self.params(false)? } else { vec![] };
        let Some(name) = self.scan.word() else { return Err(self.unexpected()) };
        let name = name.to_owned();
        let params = if self.scan.peek() == b'(' { self.params(entry)? } else { vec![] };
        let (max_threads, required) = self.limits(&name)?;
        let body = if self.scan.peek() == b'{' {
            let open = self.scan.position();
            let body = self.scan.block(MAX_BLOCKS);
            Some(body.ok_or_else(|| {
                self.invalid(open, format!("the body of '{name}' doesn't end or nests too deeply"))
            })?)
        } else {
            self.expect(b';')?;
            None
        };
        let function =
            Function { name, at, linkage, entry, results, params, body, max_threads, required };
        let end = function.layout().last().map_or(0, |p| p.offset + p.size);
        if end > MAX_PARAMS {
            let what = format!("parameters of this total size (in '{}')", function.name);
            return Err(unsupported(self.text, at, what));
        }
        self.unit.functions.push(function);
        Ok(())
    }

    /// Reads the directives between a function's parameters and its body. Returns the maximum
    /// number of threads and the required block size.
    fn limits(&mut self, name: &str) -> Result<(Option<u32>, Option<[u32; 3]>), PtxError> {
        let (mut most, mut required) = (None, None);
        loop {
            let at = self.scan.position();
            let Some(word) = self.scan.dotted() else { return Ok((most, required)) };
            match word {
                "noreturn" | "explicitcluster" | "blocksareclusters" | "unique" => {}
                "pragma" => self.pragma()?,
                "maxntid" => most = Some(threads(self.dimensions()?)),
                "reqntid" => {
                    let size = self.dimensions()?;
                    (most, required) = (Some(threads(size)), Some(size));
                }
                "reqnctapercluster" => {
                    if threads(self.dimensions()?) > 1 {
                        let what = format!("block clusters (in '{name}')");
                        return Err(unsupported(self.text, at, what));
                    }
                }
                "maxnreg"
                | "minnctapersm"
                | "maxnctapersm"
                | "maxclusterrank"
                | "abi_preserve"
                | "abi_preserve_control" => {
                    self.dimensions()?;
                }
                _ => return Err(self.invalid(at, format!("unexpected directive '.{word}'"))),
            }
        }
    }

    fn dimensions(&mut self) -> Result<[u32; 3], PtxError> {
        let mut size = [1; 3];
        for axis in &mut size {
            let at = self.scan.position();
            *axis = match constant::expression(&mut self.scan) {
                Some(Constant::Int(n, _)) if u32::try_from(n).is_ok() => n as u32,
                _ => return Err(self.invalid(at, "a number is missing")),
            };
            if !self.scan.eat(b',') {
                break;
            }
        }
        Ok(size)
    }

    fn params(&mut self, entry: bool) -> Result<Vec<Parameter>, PtxError> {
        let mut params = Vec::new();
        self.expect(b'(')?;
        if self.scan.eat(b')') {
            return Ok(params);
        }
        loop {
            let at = self.scan.position();
            let register = match self.scan.dotted() {
                Some("param") => false,
                Some("reg") if !entry => true,
                _ => return Err(self.invalid(at, "a parameter must be in '.param'")),
            };
            let kind = declaration::kind(&mut self.scan, self.text)?;
            let declared = declaration::name(&mut self.scan, self.text, kind)?;
            let (size, align) = (declared.size().unwrap_or(0) as usize, declared.align() as usize);
            if size > MAX_PARAMS || align > 4096 || (kind.ty == Ty::Pred && !register) {
                return Err(unsupported(self.text, at, "this kind of parameter"));
            }
            let name = declared.name.to_owned();
            params.push(Parameter { name, ty: kind.ty, register, size, align });
            if !self.scan.eat(b',') {
                self.expect(b')')?;
                return Ok(params);
            }
        }
    }
}

fn threads(dim: [u32; 3]) -> u32 {
    dim[0].saturating_mul(dim[1]).saturating_mul(dim[2])
}

/// Returns the bits with which a constant is stored in a variable of a type. Returns `None` if the
/// type can't represent the constant.
fn constant_bits(constant: Constant, ty: Ty) -> Option<u128> {
    let single = |value: f64| u128::from((value as f32).to_bits());
    let bits = match (constant, ty) {
        (Constant::Int(v, unsigned), Ty::F32 | Ty::F64) => {
            let value = if unsigned { v as f64 } else { v as i64 as f64 };
            return Some(if ty == Ty::F32 { single(value) } else { value.to_bits().into() });
        }
        (Constant::Int(v, true), _) => v.into(),
        (Constant::Int(v, false), _) => i128::from(v as i64) as u128,
        (Constant::F32(bits), Ty::F32 | Ty::B32) => bits.into(),
        (Constant::F64(bits), Ty::F32) => single(f64::from_bits(bits)),
        (Constant::F32(bits), Ty::F64) => f64::from(f32::from_bits(bits)).to_bits().into(),
        (Constant::F64(bits), Ty::F64 | Ty::B64) => bits.into(),
        _ => return None,
    };
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Result<Unit, PtxError> {
        parse(format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}"))
    }

    #[test]
    fn test_pointer_alignment_does_not_move_parameters() {
        let unit = unit(
            ".entry k(.param .u32 a, .param .u64 .ptr .align 16 p, \
             .param .u64 .ptr .global .align 256 q, .param .align 16 .b8 s[20]) { ret; }",
        )
        .unwrap();
        let layout: Vec<_> = unit.functions[0].params.iter().map(|p| (p.size, p.align)).collect();
        assert_eq!(layout, [(4, 4), (8, 8), (8, 8), (20, 16)]);
    }

    #[test]
    fn test_initializers() {
        let unit = unit(
            ".global .u32 a = -125;\n.global .s16 b[4] = {-1, 0x10, 010, 2 * -3};\n\
             .global .f32 c[2] = {0f40000000, -1.5};\n.global .f64 d = 0d3FF0000000000000;\n\
             .global .u64 e[3] = {a, generic(b)+8, b-4};\n.global .b8 f[2] = {0xff(a), 0xff00(a)};\n\
             .global .b8 g[3][2] = {{1, 2}, {3, 4}};\n.const .b64 h = -1, i = ~0;\n.global .b32 j;",
        )
        .unwrap();
        let bytes = |n: usize| unit.variables[n].initial.clone();
        assert_eq!(bytes(0), (-125i32).to_le_bytes());
        assert_eq!(bytes(1), [255, 255, 16, 0, 8, 0, 250, 255]);
        assert_eq!(bytes(2), [2f32.to_le_bytes(), (-1.5f32).to_le_bytes()].concat());
        assert_eq!(bytes(3), 1f64.to_le_bytes());
        assert_eq!(bytes(6), [1, 2, 3, 4]);
        assert_eq!((bytes(7), bytes(8)), (vec![255; 8], vec![255; 8]));
        let places = |n: usize| -> Vec<_> {
            let of = |r: &Relocation| (r.offset, r.size, r.symbol.clone(), r.add, r.shift);
            unit.variables[n].relocations.iter().map(of).collect()
        };
        let want = [(0, "a", 0), (8, "b", 8), (16, "b", -4)];
        let want = want.map(|(at, name, add)| (at, 8, name.to_owned(), add, 0));
        assert_eq!(places(4), want);
        assert_eq!(places(5), [(0, 1, "a".into(), 0, 0), (1, 1, "a".into(), 0, 8)]);
        let sizes: Vec<_> = unit.variables.iter().map(|v| v.size).collect();
        assert_eq!(sizes, [4, 8, 8, 8, 24, 2, 6, 8, 8, 4]);
        let constant = |n: usize| unit.variables[n].constant;
        assert!((0..10).all(|n| constant(n) == [7, 8].contains(&n)));
    }

    #[test]
    fn test_errors_give_the_line() {
        for (text, line, what) in [
            (".global .u32 a = ;", 4, "initializer"),
            (".global .u32 a[1] = {1, 2};", 4, "too many"),
            (".global .u32 a = 1.5;", 4, "another type"),
            ("\n.nonsense", 5, ".nonsense"),
            (".entry k()\n{ {", 5, "doesn't end"),
            (".entry k(.param .pred p) { }", 4, "parameter"),
            (".func f() .oops { }", 4, ".oops"),
        ] {
            let error = unit(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}:")), "{text}: {error}");
            assert!(error.contains(what), "{text}: {error}");
        }
        assert!(parse("This is no PTX.".into()).unwrap_err().to_string().contains("line 1"));
        assert!(parse(".target sm_80".into()).unwrap_err().to_string().contains(".version"));
    }
}
