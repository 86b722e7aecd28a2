//! Lowers the statements in a function, and tracks its registers, variables and labels.

use std::collections::HashMap;

use super::lowering::Lower;
use super::special::{Special, special};
use super::{modifiers, opcodes};
use crate::ptx::constant::{self, Constant};
use crate::ptx::declaration::{self, Kind};
use crate::ptx::error::{PtxError, invalid};
use crate::ptx::ir::{Fixed, Guard, Inst, Op, Passed, Pred, Slot};
use crate::ptx::scan::Scanner;
use crate::ptx::source::{Symbol, place};
use crate::ptx::token::{self, Arg, RawInst};
use crate::ptx::types::Ty;
use crate::ptx::unit::SharedVariable;

/// Maximum number of registers per function. A register's index has only 16 bits.
const MAX_REGISTERS: u32 = 65_000;
/// Maximum local memory per frame, in bytes.
const MAX_LOCAL: usize = 1 << 20;

/// Index of the predicate that is never set. Every frame has this predicate.
pub(crate) const FALSE: Pred = 0;
/// Index of the predicate that is always set. Every frame has this predicate.
pub(crate) const TRUE: Pred = 1;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Reg {
    Slot(Slot, u32),
    Pred(Pred),
}

/// The variable that a name in a function refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Var {
    Shared(u32),
    DynamicShared,
    /// A variable in local memory or a parameter of a call: its offset in the frame, and its size
    /// in bytes.
    Frame(u32, u32),
    KernelParam(u32),
}

#[derive(Debug, Default)]
struct Scope {
    id: u32,
    regs: HashMap<String, Reg>,
    /// Declarations such as `%r<100>`: prefix, first register, number of registers.
    ranges: Vec<(String, Reg, u32)>,
    vars: HashMap<String, Var>,
    tables: HashMap<String, Vec<String>>,
}

struct Fixup {
    at: usize,
    labels: Vec<String>,
    scopes: Vec<u32>,
    source: usize,
}

/// The state of lowering a function body.
pub(crate) struct FunctionState {
    pub(crate) is_entry: bool,
    scopes: Vec<Scope>,
    next_scope: u32,
    slots: u32,
    preds: u32,
    local: u32,
    fixed: HashMap<Fixed, Slot>,
    labels: HashMap<(u32, String), u32>,
    fixups: Vec<Fixup>,
    last_label: String,
    shared: HashMap<String, u32>,
    pub(crate) shared_end: u32,
    /// The current instruction's byte position in the PTX text.
    pub(crate) at: usize,
    /// The current instruction's guard.
    pub(crate) guard: Guard,
    /// Description of the first operand that couldn't be lowered, if any.
    pub(crate) problem: Option<String>,
    /// The name of a called function that none of the module's texts defines, if any.
    pub(crate) undefined: Option<String>,
}

impl FunctionState {
    pub(crate) fn new(is_entry: bool, common_end: u32) -> Self {
        Self {
            is_entry,
            scopes: vec![Scope::default()],
            next_scope: 1,
            slots: 0,
            preds: 2,
            local: 0,
            fixed: HashMap::new(),
            labels: HashMap::new(),
            fixups: Vec::new(),
            last_label: String::new(),
            shared: HashMap::new(),
            shared_end: common_end,
            at: 0,
            guard: Guard::Always,
            problem: None,
            undefined: None,
        }
    }

    pub(crate) fn sizes(&self) -> (u32, u32, u32) {
        (self.slots, self.preds, self.local.next_multiple_of(16))
    }

    pub(crate) fn fixed(&self) -> Vec<(Fixed, Slot)> {
        let mut fixed: Vec<_> = self.fixed.iter().map(|(f, s)| (*f, *s)).collect();
        fixed.sort_by_key(|(_, slot)| *slot);
        fixed
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a function has a scope")
    }

    pub(crate) fn kernel_param(&mut self, name: &str, offset: u32) {
        self.scope().vars.insert(name.to_owned(), Var::KernelParam(offset));
    }

    /// Allocates a variable in the frame's local memory.
    pub(crate) fn frame_variable(
        &mut self,
        name: &str,
        size: usize,
        align: usize,
    ) -> Option<Passed> {
        let offset = (self.local as usize).next_multiple_of(align);
        if offset + size > MAX_LOCAL {
            return None;
        }
        self.local = (offset + size) as u32;
        self.scope().vars.insert(name.to_owned(), Var::Frame(offset as u32, size as u32));
        Some(Passed::Memory(offset as u32, size as u32))
    }

    fn new_registers(&mut self, ty: Ty, count: u32) -> Option<Reg> {
        if ty == Ty::Pred {
            let first = self.preds;
            self.preds = first.checked_add(count).filter(|n| *n < MAX_REGISTERS)?;
            return Some(Reg::Pred(first as Pred));
        }
        // A 128-bit register takes two slots, the first one for the lower half.
        let each = if ty.bits() > 64 { 2 } else { 1 };
        let first = self.slots;
        let end = count.checked_mul(each).and_then(|n| first.checked_add(n));
        self.slots = end.filter(|n| *n < MAX_REGISTERS)?;
        Some(Reg::Slot(first as Slot, ty.bits()))
    }

    /// Declares one register.
    pub(crate) fn declare_one(&mut self, ty: Ty, name: &str) -> Option<Passed> {
        let reg = self.new_registers(ty, 1)?;
        self.scope().regs.insert(name.to_owned(), reg);
        Some(match reg {
            Reg::Slot(slot, _) => Passed::Register(slot),
            Reg::Pred(pred) => Passed::Predicate(pred),
        })
    }

    /// Declares a register. With a count, declares that many registers, which are named `name0`,
    /// `name1`, ….
    fn declare(&mut self, kind: Kind, name: &str, count: Option<u32>) -> Option<()> {
        match (count, kind.width) {
            (Some(count), 1) => {
                let reg = self.new_registers(kind.ty, count)?;
                self.scope().ranges.push((name.to_owned(), reg, count));
            }
            (None, 1) => {
                self.declare_one(kind.ty, name)?;
            }
            (None, width) => {
                for component in ["x", "y", "z", "w"].into_iter().take(width.into()) {
                    self.declare_one(kind.ty, &format!("{name}.{component}"))?;
                }
            }
            (Some(_), _) => return None,
        }
        Some(())
    }

    pub(crate) fn reg(&self, name: &str) -> Option<Reg> {
        for scope in self.scopes.iter().rev() {
            if let Some(reg) = scope.regs.get(name) {
                return Some(*reg);
            }
            for (prefix, first, count) in &scope.ranges {
                let Some(digits) = name.strip_prefix(prefix.as_str()) else { continue };
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    continue;
                }
                if digits.len() > 1 && digits.starts_with('0') {
                    continue;
                }
                if let Some(n) = digits.parse::<u32>().ok().filter(|n| n < count) {
                    return Some(match first {
                        Reg::Slot(slot, bits) if *bits > 64 => {
                            Reg::Slot(slot + 2 * n as Slot, *bits)
                        }
                        Reg::Slot(slot, bits) => Reg::Slot(slot + n as Slot, *bits),
                        Reg::Pred(pred) => Reg::Pred(pred + n as Pred),
                    });
                }
            }
        }
        None
    }

    pub(crate) fn var(&self, name: &str) -> Option<Var> {
        self.scopes.iter().rev().find_map(|s| s.vars.get(name)).copied()
    }

    pub(crate) fn table(&self, name: &str) -> Option<Vec<String>> {
        self.scopes.iter().rev().find_map(|s| s.tables.get(name)).cloned()
    }

    pub(crate) fn temp(&mut self) -> Option<Slot> {
        let slot = self.slots;
        self.slots = (slot < MAX_REGISTERS).then_some(slot + 1)?;
        Some(slot as Slot)
    }

    pub(crate) fn fixed_slot(&mut self, fixed: Fixed) -> Option<Slot> {
        if let Some(slot) = self.fixed.get(&fixed) {
            return Some(*slot);
        }
        let slot = self.temp()?;
        self.fixed.insert(fixed, slot);
        Some(slot)
    }

    pub(crate) fn constant(&mut self, value: u64) -> Option<Slot> {
        self.fixed_slot(Fixed::Const(value))
    }

    pub(crate) fn branch_to(&mut self, at: usize, labels: Vec<String>) {
        let scopes = self.scopes.iter().rev().map(|s| s.id).collect();
        self.fixups.push(Fixup { at, labels, scopes, source: self.at });
    }

    /// Returns the offset of a module-level shared variable in this kernel's shared memory. The
    /// first use of the variable in the kernel determines the offset.
    pub(crate) fn place_shared(&mut self, name: &str, shared: SharedVariable) -> Option<u32> {
        if let Some(offset) = self.shared.get(name) {
            return Some(*offset);
        }
        let offset = place(&mut self.shared_end, shared)?;
        self.shared.insert(name.to_owned(), offset);
        Some(offset)
    }

    /// Records a problem with an operand, and returns `None`.
    pub(crate) fn fail<T>(&mut self, what: String) -> Option<T> {
        self.problem.get_or_insert(what);
        None
    }
}

impl Lower<'_> {
    pub(crate) fn emit(&mut self, f: &FunctionState, op: Op) {
        self.code.push(Inst { guard: f.guard, op });
    }

    /// Lowers all statements of the scanner's range.
    pub(crate) fn statements(
        &mut self,
        f: &mut FunctionState,
        scan: &mut Scanner<'_>,
    ) -> Result<(), PtxError> {
        // Names other than labels are declared before they're used, so one pass suffices. `resolve`
        // sets the targets of branches to labels.
        while !scan.at_end() {
            f.at = scan.position();
            match scan.peek() {
                b'{' => {
                    scan.eat(b'{');
                    let id = f.next_scope;
                    f.next_scope += 1;
                    f.scopes.push(Scope { id, ..Scope::default() });
                }
                b'}' if f.scopes.len() > 1 => {
                    scan.eat(b'}');
                    f.scopes.pop();
                }
                b'.' => self.directive(f, scan)?,
                b';' => {
                    scan.eat(b';');
                }
                b'@' => self.instruction(f, scan)?,
                _ => {
                    let Some(word) = scan.word() else {
                        let found = scan.describe();
                        return Err(self.invalid(f.at, format!("unexpected {found}")));
                    };
                    if scan.eat(b':') {
                        let pc = self.code.len() as u32;
                        let scope = f.scope().id;
                        if f.labels.insert((scope, word.to_owned()), pc).is_some() {
                            return Err(self.invalid(f.at, format!("duplicate label '{word}'")));
                        }
                        f.last_label = word.to_owned();
                    } else {
                        scan.rewind(f.at);
                        self.instruction(f, scan)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn invalid(&self, at: usize, what: impl Into<String>) -> PtxError {
        invalid(self.text, at, what)
    }

    fn end_statement(&self, scan: &mut Scanner<'_>) -> Result<(), PtxError> {
        let at = scan.position();
        if scan.eat(b';') {
            return Ok(());
        }
        let found = scan.describe();
        Err(self.invalid(at, format!("unexpected {found}")))
    }

    fn directive(&mut self, f: &mut FunctionState, scan: &mut Scanner<'_>) -> Result<(), PtxError> {
        let word = scan.dotted().unwrap_or_default();
        match word {
            "reg" => self.registers(f, scan),
            "local" | "param" | "shared" => self.variables(f, scan, word == "shared"),
            "loc" => {
                // Unlike other directives, `.loc` ends without a semicolon.
                let malformed = || self.invalid(f.at, "malformed '.loc'");
                for _ in 0..3 {
                    scan.number().ok_or_else(malformed)?;
                }
                while scan.eat(b',') {
                    scan.word().ok_or_else(malformed)?;
                    scan.word();
                    while scan.eat(b'+') || scan.number().is_some() {}
                }
                Ok(())
            }
            "pragma" => {
                while scan.string().is_some() {
                    scan.eat(b',');
                }
                self.end_statement(scan)
            }
            "branchtargets" => {
                let mut labels = Vec::new();
                loop {
                    let Some(label) = scan.word() else {
                        return Err(self.invalid(f.at, "malformed '.branchtargets'"));
                    };
                    labels.push(label.to_owned());
                    if !scan.eat(b',') {
                        break;
                    }
                }
                let name = f.last_label.clone();
                f.scope().tables.insert(name, labels);
                self.end_statement(scan)
            }
            // Skip call prototypes and lists of call targets. They aren't needed, because an
            // indirect call uses the called function's own signature.
            "callprototype" | "calltargets" => scan
                .skip_statement()
                .ok_or_else(|| self.invalid(f.at, format!("'.{word}' doesn't end"))),
            _ => Err(self.invalid(f.at, format!("unexpected directive '.{word}'"))),
        }
    }

    fn registers(&mut self, f: &mut FunctionState, scan: &mut Scanner<'_>) -> Result<(), PtxError> {
        let kind = declaration::kind(scan, self.text)?;
        loop {
            let Some(name) = scan.word() else {
                let found = scan.describe();
                return Err(
                    self.invalid(f.at, format!("a register's name is missing before {found}"))
                );
            };
            let mut count = None;
            if scan.eat(b'<') {
                let number = constant::unary(scan);
                count = match number {
                    Some(Constant::Int(n, _)) if scan.eat(b'>') => Some(n as u32),
                    _ => return Err(self.invalid(f.at, "malformed number of registers")),
                };
            }
            f.declare(kind, name, count)
                .ok_or_else(|| self.unsupported(f.at, "this type or number of registers"))?;
            if !scan.eat(b',') {
                return self.end_statement(scan);
            }
        }
    }

    fn variables(
        &mut self,
        f: &mut FunctionState,
        scan: &mut Scanner<'_>,
        shared: bool,
    ) -> Result<(), PtxError> {
        let kind = declaration::kind(scan, self.text)?;
        loop {
            let declared = declaration::name(scan, self.text, kind)?;
            let (size, align) = (declared.size().unwrap_or(0) as usize, declared.align() as usize);
            let name = declared.name;
            let var = if !shared {
                f.frame_variable(name, size, align).map(|_| ())
            } else {
                let dynamic = declared.elements.is_none();
                let offset = match self.source.inner_shared(self.unit, declared.at) {
                    Some(offset) => Some(offset),
                    None => place(&mut f.shared_end, SharedVariable { size, align, dynamic }),
                };
                offset.map(|offset| {
                    let var = if dynamic { Var::DynamicShared } else { Var::Shared(offset) };
                    f.scope().vars.insert(name.to_owned(), var);
                })
            };
            if var.is_none() {
                let space = if shared { "shared" } else { "local" };
                return Err(self.unsupported(f.at, format!("{space} variables of this size")));
            }
            if !scan.eat(b',') {
                return self.end_statement(scan);
            }
        }
    }

    fn instruction(
        &mut self,
        f: &mut FunctionState,
        scan: &mut Scanner<'_>,
    ) -> Result<(), PtxError> {
        let start = f.at;
        let Some(inst) = token::instruction(scan) else {
            scan.rewind(start);
            let found = scan.describe();
            return Err(self.invalid(start, format!("malformed instruction: {found}")));
        };
        f.guard = Guard::Always;
        if let Some((name, negated)) = inst.guard {
            let Some(Reg::Pred(pred)) = f.reg(name) else {
                let what = format!("'{name}' is not a predicate, in: {}", short(scan, start));
                return Err(self.invalid(start, what));
            };
            f.guard = if negated { Guard::IfNot(pred) } else { Guard::If(pred) };
        }
        f.problem = None;
        let lowered = self.lower_inst(f, &inst);
        if let Some(unknown) = inst.mods.iter().find(|m| lowered.is_some() && !modifiers::known(m))
        {
            let what = format!("unknown modifier '.{unknown}', in: {}", short(scan, start));
            return Err(self.invalid(start, what));
        }
        if let "ld" | "st" = inst.op
            && let Some(conflict) = modifiers::conflict(inst.op, &inst.mods)
        {
            let what = format!("{conflict}, in: {}", short(scan, start));
            return Err(self.invalid(start, what));
        }
        if let Some(symbol) = f.undefined.take() {
            return Err(PtxError::Undefined { symbol, unit: self.unit });
        }
        match lowered {
            Some(()) => Ok(()),
            None => Err(match f.problem.take() {
                Some(problem) => {
                    self.invalid(start, format!("{problem}, in: {}", short(scan, start)))
                }
                None if !opcodes::known(inst.op) => {
                    let what = format!("unknown instruction, in: {}", short(scan, start));
                    self.invalid(start, what)
                }
                None => self.unsupported(start, short(scan, start)),
            }),
        }
    }

    fn lower_inst(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        match inst.op {
            "ld" | "ldu" | "st" | "atom" | "red" | "cp" | "prefetch" | "prefetchu" | "cvta"
            | "isspacep" | "alloca" | "stacksave" | "stackrestore" | "applypriority"
            | "discard" => self.memory(f, inst),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "bar" | "barrier"
            | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "membar" | "fence"
            | "nanosleep" | "pmevent" | "griddepcontrol" => self.control(f, inst),
            "tex" | "tld4" | "txq" | "suld" | "sust" | "suq" => self.image(f, inst),
            _ => self.arithmetic(f, inst),
        }
    }

    /// Sets the targets of all branches. Must be called after the body has been lowered, when all
    /// labels are known.
    pub(crate) fn resolve(&mut self, f: &FunctionState) -> Result<(), PtxError> {
        for fixup in &f.fixups {
            let mut targets = Vec::new();
            for label in &fixup.labels {
                let found =
                    fixup.scopes.iter().find_map(|scope| f.labels.get(&(*scope, label.clone())));
                let Some(pc) = found else {
                    return Err(self.invalid(fixup.source, format!("unknown label '{label}'")));
                };
                targets.push(*pc);
            }
            match &mut self.code[fixup.at].op {
                Op::Branch { target } => *target = targets[0],
                Op::BranchIndex { targets: all, .. } => *all = targets.into_boxed_slice(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the register that contains the value of a source operand. Emits code that loads the
    /// value into a register if necessary.
    pub(crate) fn src(&mut self, f: &mut FunctionState, arg: &Arg<'_>, ty: Ty) -> Option<Slot> {
        let mask = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        match arg {
            Arg::Int(v) if ty == Ty::F32 => f.constant(u64::from((*v as f32).to_bits())),
            Arg::Int(v) if ty == Ty::F64 => f.constant((*v as f64).to_bits()),
            Arg::Int(v) => f.constant(*v as u64 & mask),
            Arg::F32(bits) if ty == Ty::F64 => {
                f.constant(f64::from(f32::from_bits(*bits)).to_bits())
            }
            Arg::F32(bits) => f.constant(u64::from(*bits)),
            Arg::F64(bits) if ty == Ty::F32 => {
                f.constant(u64::from((f64::from_bits(*bits) as f32).to_bits()))
            }
            Arg::F64(bits) => f.constant(*bits),
            Arg::Name(name) => self.named(f, name, 0),
            Arg::NameOffset(name, offset) => self.named(f, name, *offset),
            _ => None,
        }
    }

    fn named(&mut self, f: &mut FunctionState, name: &str, offset: i64) -> Option<Slot> {
        match f.reg(name) {
            Some(Reg::Slot(slot, bits)) if offset == 0 && bits <= 64 => return Some(slot),
            Some(_) => return f.fail(format!("'{name}' is not allowed here")),
            None => {}
        }
        if let Some(special) = special(name) {
            return match special {
                Special::Fixed(fixed) => f.fixed_slot(fixed),
                Special::Volatile(which) => {
                    let d = f.temp()?;
                    self.emit(f, Op::Volatile { which, d });
                    Some(d)
                }
            };
        }
        match f.var(name) {
            Some(Var::Shared(at) | Var::KernelParam(at)) => {
                return f.constant(u64::from(at).wrapping_add(offset as u64));
            }
            Some(Var::DynamicShared) => return self.dynamic_shared(f, offset),
            Some(Var::Frame(at, _)) => {
                let d = f.temp()?;
                let offset = at.wrapping_add(offset as u32);
                self.emit(f, Op::FrameAddress { d, offset });
                return Some(d);
            }
            None => {}
        }
        let unit = &self.source.units[self.unit as usize];
        if let Some(shared) = unit.shared.get(name).copied() {
            if shared.dynamic {
                return self.dynamic_shared(f, offset);
            }
            let at = match self.source.common_shared(self.unit, name) {
                Some(at) => at,
                None if f.is_entry => f.place_shared(name, shared)?,
                None => return None,
            };
            return f.constant(u64::from(at).wrapping_add(offset as u64));
        }
        let symbol = self.source.symbol(self.unit, name);
        if let Some(address) = symbol.and_then(|s| self.source.address(s, self.bases)) {
            return f.constant(address.wrapping_add(offset as u64));
        }
        if matches!(symbol, Some(Symbol::Builtin(_))) {
            return None;
        }
        f.fail(format!("unknown name '{name}'"))
    }

    fn dynamic_shared(&mut self, f: &mut FunctionState, offset: i64) -> Option<Slot> {
        let base = f.fixed_slot(Fixed::DynamicShared)?;
        if offset == 0 {
            return Some(base);
        }
        let (d, b) = (f.temp()?, f.constant(offset as u64)?);
        let add = crate::exec::alu::int_bin("add", Ty::U64, false)?;
        self.emit(f, Op::Bin { f: add, d, a: base, b });
        Some(d)
    }

    /// Returns the register that a destination operand names.
    pub(crate) fn dst(&mut self, f: &mut FunctionState, arg: &Arg<'_>) -> Option<Slot> {
        match arg {
            Arg::Name(name) => match f.reg(name) {
                Some(Reg::Slot(slot, bits)) if bits <= 64 => Some(slot),
                Some(_) => f.fail(format!("'{name}' is not allowed here")),
                None => f.fail(format!("'{name}' is not a register")),
            },
            Arg::Sink => f.temp(),
            _ => None,
        }
    }
}

/// Returns the start of the text of a statement, for an error message.
fn short(scan: &Scanner<'_>, start: usize) -> String {
    scan.since(start).chars().take(200).collect()
}
