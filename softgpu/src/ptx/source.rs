//! Parses a module's PTX text and lays out its variables.

use std::collections::HashMap;

use ptx_syntax::r#type as ast;
use ptx_syntax::r#type::{
    DataLinkage, DataType, GlobalInitializer, InitializerValue, ModuleDirective,
    ModuleInfoDirectiveKind, ModuleVariableDirective, TargetString, VariableDirective,
    VariableModifier,
};

use super::token::{self, Arg};

/// Maximum size of a module's text, in bytes.
const MAX_TEXT: usize = 256 << 20;
/// Maximum nesting of braces, brackets and parentheses, which bounds the parser's recursion.
const MAX_NESTING: usize = 64;
/// Stack size of the parser's thread, in bytes.
const PARSER_STACK: usize = 256 << 20;
/// Maximum number of different opcodes that a module may use although the grammar doesn't know
/// them.
const MAX_GAPS: usize = 32;
/// Maximum size of a variable, in bytes.
const MAX_VARIABLE: u64 = 1 << 40;

/// The reason why a module's text can't be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PtxError {
    /// The text isn't PTX.
    #[error("line {line}: {what}")]
    Invalid {
        /// Line number, starting at 1.
        line: usize,
        /// Description of the problem.
        what: String,
    },
    /// The text is PTX that softgpu doesn't support.
    #[error("line {line}: softgpu does not support {what}")]
    Unsupported {
        /// Line number, starting at 1.
        line: usize,
        /// The unsupported feature.
        what: String,
    },
    /// A symbol is declared but not defined.
    #[error("unresolved symbol '{0}'")]
    Unresolved(String),
}

/// A variable in global or constant memory.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// Offset in the module's memory.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Initial bytes. The rest of the variable is zero.
    pub initial: Vec<u8>,
    /// Words that must contain a symbol's address: the word's offset in the variable, the symbol,
    /// and the number to add to its address.
    pub relocations: Vec<(usize, String, i64)>,
}

/// A variable in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct SharedVariable {
    /// Size in bytes. 0 if the launch determines the size.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Whether the launch determines the size.
    pub dynamic: bool,
}

/// A parsed module.
#[derive(Debug)]
pub struct Source {
    /// The PTX text.
    pub text: String,
    /// The syntax tree.
    pub module: ast::Module,
    /// The numbers that initializers add to symbols, by the symbol's position in the text.
    addends: HashMap<usize, i64>,
    /// Variables in global and constant memory.
    pub variables: Vec<Variable>,
    /// Total size of the variables in global and constant memory, in bytes.
    pub size: usize,
    /// Variables in shared memory.
    pub shared: HashMap<String, SharedVariable>,
    /// The PTX version from `.version`, as major * 10 + minor.
    pub ptx_version: i32,
    /// The number in `.target sm_NN`.
    pub target: i32,
}

/// Returns the line number of a byte in the text, starting at 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

fn invalid(text: &str, at: usize, what: impl Into<String>) -> PtxError {
    PtxError::Invalid { line: line_of(text, at), what: what.into() }
}

/// Parses PTX text.
pub fn parse(text: &str) -> Result<Source, PtxError> {
    let (text, addends) = prepare(text)?;
    let module = parse_on_thread(&text)?;
    let mut source = Source {
        text,
        module,
        addends,
        variables: Vec::new(),
        size: 0,
        shared: HashMap::new(),
        ptx_version: 0,
        target: 0,
    };
    source.collect()?;
    Ok(source)
}

/// Parses on a separate thread with a large stack, because the parser recurses. The parser also
/// panics on some invalid input, which must not end the process.
fn parse_on_thread(text: &str) -> Result<ast::Module, PtxError> {
    let copy = text.to_owned();
    let worker = std::thread::Builder::new().name("softgpu-ptx".into()).stack_size(PARSER_STACK);
    let thread = worker.spawn(move || parse_around_gaps(copy)).map_err(|e| PtxError::Invalid {
        line: 0,
        what: format!("cannot start the parser: {e}"),
    })?;
    let Ok(parsed) = thread.join() else {
        return Err(PtxError::Invalid { line: 0, what: "the parser failed".into() });
    };
    parsed.map_err(|e| {
        let start = e.span.start.min(text.len());
        let line = text.get(start..).and_then(|t| t.lines().next()).unwrap_or("");
        let kind: String = e.kind.to_string().chars().take(300).collect();
        invalid(text, start, format!("{kind}, at '{}'", line.trim()))
    })
}

/// Parses text that may contain instructions that the grammar doesn't know, such as `red.global`.
/// When parsing fails at such an instruction, this function replaces all instructions with that
/// opcode by a `ret` of the same length and tries again. Lowering reads the instructions from the
/// original text, and decides whether it supports them.
fn parse_around_gaps(text: String) -> Result<ast::Module, ptx_syntax::PtxParseError> {
    let mut masked = without_prototypes(text);
    for _ in 0..MAX_GAPS {
        match ptx_syntax::parse_ptx(&masked) {
            Ok(module) => return Ok(module),
            Err(error) => {
                let Some(opcode) = opcode_at(&masked, error.span.start) else { return Err(error) };
                masked = mask(masked, &opcode);
            }
        }
    }
    ptx_syntax::parse_ptx(&masked)
}

/// Replaces the prototypes of indirect calls with spaces, because the grammar doesn't know all
/// their forms. softgpu doesn't need them: a call uses the called function's own signature.
fn without_prototypes(text: String) -> String {
    const WORD: &[u8] = b".callprototype";
    let mut bytes = text.into_bytes();
    let mut at = 0;
    while at + WORD.len() < bytes.len() {
        if !bytes[at..].starts_with(WORD) {
            at += 1;
            continue;
        }
        let len = bytes[at..].iter().take_while(|b| **b != b';').count();
        let end = (at + len + 1).min(bytes.len());
        for byte in bytes[at..end].iter_mut().filter(|b| **b != b'\n') {
            *byte = b' ';
        }
        at = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// Returns the opcode, with modifiers, of the instruction at a position or just before it.
fn opcode_at(text: &str, at: usize) -> Option<String> {
    let bytes = text.as_bytes();
    let mut start = at.min(bytes.len());
    while start > 0 && (in_word(bytes[start - 1]) || matches!(bytes[start - 1], b'.' | b':')) {
        start -= 1;
    }
    let word = |b: &u8| in_word(*b) || matches!(b, b'.' | b':');
    let len = bytes[start..].iter().take_while(|b| word(b)).count();
    let opcode = text.get(start..start + len)?;
    let (first, _) = opcode.split_once('.')?;
    let plain =
        first.len() >= 3 && first.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (plain && !opcode.contains(['%', '$'])).then(|| opcode.to_owned())
}

/// Replaces every instruction with this opcode by `ret`.
fn mask(text: String, opcode: &str) -> String {
    let mut bytes = text.into_bytes();
    let pattern = opcode.as_bytes();
    let mut at = 0;
    while at + pattern.len() < bytes.len() {
        let hit = bytes[at..].starts_with(pattern)
            && (at == 0 || !(in_word(bytes[at - 1]) || bytes[at - 1] == b'.'))
            && bytes[at + pattern.len()].is_ascii_whitespace();
        if !hit {
            at += 1;
            continue;
        }
        let len = bytes[at..].iter().take_while(|b| **b != b';').count();
        for byte in &mut bytes[at..at + len] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        bytes[at..at + 3].copy_from_slice(b"ret");
        at += len;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Checks size and nesting, and rewrites initializers that the grammar doesn't know: `generic(x)`
/// becomes `x`, and `x+4` becomes `x` with the 4 recorded. The text keeps its length.
fn prepare(text: &str) -> Result<(String, HashMap<usize, i64>), PtxError> {
    let text = text.trim_end_matches('\0');
    if text.len() > MAX_TEXT || !text.is_ascii() || text.contains(['\0', '\u{1}']) {
        return Err(PtxError::Invalid { line: 0, what: "not PTX text".into() });
    }
    let mut out = text.as_bytes().to_vec();
    let mut addends = HashMap::new();
    let (mut depth, mut quoted, mut at) = (0usize, false, 0);
    // Position of the current initializer's `=`.
    let mut initialiser = None;
    while at < out.len() {
        match out[at] {
            b'/' if !quoted && out.get(at + 1) == Some(&b'/') => {
                while at < out.len() && out[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'"' => quoted = !quoted,
            b'\n' => quoted = false,
            _ if quoted => {}
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => initialiser = Some(at),
            b';' if depth == 0 => {
                if let Some(start) = initialiser.take() {
                    simplify(&mut out[start..at], start, &mut addends);
                }
            }
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(invalid(text, at, "nested too deeply"));
        }
        at += 1;
    }
    let out = String::from_utf8(out).map_err(|_| invalid(text, 0, "not PTX text"))?;
    Ok((out, addends))
}

/// Rewrites an initializer as described in [`prepare`]. `init` starts at byte `start` of the text.
fn simplify(init: &mut [u8], start: usize, addends: &mut HashMap<usize, i64>) {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.');
    let (mut at, mut symbol, mut generic) = (0, None, 0);
    while at < init.len() {
        match init[at] {
            b'"' => {
                at += 1;
                while at < init.len() && init[at] != b'"' {
                    at += 1;
                }
            }
            b if word(b) => {
                let end = init[at..].iter().position(|b| !word(*b)).map_or(init.len(), |n| at + n);
                if &init[at..end] == b"generic" && init.get(end) == Some(&b'(') {
                    init[at..=end].fill(b' ');
                    generic += 1;
                    at = end;
                } else {
                    symbol = (!b.is_ascii_digit()).then_some(start + at);
                    at = end - 1;
                }
            }
            b')' if generic > 0 => {
                init[at] = b' ';
                generic -= 1;
            }
            sign @ (b'+' | b'-') => {
                if let Some(symbol) = symbol {
                    let digits = at + 1 + init[at + 1..].iter().take_while(|b| **b == b' ').count();
                    let end = init[digits..]
                        .iter()
                        .position(|b| !word(*b))
                        .map_or(init.len(), |n| digits + n);
                    let text = std::str::from_utf8(&init[digits..end]).unwrap_or("");
                    if let Some(value) = token::integer(text) {
                        let value = value as i64;
                        let value = if sign == b'-' { value.wrapping_neg() } else { value };
                        addends.insert(symbol, value);
                        init[at..end].fill(b' ');
                        at = end - 1;
                    }
                }
            }
            b',' | b'{' => symbol = None,
            _ => {}
        }
        at += 1;
    }
}

/// Returns the size of a type in bytes, or `None` if variables of this type aren't supported.
pub fn type_bytes(ty: &DataType) -> Option<usize> {
    Some(match ty {
        DataType::U8 { .. } | DataType::S8 { .. } | DataType::B8 { .. } => 1,
        DataType::U16 { .. } | DataType::S16 { .. } | DataType::B16 { .. } => 2,
        DataType::F16 { .. } => 2,
        DataType::U32 { .. } | DataType::S32 { .. } | DataType::B32 { .. } => 4,
        DataType::F32 { .. } | DataType::F16x2 { .. } => 4,
        DataType::U64 { .. } | DataType::S64 { .. } | DataType::B64 { .. } => 8,
        DataType::F64 { .. } => 8,
        DataType::B128 { .. } => 16,
        DataType::Pred { .. } => 1,
        DataType::TexRef { .. } | DataType::SamplerRef { .. } | DataType::SurfRef { .. } => {
            return None;
        }
    })
}

/// Returns a variable's element size, total size and alignment, in bytes.
pub fn extent(v: &VariableDirective) -> Option<(usize, usize, usize)> {
    let element = type_bytes(&v.ty)?;
    let (mut width, mut align) = (1u64, 0u64);
    for modifier in &v.modifiers {
        match modifier {
            VariableModifier::Vector { value, .. } => width = u64::from(*value),
            VariableModifier::Alignment { value, .. } => align = u64::from(*value),
            VariableModifier::Ptr { .. } => {}
        }
    }
    let mut size = element as u64 * width;
    if align == 0 {
        align = size.next_power_of_two();
    }
    for dim in &v.array_dims {
        size = size.checked_mul(dim.unwrap_or(0))?;
    }
    (size <= MAX_VARIABLE && align.is_power_of_two() && align <= 1 << 20).then_some((
        element,
        size as usize,
        align as usize,
    ))
}

fn flatten<'a>(init: &'a GlobalInitializer, out: &mut Vec<&'a InitializerValue>) {
    match init {
        GlobalInitializer::Scalar { value, .. } => out.push(value),
        GlobalInitializer::Aggregate { values, .. } => {
            for value in values {
                flatten(value, out);
            }
        }
    }
}

impl Source {
    fn collect(&mut self) -> Result<(), PtxError> {
        let mut variables = Vec::new();
        let mut shared = HashMap::new();
        let mut end = 0usize;
        for directive in &self.module.directives {
            match directive {
                ModuleDirective::ModuleInfo { directive, .. } => match directive {
                    ModuleInfoDirectiveKind::Version { directive, .. } => {
                        self.ptx_version =
                            (directive.major.min(99) * 10 + directive.minor.min(9)) as i32;
                    }
                    ModuleInfoDirectiveKind::Target { directive, .. } => {
                        self.target = directive.entries.iter().find_map(target_number).unwrap_or(0);
                    }
                    ModuleInfoDirectiveKind::AddressSize { .. } => {}
                },
                ModuleDirective::ModuleVariable { linkage, directive, .. } => {
                    let (v, in_shared) = match directive {
                        ModuleVariableDirective::Shared { directive, .. } => (directive, true),
                        ModuleVariableDirective::Global { directive, .. }
                        | ModuleVariableDirective::Const { directive, .. } => (directive, false),
                        ModuleVariableDirective::Tex { directive, .. } => {
                            return Err(self.unsupported(directive, "textures"));
                        }
                    };
                    if v.attributes
                        .iter()
                        .any(|a| matches!(a, ast::AttributeDirective::Managed { .. }))
                    {
                        return Err(self.unsupported(v, "managed memory"));
                    }
                    let Some((element, mut size, align)) = extent(v) else {
                        return Err(self.unsupported(v, "variables of this type or size"));
                    };
                    let external = matches!(linkage, Some(DataLinkage::Extern { .. }));
                    if in_shared {
                        let dynamic = external || v.array_dims.iter().any(Option::is_none);
                        let size = if dynamic { 0 } else { size };
                        shared.insert(v.name.val.clone(), SharedVariable { size, align, dynamic });
                        continue;
                    }
                    if external {
                        return Err(PtxError::Unresolved(v.name.val.clone()));
                    }
                    let mut initial = Vec::new();
                    let mut relocations = Vec::new();
                    let mut values = Vec::new();
                    if let Some(init) = &v.initializer {
                        flatten(init, &mut values);
                    }
                    for value in values {
                        match value {
                            InitializerValue::NumericLiteral { value, .. } => {
                                let Some(bits) = literal_bits(&value.value, element) else {
                                    return Err(self.unsupported(v, "this initializer"));
                                };
                                initial.extend_from_slice(&bits.to_le_bytes()[..element]);
                            }
                            InitializerValue::FunctionSymbol { name, span } => {
                                if element != 8 {
                                    return Err(self.unsupported(v, "addresses under 64 bits"));
                                }
                                let add = self.addends.get(&span.start).copied().unwrap_or(0);
                                relocations.push((initial.len(), name.val.clone(), add));
                                initial.extend_from_slice(&[0; 8]);
                            }
                            InitializerValue::StringLiteral { value, .. } => {
                                initial.extend_from_slice(value.as_bytes());
                            }
                        }
                    }
                    if size == 0 {
                        size = initial.len();
                    }
                    initial.truncate(size);
                    relocations.retain(|(at, ..)| at + 8 <= size);
                    let offset = end.next_multiple_of(align.max(8));
                    end = offset + size;
                    let name = v.name.val.clone();
                    variables.push(Variable { name, offset, size, initial, relocations });
                }
                _ => {}
            }
        }
        if end as u64 > MAX_VARIABLE {
            return Err(PtxError::Invalid { line: 0, what: "the variables are too large".into() });
        }
        (self.variables, self.shared, self.size) = (variables, shared, end);
        Ok(())
    }

    fn unsupported(&self, v: &VariableDirective, what: &str) -> PtxError {
        PtxError::Unsupported {
            line: line_of(&self.text, v.span.start),
            what: format!("{what} (variable '{}')", v.name.val),
        }
    }
}

fn literal_bits(text: &str, element: usize) -> Option<u64> {
    Some(match (token::literal_text(text)?, element) {
        (Arg::Int(v), _) => v as u64,
        (Arg::F32(bits), 4) => u64::from(bits),
        (Arg::F64(bits), 4) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Arg::F32(bits), 8) => f64::from(f32::from_bits(bits)).to_bits(),
        (Arg::F64(bits), 8) => bits,
        _ => return None,
    })
}

/// Returns the number in a target's name. The syntax tree has one variant per target.
fn target_number(target: &TargetString) -> Option<i32> {
    let name = format!("{target:?}");
    let digits: String =
        name.strip_prefix("Sm")?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
