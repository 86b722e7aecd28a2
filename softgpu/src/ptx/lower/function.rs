//! Lowers the statements in a function, and tracks its registers, variables and labels.

use std::collections::HashMap;

use ptx_syntax::r#type as ast;
use ptx_syntax::r#type::{DataType, FunctionStatement, RegisterVectorWidth, StatementDirective};

use super::lowering::{Lower, MAX_SHARED};
use super::special::{Special, special};
use crate::ptx::ir::{Fixed, Guard, Inst, Op, Passed, Pred, Slot};
use crate::ptx::source::{PtxError, extent, line_of, type_bytes};
use crate::ptx::token::{self, Arg, RawInst};
use crate::ptx::types::Ty;

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

/// The object that a name in a function refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Var {
    Shared(u32),
    DynamicShared,
    /// Local memory or a call parameter: offset in the frame, and size in bytes.
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

/// The state of lowering the current function.
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

    fn new_registers(&mut self, ty: &DataType, count: u32) -> Option<Reg> {
        if matches!(ty, DataType::Pred { .. }) {
            let first = self.preds;
            self.preds = first.checked_add(count).filter(|n| *n < MAX_REGISTERS)?;
            return Some(Reg::Pred(first as Pred));
        }
        let bits = type_bytes(ty).filter(|b| *b <= 8)? as u32 * 8;
        let first = self.slots;
        self.slots = first.checked_add(count).filter(|n| *n < MAX_REGISTERS)?;
        Some(Reg::Slot(first as Slot, bits))
    }

    /// Declares one register.
    pub(crate) fn declare_one(&mut self, ty: &DataType, name: &str) -> Option<Passed> {
        let reg = self.new_registers(ty, 1)?;
        self.scope().regs.insert(name.to_owned(), reg);
        Some(match reg {
            Reg::Slot(slot, _) => Passed::Register(slot),
            Reg::Pred(pred) => Passed::Predicate(pred),
        })
    }

    fn declare(&mut self, directive: &ast::RegisterDirective) -> Option<()> {
        for target in &directive.registers {
            let name = &target.name.val;
            match (target.range, directive.vector) {
                (Some(count), None) => {
                    let reg = self.new_registers(&directive.ty, count)?;
                    self.scope().ranges.push((name.clone(), reg, count));
                }
                (None, None) => {
                    self.declare_one(&directive.ty, name)?;
                }
                (None, Some(width)) => {
                    let n = if width == RegisterVectorWidth::V2 { 2 } else { 4 };
                    for component in ["x", "y", "z", "w"].into_iter().take(n) {
                        self.declare_one(&directive.ty, &format!("{name}.{component}"))?;
                    }
                }
                (Some(_), Some(_)) => return None,
            }
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
    pub(crate) fn place_shared(&mut self, name: &str, size: usize, align: usize) -> Option<u32> {
        if let Some(offset) = self.shared.get(name) {
            return Some(*offset);
        }
        let offset = (self.shared_end as usize).next_multiple_of(align);
        let end = offset.checked_add(size).filter(|end| *end <= MAX_SHARED as usize)?;
        self.shared_end = end as u32;
        self.shared.insert(name.to_owned(), offset as u32);
        Some(offset as u32)
    }

    /// Records a problem with an operand, and returns `None`.
    pub(crate) fn fail<T>(&mut self, what: String) -> Option<T> {
        self.problem.get_or_insert(what);
        None
    }
}

impl Lower<'_> {
    pub(crate) fn emit(&mut self, f: &FunctionState, op: Op) {
        self.program.code.push(Inst { guard: f.guard, op });
    }

    pub(crate) fn statements(
        &mut self,
        f: &mut FunctionState,
        statements: &[FunctionStatement],
    ) -> Result<(), PtxError> {
        // One pass suffices because only labels may be used before they are declared, and `resolve`
        // handles labels.
        for statement in statements {
            match statement {
                FunctionStatement::Label { label, .. } => {
                    let pc = self.program.code.len() as u32;
                    let scope = f.scope().id;
                    f.labels.insert((scope, label.val.clone()), pc);
                    f.last_label.clone_from(&label.val);
                }
                FunctionStatement::Directive { directive, .. } => self.directive(f, directive)?,
                FunctionStatement::Instruction { instruction, .. } => {
                    self.instruction(f, instruction)?;
                }
                FunctionStatement::Block { statements, .. } => {
                    let id = f.next_scope;
                    f.next_scope += 1;
                    f.scopes.push(Scope { id, ..Scope::default() });
                    self.statements(f, statements)?;
                    f.scopes.pop();
                }
            }
        }
        Ok(())
    }

    pub(crate) fn directive(
        &mut self,
        f: &mut FunctionState,
        directive: &StatementDirective,
    ) -> Result<(), PtxError> {
        match directive {
            StatementDirective::Reg { directive, span } => {
                f.declare(directive).ok_or_else(|| {
                    self.unsupported(span.start, "this type or number of registers")
                })?;
            }
            StatementDirective::Local { directive, span }
            | StatementDirective::Param { directive, span } => {
                let placed = extent(directive).and_then(|(_, size, align)| {
                    f.frame_variable(&directive.name.val, size, align)
                });
                if placed.is_none() {
                    return Err(self.unsupported(span.start, "local variables of this size"));
                }
            }
            StatementDirective::Shared { directive, span } => {
                let name = &directive.name.val;
                let placed = extent(directive).and_then(|(_, size, align)| {
                    if directive.array_dims.iter().any(Option::is_none) {
                        return Some(Var::DynamicShared);
                    }
                    let offset = (f.shared_end as usize).next_multiple_of(align);
                    let end = offset.checked_add(size).filter(|e| *e <= MAX_SHARED as usize)?;
                    f.shared_end = end as u32;
                    Some(Var::Shared(offset as u32))
                });
                let Some(var) = placed else {
                    return Err(self.unsupported(span.start, "shared variables of this size"));
                };
                f.scope().vars.insert(name.clone(), var);
            }
            StatementDirective::BranchTargets { directive, .. } => {
                let labels = directive.labels.iter().map(|l| l.val.clone()).collect();
                let name = f.last_label.clone();
                f.scope().tables.insert(name, labels);
            }
            _ => {}
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        f: &mut FunctionState,
        instruction: &ast::Instruction,
    ) -> Result<(), PtxError> {
        let span = instruction.span;
        f.at = span.start;
        let text = self.source.text.get(span.start..span.end).unwrap_or("");
        let invalid =
            |what: String| PtxError::Invalid { line: line_of(&self.source.text, span.start), what };
        let short: String = text.chars().take(200).collect();
        let Some(inst) = token::parse(text) else {
            return Err(self.unsupported(span.start, short));
        };
        f.guard = Guard::Always;
        if let Some(predicate) = &instruction.predicate {
            let name = match &predicate.operand {
                ast::Operand::Register { operand, .. } => &operand.name,
                ast::Operand::Symbol { name, .. } => name,
                _ => return Err(invalid(format!("a guard must be a predicate: {short}"))),
            };
            let Some(Reg::Pred(pred)) = f.reg(name) else {
                return Err(invalid(format!("'{name}' is not a predicate, in: {short}")));
            };
            f.guard = if predicate.negated { Guard::IfNot(pred) } else { Guard::If(pred) };
        }
        f.problem = None;
        match self.lower_inst(f, &inst) {
            Some(()) => Ok(()),
            None => match f.problem.take() {
                Some(problem) => Err(invalid(format!("{problem}, in: {short}"))),
                None => Err(self.unsupported(span.start, short)),
            },
        }
    }

    fn lower_inst(&mut self, f: &mut FunctionState, inst: &RawInst) -> Option<()> {
        match inst.op.as_str() {
            "ld" | "ldu" | "st" | "atom" | "red" | "cp" | "prefetch" | "prefetchu" | "cvta"
            | "isspacep" | "alloca" | "stacksave" | "stackrestore" | "applypriority"
            | "discard" => self.memory(f, inst),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "bar" | "barrier"
            | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "membar" | "fence"
            | "nanosleep" | "pmevent" | "griddepcontrol" => self.control(f, inst),
            _ => self.arithmetic(f, inst),
        }
    }

    /// Sets the targets of the function's branches, after all labels are known.
    pub(crate) fn resolve(&mut self, f: &FunctionState) -> Result<(), PtxError> {
        for fixup in &f.fixups {
            let mut targets = Vec::new();
            for label in &fixup.labels {
                let found =
                    fixup.scopes.iter().find_map(|scope| f.labels.get(&(*scope, label.clone())));
                let Some(pc) = found else {
                    return Err(PtxError::Invalid {
                        line: line_of(&self.source.text, fixup.source),
                        what: format!("unknown label '{label}'"),
                    });
                };
                targets.push(*pc);
            }
            match &mut self.program.code[fixup.at].op {
                Op::Branch { target } => *target = targets[0],
                Op::BranchIndex { targets: all, .. } => *all = targets.into_boxed_slice(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the register that contains a source operand's value.
    pub(crate) fn src(&mut self, f: &mut FunctionState, arg: &Arg, ty: Ty) -> Option<Slot> {
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
            Some(Reg::Slot(slot, _)) if offset == 0 => return Some(slot),
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
        if let Some(shared) = self.source.shared.get(name).copied() {
            if shared.dynamic {
                return self.dynamic_shared(f, offset);
            }
            let at = match self.common_shared.get(name) {
                Some(at) => *at,
                None if f.is_entry => f.place_shared(name, shared.size, shared.align)?,
                None => return None,
            };
            return f.constant(u64::from(at).wrapping_add(offset as u64));
        }
        if let Some(address) = self.addresses.get(name) {
            return f.constant(address.wrapping_add(offset as u64));
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
    pub(crate) fn dst(&mut self, f: &mut FunctionState, arg: &Arg) -> Option<Slot> {
        match arg {
            Arg::Name(name) => match f.reg(name) {
                Some(Reg::Slot(slot, _)) => Some(slot),
                _ => f.fail(format!("'{name}' is not a register")),
            },
            Arg::Sink => f.temp(),
            _ => None,
        }
    }
}
