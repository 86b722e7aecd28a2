//! Lowers loads, stores, atomics and address operations.

use super::alu::ty;
use super::function::{FunctionState, Reg, Var};
use super::lowering::Lower;
use crate::exec::alu;
use crate::ptx::ir::{
    Access, Address, Atomic, AtomicOp, Op, Slot, Space, WINDOW_LOCAL, WINDOW_PARAM, WINDOW_SHARED,
    WINDOW_SHIFT,
};
use crate::ptx::token::{Arg, RawInst};
use crate::ptx::types::Ty;

fn space(f: &FunctionState, inst: &RawInst<'_>) -> Option<Space> {
    for m in &inst.mods {
        return Some(match *m {
            "global" | "const" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => return None,
            "local" => Space::Local,
            "param" | "param::entry" | "param::func" if f.is_entry => Space::Param,
            "param" | "param::func" => Space::Local,
            _ => continue,
        });
    }
    Some(Space::Generic)
}

impl Lower<'_> {
    /// Returns the address that an operand `[…]` describes. If the operand names a variable, the
    /// variable's kind determines the state space instead of the modifier. This is necessary
    /// because `.param` has two meanings: the parameters of the kernel, and the parameters of
    /// function calls, which are in local memory.
    fn address(&mut self, f: &mut FunctionState, arg: &Arg<'_>, space: Space) -> Option<Address> {
        let Arg::Address(base, offset) = arg else { return None };
        let offset = *offset;
        if let Arg::Name(name) = &**base
            && f.reg(name).is_none()
        {
            match f.var(name) {
                Some(Var::Frame(at, _)) if space != Space::Generic => {
                    let base = f.constant(0)?;
                    let offset = offset.wrapping_add(i64::from(at));
                    return Some(Address { space: Space::Local, base, offset, frame: true });
                }
                Some(Var::KernelParam(at)) => {
                    let base = f.constant(0)?;
                    let offset = offset.wrapping_add(i64::from(at));
                    return Some(Address { space: Space::Param, base, offset, frame: false });
                }
                _ => {}
            }
        }
        let base = self.src(f, base, Ty::U64)?;
        Some(Address { space, base, offset, frame: false })
    }

    pub(crate) fn memory(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        match inst.op {
            "ld" | "ldu" | "st" => self.load_store(f, inst),
            "atom" | "red" => self.atomic(f, inst),
            "cp" => self.copy(f, inst),
            "cvta" => self.cvta(f, inst),
            "isspacep" => {
                let space = match *inst.mods.first()? {
                    "global" | "const" => Space::Global,
                    "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
                    "local" => Space::Local,
                    "param" | "param::entry" => Space::Param,
                    _ => return None,
                };
                let p = self.pred_dst(f, inst.args.first()?)??;
                let a = self.src(f, inst.args.get(1)?, Ty::U64)?;
                self.emit(f, Op::IsSpace { p, a, space });
                Some(())
            }
            "alloca" => {
                let d = self.dst(f, inst.args.first()?)?;
                let size = self.src(f, inst.args.get(1)?, Ty::U64)?;
                let align = match inst.args.get(2) {
                    Some(Arg::Int(n)) => u32::try_from(*n).ok().filter(|n| n.is_power_of_two())?,
                    _ => 8,
                };
                self.emit(f, Op::Alloca { d, size, align });
                Some(())
            }
            "stacksave" => {
                let d = self.dst(f, inst.args.first()?)?;
                self.emit(f, Op::StackSave { d });
                Some(())
            }
            "stackrestore" => {
                let a = self.src(f, inst.args.first()?, Ty::U64)?;
                self.emit(f, Op::StackRestore { a });
                Some(())
            }
            // Prefetches, cache priorities, and discards are only hints, and have no effect in
            // softgpu.
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                self.emit(f, Op::Nop);
                Some(())
            }
            _ => None,
        }
    }

    fn load_store(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if inst.has("async") || inst.has("bulk") {
            return None;
        }
        let t = Ty::parse(inst.mods.last()?)?;
        let (value, place) = match (inst.op, inst.args.as_slice()) {
            // A cache policy may follow the value. It's ignored.
            ("st", [place, value, ..]) => (value, place),
            (_, [value, place, ..]) => (value, place),
            _ => return None,
        };
        let space = space(f, inst)?;
        let at = self.address(f, place, space)?;
        let store = inst.op == "st";
        let items = match value {
            Arg::Vector(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut regs = Vec::new();
        for item in items {
            regs.push(if store {
                Some(self.src(f, item, t)?)
            } else if *item == Arg::Sink {
                None
            } else {
                Some(self.dst(f, item)?)
            });
        }
        let access = Box::new(Access { at, size: t.bytes() as u8, signed: t.signed(), regs });
        self.emit(f, if store { Op::Store(access) } else { Op::Load(access) });
        Some(())
    }

    fn atomic(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if inst.has("async") || inst.mods.iter().any(|m| matches!(*m, "v2" | "v4" | "v8")) {
            return None;
        }
        let t = Ty::parse(inst.mods.last()?)?;
        let name = inst.mods.iter().find(|m| {
            matches!(
                **m,
                "add" | "min" | "max" | "inc" | "dec" | "and" | "or" | "xor" | "exch" | "cas"
            )
        })?;
        let op = match (*name, t) {
            ("add", Ty::F32) => AtomicOp::AddF32,
            ("add", Ty::F64) => AtomicOp::AddF64,
            ("add", Ty::F16) => AtomicOp::AddF16,
            ("add", Ty::F16x2) => AtomicOp::AddF16x2,
            ("add", Ty::Bf16) => AtomicOp::AddBf16,
            ("add", Ty::Bf16x2) => AtomicOp::AddBf16x2,
            (_, t) if t.float() => return None,
            ("add", _) => AtomicOp::AddInt,
            ("min", t) if t.signed() => AtomicOp::MinS,
            ("max", t) if t.signed() => AtomicOp::MaxS,
            ("min", _) => AtomicOp::MinU,
            ("max", _) => AtomicOp::MaxU,
            ("inc", _) => AtomicOp::Inc,
            ("dec", _) => AtomicOp::Dec,
            ("and", _) => AtomicOp::And,
            ("or", _) => AtomicOp::Or,
            ("xor", _) => AtomicOp::Xor,
            ("exch", _) => AtomicOp::Exch,
            _ => AtomicOp::Cas,
        };
        let space = space(f, inst)?;
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return None;
        }
        let mut args = inst.args.iter();
        let old = match (inst.op, args.as_slice().first()?) {
            ("red", _) => None,
            (_, Arg::Sink) => {
                args.next();
                None
            }
            (_, d) => {
                args.next();
                Some(self.dst(f, d)?)
            }
        };
        let at = self.address(f, args.next()?, space)?;
        let b = self.src(f, args.next()?, t)?;
        let c = if op == AtomicOp::Cas { self.src(f, args.next()?, t)? } else { b };
        let size = t.bytes() as u8;
        if size < 2 {
            return None;
        }
        self.emit(f, Op::Atomic(Box::new(Atomic { op, at, size, old, b, c })));
        Some(())
    }

    /// Lowers `cp.async` and the instructions that wait for it. softgpu performs the copy
    /// immediately, so the instructions that wait do nothing.
    fn copy(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if !inst.has("async") || inst.has("bulk") || inst.has("mbarrier") {
            return None;
        }
        if inst.has("commit_group") || inst.has("wait_group") || inst.has("wait_all") {
            self.emit(f, Op::Nop);
            return Some(());
        }
        let [to, from, Arg::Int(size), rest @ ..] = inst.args.as_slice() else { return None };
        let size = u32::try_from(*size).ok().filter(|n| matches!(n, 4 | 8 | 16))?;
        let to = Box::new(self.address(f, to, Space::Shared)?);
        let from = Box::new(self.address(f, from, Space::Global)?);
        let policy = inst.has("L2::cache_hint");
        let source = match rest {
            [] => None,
            [_] if policy => None,
            [Arg::Name(name), ..] if matches!(f.reg(name), Some(Reg::Pred(_))) => {
                return None;
            }
            [source, ..] => Some(self.src(f, source, Ty::U32)?),
        };
        self.emit(f, Op::Copy { to, from, size, source });
        Some(())
    }

    fn cvta(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if ty(inst)?.bits() != 64 {
            return None;
        }
        let window = inst.mods.iter().find_map(|m| match *m {
            "global" | "const" => Some(0),
            "shared" | "shared::cta" => Some(WINDOW_SHARED),
            "local" => Some(WINDOW_LOCAL),
            // Only a kernel's parameters have generic addresses with this upper byte. Parameters of
            // other functions are in local memory.
            "param" | "param::entry" if f.is_entry => Some(WINDOW_PARAM),
            _ => None,
        })?;
        let [to, from] = inst.args.as_slice() else { return None };
        let a = self.src(f, from, Ty::U64)?;
        let d = self.dst(f, to)?;
        let base = window << WINDOW_SHIFT;
        if base == 0 {
            self.emit(f, Op::Un { f: alu::mov(64), d, a });
            return Some(());
        }
        // As in hardware, the conversion doesn't treat null specially. For example, `cvta.to`
        // converts a generic null pointer to an address outside of the state space.
        let op = if inst.has("to") { "sub" } else { "add" };
        let b: Slot = f.constant(base)?;
        self.emit(f, Op::Bin { f: alu::int_bin(op, Ty::U64, false)?, d, a, b });
        Some(())
    }
}
