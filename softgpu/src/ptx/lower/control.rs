//! Lowers branches, calls, barriers and warp-wide operations.

use super::alu::ty;
use super::function::{FunctionState, Reg, Var};
use super::lowering::Lower;
use crate::ptx::ir::{
    Barrier, BarrierKind, Call, CallTarget, Match, Op, Passed, ReduxOp, Shfl, ShflMode, Vote,
    VoteKind,
};
use crate::ptx::source::Symbol;
use crate::ptx::token::{Arg, RawInst};
use crate::ptx::types::Ty;

impl Lower<'_> {
    pub(crate) fn control(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let op = match inst.op {
            "bra" => return self.branch(f, inst),
            "brx" => return self.branch_index(f, inst),
            "call" => return self.call(f, inst),
            "bar" | "barrier" => return self.barrier(f, inst),
            "shfl" => return self.shfl(f, inst),
            "vote" => return self.vote(f, inst),
            "match" => return self.matching(f, inst),
            "redux" => return self.redux(f, inst),
            "ret" => Op::Return,
            "exit" => Op::Exit,
            "trap" => Op::Trap,
            "brkpt" => Op::Breakpoint,
            "membar" => Op::Fence,
            // This includes proxy fences, for which an ordinary fence suffices: softgpu never
            // reorders the accesses that they order.
            "fence" if !inst.has("mbarrier_init") => Op::Fence,
            "nanosleep" => Op::Sleep { nanoseconds: self.src(f, inst.args.first()?, Ty::U32)? },
            "pmevent" | "griddepcontrol" => Op::Nop,
            "activemask" => Op::ActiveMask { d: self.dst(f, inst.args.first()?)? },
            "elect" => {
                let Arg::Pair(d, p) = inst.args.first()? else { return None };
                let members = self.src(f, inst.args.get(1)?, Ty::U32)?;
                let d = if **d == Arg::Sink { None } else { Some(self.dst(f, d)?) };
                Op::Elect { d, p: self.pred_dst(f, p)??, members }
            }
            _ => return None,
        };
        self.emit(f, op);
        Some(())
    }

    fn branch(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let Arg::Name(label) = inst.args.first()? else { return None };
        f.branch_to(self.code.len(), vec![(*label).to_owned()]);
        self.emit(f, Op::Branch { target: 0 });
        Some(())
    }

    fn branch_index(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let [index, Arg::Name(table)] = inst.args.as_slice() else { return None };
        let Some(labels) = f.table(table) else {
            return f.fail(format!("unknown branch target list '{table}'"));
        };
        let index = self.src(f, index, Ty::U32)?;
        f.branch_to(self.code.len(), labels);
        self.emit(f, Op::BranchIndex { index, targets: Box::default() });
        Some(())
    }

    fn passed(&mut self, f: &mut FunctionState, list: Option<&Arg<'_>>) -> Option<Vec<Passed>> {
        let Some(Arg::List(items)) = list else { return Some(Vec::new()) };
        let mut all = Vec::new();
        for item in items {
            let place = match item {
                Arg::Name(name) => match (f.reg(name), f.var(name)) {
                    (Some(Reg::Slot(slot, _)), _) => Passed::Register(slot),
                    (Some(Reg::Pred(pred)), _) => Passed::Predicate(pred),
                    (None, Some(Var::Frame(at, size))) => Passed::Memory(at, size),
                    _ => Passed::Register(self.src(f, item, Ty::U64)?),
                },
                Arg::Sink => Passed::Register(f.temp()?),
                other => Passed::Register(self.src(f, other, Ty::U64)?),
            };
            all.push(place);
        }
        Some(all)
    }

    fn call(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let mut args = inst.args.as_slice();
        let results = match args {
            [list @ Arg::List(_), rest @ ..] => {
                args = rest;
                self.passed(f, Some(list))?
            }
            _ => Vec::new(),
        };
        let [Arg::Name(callee), rest @ ..] = args else { return None };
        let passed = self.passed(f, rest.first())?;
        let target = if let Some(Reg::Slot(slot, _)) = f.reg(callee) {
            CallTarget::Indirect(slot)
        } else {
            match self.source.symbol(self.unit, callee) {
                Some(Symbol::Function(index)) => CallTarget::Direct(index),
                Some(Symbol::Builtin(builtin)) => CallTarget::Builtin(builtin),
                Some(Symbol::Undefined) => CallTarget::Direct(u32::MAX),
                Some(Symbol::Variable(_)) => return f.fail(format!("'{callee}' is a variable")),
                None => {
                    f.undefined = Some((*callee).to_owned());
                    return None;
                }
            }
        };
        self.emit(f, Op::Call(Box::new(Call { target, args: passed, results })));
        Some(())
    }

    fn barrier(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if inst.has("cluster") {
            return None;
        }
        if inst.has("warp") {
            let members = self.src(f, inst.args.first()?, Ty::U32)?;
            self.emit(f, Op::WarpSync { members });
            return Some(());
        }
        let reduce = inst.has("red");
        let kind = match (reduce, inst.has("arrive")) {
            (true, _) if inst.has("popc") => BarrierKind::Popc,
            (true, _) if inst.has("and") => BarrierKind::And,
            (true, _) => BarrierKind::Or,
            (_, true) => BarrierKind::Arrive,
            _ => BarrierKind::Sync,
        };
        let mut args = inst.args.as_slice();
        let (mut d, mut p, mut input) = (None, None, None);
        if reduce {
            let [to, middle @ .., predicate] = args else { return None };
            if kind == BarrierKind::Popc {
                d = Some(self.dst(f, to)?);
            } else {
                p = self.pred_dst(f, to)?;
            }
            input = Some(self.pred_src(f, predicate)?);
            args = middle;
        }
        let id = self.src(f, args.first()?, Ty::U32)?;
        let count = match args.get(1) {
            Some(count) => Some(self.src(f, count, Ty::U32)?),
            None => None,
        };
        self.emit(f, Op::Barrier(Box::new(Barrier { kind, id, count, input, d, p })));
        Some(())
    }

    fn shfl(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let mode = inst.mods.iter().find_map(|m| match *m {
            "up" => Some(ShflMode::Up),
            "down" => Some(ShflMode::Down),
            "bfly" => Some(ShflMode::Bfly),
            "idx" => Some(ShflMode::Idx),
            _ => None,
        })?;
        let [to, a, b, c, members @ ..] = inst.args.as_slice() else { return None };
        let (to, p) = match to {
            Arg::Pair(d, p) => (&**d, self.pred_dst(f, p)?),
            single => (single, None),
        };
        let d = if *to == Arg::Sink { None } else { Some(self.dst(f, to)?) };
        let a = self.src(f, a, Ty::B32)?;
        let (b, c) = (self.src(f, b, Ty::U32)?, self.src(f, c, Ty::U32)?);
        let members = match members.first() {
            Some(members) => Some(self.src(f, members, Ty::U32)?),
            None => None,
        };
        self.emit(f, Op::Shfl(Box::new(Shfl { mode, d, p, a, b, c, members })));
        Some(())
    }

    fn vote(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let kind = inst.mods.iter().find_map(|m| match *m {
            "all" => Some(VoteKind::All),
            "any" => Some(VoteKind::Any),
            "uni" => Some(VoteKind::Uni),
            "ballot" => Some(VoteKind::Ballot),
            _ => None,
        })?;
        let [to, input, members @ ..] = inst.args.as_slice() else { return None };
        let (d, p) = match kind {
            VoteKind::Ballot => (Some(self.dst(f, to)?), None),
            _ => (None, self.pred_dst(f, to)?),
        };
        let input = self.pred_src(f, input)?;
        let members = match members.first() {
            Some(members) => Some(self.src(f, members, Ty::U32)?),
            None => None,
        };
        self.emit(f, Op::Vote(Box::new(Vote { kind, d, p, input, members })));
        Some(())
    }

    fn matching(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let all = inst.has("all");
        let t = ty(inst)?;
        let [to, a, members] = inst.args.as_slice() else { return None };
        let (to, p) = match to {
            Arg::Pair(d, p) => (&**d, self.pred_dst(f, p)?),
            single => (single, None),
        };
        let d = if *to == Arg::Sink { None } else { Some(self.dst(f, to)?) };
        let (a, members) = (self.src(f, a, t)?, self.src(f, members, Ty::U32)?);
        let wide = t.bits() == 64;
        self.emit(f, Op::Match(Box::new(Match { all, wide, d, p, a, members })));
        Some(())
    }

    fn redux(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let t = ty(inst)?;
        if t.bits() != 32 || t.float() {
            return None;
        }
        let op = inst.mods.iter().find_map(|m| match (*m, t.signed()) {
            ("add", _) => Some(ReduxOp::Add),
            ("min", false) => Some(ReduxOp::MinU),
            ("min", true) => Some(ReduxOp::MinS),
            ("max", false) => Some(ReduxOp::MaxU),
            ("max", true) => Some(ReduxOp::MaxS),
            ("and", _) => Some(ReduxOp::And),
            ("or", _) => Some(ReduxOp::Or),
            ("xor", _) => Some(ReduxOp::Xor),
            _ => None,
        })?;
        let [d, a, members] = inst.args.as_slice() else { return None };
        let (a, members) = (self.src(f, a, t)?, self.src(f, members, Ty::U32)?);
        let d = self.dst(f, d)?;
        self.emit(f, Op::Redux { op, d, a, members });
        Some(())
    }
}
