//! Lowers arithmetic, logic, comparisons and conversions.

use super::function::{FALSE, FunctionState, Reg, TRUE};
use super::lowering::Lower;
use crate::exec::alu::{self, Part};
use crate::exec::bits;
use crate::exec::compare;
use crate::exec::float::{self, Float};
use crate::exec::fp8::Pair;
use crate::exec::round::Mode;
use crate::ptx::ir::{
    BinFn, BoolOp, Carry, Cvt, Op, Pred, PredArg, SetReg, Setp, Slot, TernFn, UnFn,
};
use crate::ptx::token::{Arg, RawInst};
use crate::ptx::types::Ty;

fn mode(inst: &RawInst<'_>) -> Mode {
    for m in &inst.mods {
        match *m {
            "rz" | "rzi" => return Mode::Zero,
            "rm" | "rmi" => return Mode::Down,
            "rp" | "rpi" => return Mode::Up,
            _ => {}
        }
    }
    Mode::Nearest
}

fn variant(inst: &RawInst<'_>) -> Float {
    Float {
        mode: mode(inst),
        ftz: inst.has("ftz"),
        sat: inst.has("sat"),
        nan: inst.has("NaN"),
        relu: inst.has("relu"),
    }
}

/// Returns an instruction's type, which is its last modifier that names a type.
pub(crate) fn ty(inst: &RawInst<'_>) -> Option<Ty> {
    inst.mods.iter().rev().find_map(|m| Ty::parse(m))
}

fn bool_op(inst: &RawInst<'_>) -> Option<BoolOp> {
    inst.mods.iter().find_map(|m| match *m {
        "and" => Some(BoolOp::And),
        "or" => Some(BoolOp::Or),
        "xor" => Some(BoolOp::Xor),
        _ => None,
    })
}

impl Lower<'_> {
    pub(crate) fn pred_dst(
        &mut self,
        f: &mut FunctionState,
        arg: &Arg<'_>,
    ) -> Option<Option<Pred>> {
        match arg {
            Arg::Sink => Some(None),
            Arg::Name(name) => match f.reg(name) {
                Some(Reg::Pred(pred)) => Some(Some(pred)),
                _ => f.fail(format!("'{name}' is not a predicate")),
            },
            _ => None,
        }
    }

    /// Returns the predicates that a destination such as `p|q` names.
    pub(crate) fn pred_pair(
        &mut self,
        f: &mut FunctionState,
        arg: &Arg<'_>,
    ) -> Option<(Option<Pred>, Option<Pred>)> {
        match arg {
            Arg::Pair(p, q) => Some((self.pred_dst(f, p)?, self.pred_dst(f, q)?)),
            _ => Some((self.pred_dst(f, arg)?, None)),
        }
    }

    pub(crate) fn pred_src(&mut self, f: &mut FunctionState, arg: &Arg<'_>) -> Option<PredArg> {
        match arg {
            Arg::Int(v) => {
                Some(PredArg { pred: if *v == 0 { FALSE } else { TRUE }, negated: false })
            }
            Arg::Not(inner) => {
                let inner = self.pred_src(f, inner)?;
                Some(PredArg { negated: !inner.negated, ..inner })
            }
            Arg::Name(name) => match f.reg(name) {
                Some(Reg::Pred(pred)) => Some(PredArg { pred, negated: false }),
                _ => f.fail(format!("'{name}' is not a predicate")),
            },
            _ => None,
        }
    }

    fn args<const N: usize>(
        &mut self,
        f: &mut FunctionState,
        inst: &RawInst<'_>,
        types: [Ty; N],
    ) -> Option<(Slot, [Slot; N])> {
        if inst.args.len() != N + 1 {
            return None;
        }
        let mut sources = [0; N];
        for (i, ty) in types.into_iter().enumerate() {
            sources[i] = self.src(f, &inst.args[i + 1], ty)?;
        }
        Some((self.dst(f, &inst.args[0])?, sources))
    }

    fn un(&mut self, f: &mut FunctionState, inst: &RawInst<'_>, ty: Ty, op: UnFn) -> Option<()> {
        let (d, [a]) = self.args(f, inst, [ty])?;
        self.emit(f, Op::Un { f: op, d, a });
        Some(())
    }

    fn bin(
        &mut self,
        f: &mut FunctionState,
        inst: &RawInst<'_>,
        t: [Ty; 2],
        op: BinFn,
    ) -> Option<()> {
        let (d, [a, b]) = self.args(f, inst, t)?;
        self.emit(f, Op::Bin { f: op, d, a, b });
        Some(())
    }

    fn tern(
        &mut self,
        f: &mut FunctionState,
        inst: &RawInst<'_>,
        t: [Ty; 3],
        op: TernFn,
    ) -> Option<()> {
        let (d, [a, b, c]) = self.args(f, inst, t)?;
        self.emit(f, Op::Tern { f: op, d, a, b, c });
        Some(())
    }

    pub(crate) fn arithmetic(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let op = inst.op;
        if matches!(op, "mov" | "movmatrix") {
            return if op == "mov" { self.mov(f, inst) } else { None };
        }
        if op == "cvt" {
            return self.cvt(f, inst);
        }
        let t = ty(inst)?;
        if t == Ty::Pred && matches!(op, "and" | "or" | "xor" | "not") {
            return self.predicate_op(f, inst);
        }
        let cc = inst.has("cc") || matches!(op, "addc" | "subc" | "madc");
        match op {
            "add" | "sub" | "addc" | "subc" if cc => {
                let (d, [a, b]) = self.args(f, inst, [t, t])?;
                self.carry(f, inst, op.starts_with("sub"), op.ends_with('c'), t, [d, a, b])
            }
            "mad" | "madc" if cc => {
                let part = if inst.has("hi") { Part::Hi } else { Part::Lo };
                let mul = alu::mul_int(part, t)?;
                let (d, [a, b, c]) = self.args(f, inst, [t, t, t])?;
                let product = f.temp()?;
                self.emit(f, Op::Bin { f: mul, d: product, a, b });
                self.carry(f, inst, false, op == "madc", t, [d, product, c])
            }
            "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" if t.float() => {
                let function = float::binary(op, t, variant(inst))?;
                if inst.args.len() == 4 && matches!(op, "min" | "max") {
                    let (d, [a, b, c]) = self.args(f, inst, [t, t, t])?;
                    let first = f.temp()?;
                    self.emit(f, Op::Bin { f: function, d: first, a, b });
                    self.emit(f, Op::Bin { f: function, d, a: first, b: c });
                    return Some(());
                }
                self.bin(f, inst, [t, t], function)
            }
            "mul" => {
                let part = self.part(inst)?;
                self.bin(f, inst, [t, t], alu::mul_int(part, t)?)
            }
            "mad" if t.float() => self.tern(f, inst, [t, t, t], float::fma(t, variant(inst))?),
            "fma" => self.tern(f, inst, [t, t, t], float::fma(t, variant(inst))?),
            "mad" => self.mad(f, inst, t),
            "mul24" => self.bin(f, inst, [t, t], alu::mul24(inst.has("hi"), t)?),
            "mad24" => {
                let mul = alu::mul24(inst.has("hi"), t)?;
                let (d, [a, b, c]) = self.args(f, inst, [t, t, t])?;
                let product = f.temp()?;
                self.emit(f, Op::Bin { f: mul, d: product, a, b });
                let add = alu::int_bin("add", t, inst.has("sat"))?;
                self.emit(f, Op::Bin { f: add, d, a: product, b: c });
                Some(())
            }
            "add" | "sub" | "div" | "rem" | "and" | "or" | "xor" => {
                self.bin(f, inst, [t, t], alu::int_bin(op, t, inst.has("sat"))?)
            }
            "min" | "max" => {
                let function = alu::int_bin(op, t, false)?;
                if !inst.has("relu") {
                    return self.bin(f, inst, [t, t], function);
                }
                let (d, [a, b]) = self.args(f, inst, [t, t])?;
                let (first, zero) = (f.temp()?, f.constant(0)?);
                self.emit(f, Op::Bin { f: function, d: first, a, b });
                self.emit(f, Op::Bin { f: alu::int_bin("max", t, false)?, d, a: first, b: zero });
                Some(())
            }
            "shl" | "shr" => self.bin(f, inst, [t, Ty::U32], alu::int_bin(op, t, false)?),
            "neg" | "abs" => self.un(f, inst, t, alu::neg_abs(op, t, inst.has("ftz"))?),
            "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => {
                self.un(f, inst, t, float::unary(op, t, variant(inst), inst.has("approx"))?)
            }
            "not" | "cnot" | "popc" | "clz" | "brev" | "bfind" => {
                self.un(f, inst, t, bits::unary(op, t, inst.has("shiftamt"))?)
            }
            "bfe" | "bmsk" | "szext" | "fns" | "bfi" | "prmt" | "shf" | "sad" | "slct" | "dp4a"
            | "dp2a" | "lop3" => self.bit_op(f, inst, t),
            "selp" => {
                if inst.args.len() != 4 {
                    return None;
                }
                let p = self.pred_src(f, &inst.args[3])?;
                let (a, b) = (self.src(f, &inst.args[1], t)?, self.src(f, &inst.args[2], t)?);
                let d = self.dst(f, &inst.args[0])?;
                self.emit(f, Op::Selp { d, a, b, p });
                Some(())
            }
            "setp" => self.setp(f, inst, t),
            "set" => self.set(f, inst, t),
            "testp" => {
                let function = compare::testp(inst.mods.first()?, t)?;
                let p = self.pred_dst(f, inst.args.first()?)?;
                let a = self.src(f, inst.args.get(1)?, t)?;
                let setp = Setp { f: function, p, q: None, a, b: a, combine: None };
                self.emit(f, Op::Setp(Box::new(setp)));
                Some(())
            }
            _ if op.starts_with('v') => self.video(f, inst),
            _ => None,
        }
    }

    fn part(&self, inst: &RawInst<'_>) -> Option<Part> {
        match *inst.mods.first()? {
            "lo" => Some(Part::Lo),
            "hi" => Some(Part::Hi),
            "wide" => Some(Part::Wide),
            _ => None,
        }
    }

    fn mad(&mut self, f: &mut FunctionState, inst: &RawInst<'_>, t: Ty) -> Option<()> {
        let part = self.part(inst)?;
        let sum = match (part, t) {
            (Part::Wide, Ty::U16) => Ty::U32,
            (Part::Wide, Ty::S16) => Ty::S32,
            (Part::Wide, Ty::U32) => Ty::U64,
            (Part::Wide, Ty::S32) => Ty::S64,
            _ => t,
        };
        if !inst.has("sat")
            && let Some(function) = bits::mad(part, t)
        {
            return self.tern(f, inst, [t, t, sum], function);
        }
        let (d, [a, b, c]) = self.args(f, inst, [t, t, sum])?;
        let product = f.temp()?;
        self.emit(f, Op::Bin { f: alu::mul_int(part, t)?, d: product, a, b });
        let add = alu::int_bin("add", sum, inst.has("sat"))?;
        self.emit(f, Op::Bin { f: add, d, a: product, b: c });
        Some(())
    }

    fn carry(
        &mut self,
        f: &mut FunctionState,
        inst: &RawInst<'_>,
        subtract: bool,
        carry_in: bool,
        t: Ty,
        [d, a, b]: [Slot; 3],
    ) -> Option<()> {
        let wide = match t.bits() {
            32 => false,
            64 => true,
            _ => return None,
        };
        let carry_out = inst.has("cc");
        self.emit(f, Op::Carry(Box::new(Carry { wide, subtract, carry_in, carry_out, d, a, b })));
        Some(())
    }

    fn predicate_op(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let d = self.pred_dst(f, inst.args.first()?)??;
        let a = self.pred_src(f, inst.args.get(1)?)?;
        let (op, a, b) = match inst.op {
            "not" => {
                let a = PredArg { negated: !a.negated, ..a };
                (BoolOp::Or, a, PredArg { pred: FALSE, negated: false })
            }
            name => {
                let op = match name {
                    "and" => BoolOp::And,
                    "or" => BoolOp::Or,
                    _ => BoolOp::Xor,
                };
                (op, a, self.pred_src(f, inst.args.get(2)?)?)
            }
        };
        self.emit(f, Op::PredBin { op, d, a, b });
        Some(())
    }

    fn mov(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let t = ty(inst)?;
        let [to, from] = inst.args.as_slice() else { return None };
        if t == Ty::Pred {
            let d = self.pred_dst(f, to)??;
            let a = self.pred_src(f, from)?;
            self.emit(
                f,
                Op::PredBin { op: BoolOp::Or, d, a, b: PredArg { pred: FALSE, negated: false } },
            );
            return Some(());
        }
        match (to, from) {
            (Arg::Vector(parts), _) => {
                let a = self.src(f, from, t)?;
                let width = t.bits() / u32::try_from(parts.len()).ok().filter(|n| *n > 0)?;
                // The destinations may include the source register, so copy the source to a
                // temporary register first.
                let copy = f.temp()?;
                self.emit(f, Op::Un { f: alu::mov(64), d: copy, a });
                for (i, part) in parts.iter().enumerate() {
                    if *part == Arg::Sink {
                        continue;
                    }
                    let d = self.dst(f, part)?;
                    let b = f.constant(u64::from(width) * i as u64)?;
                    self.emit(f, Op::Bin { f: bits::extract(width)?, d, a: copy, b });
                }
                Some(())
            }
            (_, Arg::Vector(parts)) => {
                let width = t.bits() / u32::try_from(parts.len()).ok().filter(|n| *n > 0)?;
                let part_type = match width {
                    8 => Ty::B8,
                    16 => Ty::B16,
                    32 => Ty::B32,
                    64 => Ty::B64,
                    _ => return None,
                };
                let d = self.dst(f, to)?;
                let whole = f.temp()?;
                for (i, part) in parts.iter().enumerate() {
                    let a = self.src(f, part, part_type)?;
                    if i == 0 {
                        self.emit(f, Op::Un { f: alu::mov(width), d: whole, a });
                    } else {
                        let c = f.constant(u64::from(width) * i as u64)?;
                        let insert = bits::insert(width)?;
                        self.emit(f, Op::Tern { f: insert, d: whole, a: whole, b: a, c });
                    }
                }
                self.emit(f, Op::Un { f: alu::mov(64), d, a: whole });
                Some(())
            }
            _ => {
                let a = self.src(f, from, t)?;
                let d = self.dst(f, to)?;
                self.emit(f, Op::Un { f: alu::mov(t.bits()), d, a });
                Some(())
            }
        }
    }

    fn cvt(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        if inst.has("pack") {
            return None;
        }
        if inst.mods.iter().any(|m| Pair::parse(m).is_some()) {
            return self.cvt_pair(f, inst);
        }
        let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        let known = inst.mods.iter().all(|m| {
            Ty::parse(m).is_some()
                || matches!(
                    *m,
                    "rn" | "rz"
                        | "rm"
                        | "rp"
                        | "rni"
                        | "rzi"
                        | "rmi"
                        | "rpi"
                        | "ftz"
                        | "sat"
                        | "relu"
                )
        });
        let &[dst, src] = types.as_slice() else { return None };
        if !known {
            return None;
        }
        let mode = if dst.float() || src.float() { mode(inst) } else { Mode::Zero };
        if matches!(dst, Ty::F16x2 | Ty::Bf16x2) && src == Ty::F32 {
            return self.bin(f, inst, [src, src], bits::pack_halves(dst, mode, inst.has("relu"))?);
        }
        if [dst, src]
            .iter()
            .any(|t| matches!(t, Ty::F16x2 | Ty::Bf16x2 | Ty::U16x2 | Ty::S16x2 | Ty::Pred))
        {
            return None;
        }
        let integral = inst.mods.iter().any(|m| matches!(*m, "rni" | "rzi" | "rmi" | "rpi"));
        let cvt = Cvt {
            dst,
            src,
            mode,
            integral,
            ftz: inst.has("ftz"),
            sat: inst.has("sat"),
            relu: inst.has("relu"),
        };
        let (d, [a]) = self.args(f, inst, [src])?;
        match cvt.fast() {
            Some(function) => self.emit(f, Op::Un { f: function, d, a }),
            None => self.emit(f, Op::Cvt { cvt: Box::new(cvt), d, a }),
        }
        Some(())
    }

    /// Lowers a conversion from or to a pair of 8-bit floats.
    fn cvt_pair(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let relu = inst.has("relu");
        let mods: Vec<&str> = inst.mods.iter().copied().filter(|m| *m != "relu").collect();
        match mods.as_slice() {
            ["rn", "satfinite", pair, "f32"] => {
                let function = Pair::parse(pair)?.pack_singles(relu);
                self.bin(f, inst, [Ty::F32, Ty::F32], function)
            }
            ["rn", "satfinite", pair, "f16x2"] => {
                self.un(f, inst, Ty::F16x2, Pair::parse(pair)?.pack_halves(relu))
            }
            ["rn", "f16x2", pair] => self.un(f, inst, Ty::B16, Pair::parse(pair)?.unpack(relu)),
            _ => None,
        }
    }

    fn setp(&mut self, f: &mut FunctionState, inst: &RawInst<'_>, t: Ty) -> Option<()> {
        let function = compare::compare(inst.mods.first()?, t, inst.has("ftz"))?;
        let (p, q) = self.pred_pair(f, inst.args.first()?)?;
        let (a, b) = (self.src(f, inst.args.get(1)?, t)?, self.src(f, inst.args.get(2)?, t)?);
        let combine = match inst.args.get(3) {
            Some(c) => Some((bool_op(inst)?, self.pred_src(f, c)?)),
            None => None,
        };
        self.emit(f, Op::Setp(Box::new(Setp { f: function, p, q, a, b, combine })));
        Some(())
    }

    fn set(&mut self, f: &mut FunctionState, inst: &RawInst<'_>, t: Ty) -> Option<()> {
        let function = compare::compare(inst.mods.first()?, t, inst.has("ftz"))?;
        let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        let ones = match types.first()? {
            Ty::U32 | Ty::S32 => 0xffff_ffff,
            Ty::F32 => u64::from(1f32.to_bits()),
            Ty::U16 | Ty::S16 => 0xffff,
            Ty::F16 => 0x3c00,
            Ty::Bf16 => 0x3f80,
            _ => return None,
        };
        let d = self.dst(f, inst.args.first()?)?;
        let (a, b) = (self.src(f, inst.args.get(1)?, t)?, self.src(f, inst.args.get(2)?, t)?);
        let combine = match inst.args.get(3) {
            Some(c) => Some((bool_op(inst)?, self.pred_src(f, c)?)),
            None => None,
        };
        self.emit(f, Op::Set(Box::new(SetReg { f: function, d, ones, a, b, combine })));
        Some(())
    }

    fn bit_op(&mut self, f: &mut FunctionState, inst: &RawInst<'_>, t: Ty) -> Option<()> {
        match inst.op {
            "bfe" => self.tern(f, inst, [t, Ty::U32, Ty::U32], bits::bfe(t)?),
            "bmsk" => self.bin(f, inst, [Ty::U32; 2], bits::bmsk(inst.has("clamp"))),
            "szext" => self.bin(f, inst, [t, Ty::U32], bits::szext(t, inst.has("clamp"))?),
            "fns" => self.tern(f, inst, [Ty::U32; 3], bits::fns()),
            "prmt" => {
                let how = inst.mods.iter().rev().find(|m| Ty::parse(m).is_none());
                self.tern(f, inst, [Ty::U32; 3], bits::prmt(how.copied())?)
            }
            "shf" => self.tern(f, inst, [Ty::U32; 3], bits::shf(inst.has("l"), inst.has("wrap"))),
            "sad" => self.tern(f, inst, [t; 3], bits::sad(t)?),
            "slct" => {
                let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
                let &[value, selector] = types.as_slice() else { return None };
                self.tern(f, inst, [value, value, selector], bits::slct(selector)?)
            }
            "dp4a" => {
                let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
                let signed = [types.first()?.signed(), types.get(1)?.signed()];
                self.tern(f, inst, [Ty::B32; 3], bits::dp4a(signed))
            }
            "dp2a" => {
                let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
                let signed = [types.first()?.signed(), types.get(1)?.signed()];
                self.tern(f, inst, [Ty::B32; 3], bits::dp2a(signed, inst.has("hi")))
            }
            "bfi" => {
                let [d, a, b, c, e] = inst.args.as_slice() else { return None };
                // `bfi` has the operands d, a, b, start, and length. Lowered functions have at most
                // three operands, so pack start and length into one register.
                let (a, b) = (self.src(f, a, t)?, self.src(f, b, t)?);
                let (start, length) = (self.src(f, c, Ty::U32)?, self.src(f, e, Ty::U32)?);
                let place = f.temp()?;
                self.emit(f, Op::Bin { f: bits::field(), d: place, a: start, b: length });
                let d = self.dst(f, d)?;
                self.emit(f, Op::Tern { f: bits::bfi(t)?, d, a, b, c: place });
                Some(())
            }
            "lop3" => {
                if bool_op(inst).is_some() {
                    return None;
                }
                let [d, a, b, c, Arg::Int(table)] = inst.args.as_slice() else { return None };
                let (a, b) = (self.src(f, a, t)?, self.src(f, b, t)?);
                let c = self.src(f, c, t)?;
                let d = self.dst(f, d)?;
                self.emit(f, Op::Lop3 { d, a, b, c, table: *table as u8 });
                Some(())
            }
            _ => None,
        }
    }

    /// Lowers SIMD video instructions that operate on whole registers. Operands with selectors,
    /// which rearrange bytes or halfwords, aren't supported.
    fn video(&mut self, f: &mut FunctionState, inst: &RawInst<'_>) -> Option<()> {
        let types: Vec<Ty> = inst.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        let signed = types.iter().any(|t| t.signed());
        if types.iter().any(|t| t.signed() != signed) || inst.has("sat") {
            return None;
        }
        let (name, accumulate) = (inst.op, inst.has("add"));
        let [d, a, b, c] = inst.args.as_slice() else { return None };
        let plain = |arg: &Arg| match arg {
            Arg::Name(name) => !name.contains('.'),
            other => matches!(other, Arg::Int(_)),
        };
        if !plain(d) || !plain(a) || !plain(b) {
            return None;
        }
        let function = bits::video(name, signed, accumulate)?;
        let (a, b) = (self.src(f, a, Ty::B32)?, self.src(f, b, Ty::B32)?);
        let c = self.src(f, c, Ty::B32)?;
        let d = self.dst(f, d)?;
        self.emit(f, Op::Tern { f: function, d, a, b, c });
        Some(())
    }
}
