//! A warp: 32 lanes that run together while their program counters are equal.
//!
//! Diverged lanes form groups. The group with the deepest call stack and, among those, the lowest
//! program counter runs first, so that groups rejoin where their paths meet. A group that has run
//! for a long time without rejoining yields, because it may be waiting for another lane in the
//! warp.

use super::address::in_space;
use super::block_state::BlockState;
use super::lanes::each_lane;
use super::memory::Fault;
use crate::ptx::ir::{BoolOp, Fixed, Guard, Inst, Lanes, Op, PredArg, WARP};
use crate::ptx::program::Program;

/// Number of instructions that a group runs before it yields.
const TURN: u32 = 8192;
/// Maximum local memory per thread, in bytes.
const MAX_LOCAL: u32 = 512 << 10;
/// Maximum depth of nested function calls.
const MAX_DEPTH: usize = 1024;
/// Maximum number of registers in all of a warp's frames.
const MAX_REGISTERS: usize = 1 << 20;

/// The state to restore when a function returns to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) call: u32,
    pub(crate) caller: u32,
    pub(crate) base: usize,
    pub(crate) pred_base: usize,
    pub(crate) local_base: u32,
    pub(crate) local_top: u32,
}

/// Whether a group can run, or what it's waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The group can execute its next instruction.
    Ready,
    /// The group is waiting at its current instruction for other lanes in the warp.
    Warp,
    /// The group was waiting in state `Warp`, but must now continue without the other lanes.
    Forced,
    /// The group is waiting for one of the block's barriers to complete. `turn` is the number of
    /// times that the barrier had completed when the group arrived.
    Barrier { id: usize, turn: u64 },
}

/// Lanes with the same program counter.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) state: State,
    /// Whether the group has run for a long time and must let other groups run first.
    patient: bool,
    /// Index of the function that the group is executing.
    pub(crate) function: u32,
    pub(crate) base: usize,
    pub(crate) pred_base: usize,
    pub(crate) local_base: u32,
    pub(crate) local_top: u32,
    pub(crate) frames: Vec<Frame>,
}

impl Group {
    fn joins(&self, other: &Group) -> bool {
        self.pc == other.pc
            && self.function == other.function
            && self.base == other.base
            && self.local_top == other.local_top
            && self.frames == other.frames
    }
}

/// The reason why a warp's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// All lanes have exited.
    Done,
    /// Nothing can run until a barrier completes.
    Blocked,
    /// The warp can continue.
    Yielded,
}

/// The state of a warp: its groups of lanes, registers and local memory.
#[derive(Debug)]
pub struct Warp {
    pub(crate) index: u32,
    /// Mask of the lanes that haven't exited.
    pub(crate) live: u32,
    /// Mask of the lanes that started with a thread. In a block's last warp, some lanes may have
    /// none.
    pub(crate) initial: u32,
    pub(crate) groups: Vec<Group>,
    pub(crate) regs: Vec<Lanes>,
    pub(crate) preds: Vec<u32>,
    carry: u32,
    pub(crate) local: Vec<u8>,
    /// Size of each lane's local memory, in bytes.
    pub(crate) stride: u32,
    pub(crate) out: Lanes,
}

/// The action of the warp's main loop after it has executed an instruction.
pub(crate) enum Next {
    /// Execute the next instruction.
    Step,
    /// Continue at the program counter that the instruction has set.
    Jump,
    /// Make the group wait at this instruction.
    Wait,
    /// Select another group, because the current one no longer exists.
    Gone,
    /// Let other groups run before this one.
    Yield,
}

impl Warp {
    /// Creates a warp without lanes.
    pub fn new() -> Self {
        Self {
            index: 0,
            live: 0,
            initial: 0,
            groups: Vec::new(),
            regs: Vec::new(),
            preds: Vec::new(),
            carry: 0,
            local: Vec::new(),
            stride: 0,
            out: [0; WARP],
        }
    }

    /// Starts the kernel in this warp's lanes.
    pub fn start(&mut self, block: &BlockState<'_>, index: u32, lanes: u32) -> Result<(), Fault> {
        let mask = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        let function = block.launch.kernel.function;
        let code = block.launch.program.function(function).ok_or(Fault::IllegalInstruction)?;
        (self.index, self.live, self.initial, self.carry) = (index, mask, mask, 0);
        self.groups.clear();
        let group = Group {
            mask,
            pc: 0,
            state: State::Ready,
            patient: false,
            function,
            base: 0,
            pred_base: 0,
            local_base: 0,
            local_top: code.local,
            frames: Vec::new(),
        };
        self.enter(block, &group)?;
        self.groups.push(group);
        Ok(())
    }

    /// Prepares the frame of the function that a group is entering: registers, predicates and local
    /// memory.
    pub(crate) fn enter(&mut self, block: &BlockState<'_>, group: &Group) -> Result<(), Fault> {
        let function =
            block.launch.program.function(group.function).ok_or(Fault::IllegalInstruction)?;
        let slots = group.base + function.slots as usize;
        if slots > MAX_REGISTERS || group.frames.len() > MAX_DEPTH {
            return Err(Fault::IllegalAddress);
        }
        if self.regs.len() < slots {
            self.regs.resize(slots, [0; WARP]);
        }
        let preds = group.pred_base + function.preds as usize;
        if self.preds.len() < preds {
            self.preds.resize(preds, 0);
        }
        self.need_local(group.local_top)?;
        self.preds[group.pred_base] = 0;
        self.preds[group.pred_base + 1] = u32::MAX;
        for (fixed, slot) in &function.fixed {
            let values = self.fixed(block, *fixed);
            let register = &mut self.regs[group.base + *slot as usize];
            each_lane!(group.mask, i, {
                register[i] = values[i];
            });
        }
        Ok(())
    }

    /// Grows each lane's local memory to at least `bytes`.
    pub(crate) fn need_local(&mut self, bytes: u32) -> Result<(), Fault> {
        if bytes <= self.stride {
            return Ok(());
        }
        if bytes > MAX_LOCAL {
            return Err(Fault::IllegalAddress);
        }
        let stride = bytes.next_power_of_two().max(64);
        let mut wider = vec![0u8; stride as usize * WARP];
        if self.stride > 0 {
            let old = self.stride as usize;
            for (lane, bytes) in wider.chunks_exact_mut(stride as usize).enumerate() {
                bytes[..old].copy_from_slice(&self.local[lane * old..][..old]);
            }
        }
        (self.local, self.stride) = (wider, stride);
        Ok(())
    }

    fn fixed(&self, block: &BlockState<'_>, fixed: Fixed) -> Lanes {
        let launch = block.launch;
        let each = |f: &dyn Fn(u32) -> u64| std::array::from_fn(|i| f(i as u32));
        let same = |v: u64| [v; WARP];
        let [bx, by, _] = launch.block;
        match fixed {
            Fixed::Const(value) => same(value),
            Fixed::Tid(axis) => each(&|lane| {
                let thread = self.index * 32 + lane;
                u64::from(match axis {
                    0 => thread % bx,
                    1 => thread / bx % by,
                    _ => thread / bx / by,
                })
            }),
            Fixed::Ntid(axis) => same(launch.block[usize::from(axis)].into()),
            Fixed::Ctaid(axis) | Fixed::ClusterId(axis) => {
                same(block.index[usize::from(axis)].into())
            }
            Fixed::Nctaid(axis) | Fixed::NClusterId(axis) => {
                same(launch.grid[usize::from(axis)].into())
            }
            Fixed::LaneId => each(&u64::from),
            Fixed::WarpId => same(self.index.into()),
            Fixed::NWarpId => same(u64::from(launch.threads().div_ceil(32))),
            Fixed::SmId => same(block.worker.into()),
            Fixed::NSmId => same(launch.processors.into()),
            Fixed::GridId => same(launch.id),
            Fixed::LaneMaskEq => each(&|lane| 1 << lane),
            Fixed::LaneMaskLe => each(&|lane| (2u64 << lane) - 1),
            Fixed::LaneMaskLt => each(&|lane| (1u64 << lane) - 1),
            Fixed::LaneMaskGe => each(&|lane| 0xffff_ffff & !((1u64 << lane) - 1)),
            Fixed::LaneMaskGt => each(&|lane| 0xffff_ffff & !((2u64 << lane) - 1)),
            Fixed::DynamicSharedSize => same(launch.dynamic_shared.into()),
            Fixed::TotalSharedSize => same(launch.shared_bytes() as u64),
            Fixed::DynamicShared => same(launch.dynamic_shared_start().into()),
            Fixed::EnvReg(1) => same(launch.workspace >> 32),
            Fixed::EnvReg(2) => same(launch.workspace & 0xffff_ffff),
            Fixed::EnvReg(_) | Fixed::ClusterCtaid(_) | Fixed::ClusterCtaRank => same(0),
            Fixed::ClusterNctaid(_) | Fixed::ClusterNctaRank => same(1),
        }
    }

    /// Merges groups that are at the same program counter, chooses the group to run next, removes
    /// it from the list of groups, and returns it.
    fn select(&mut self, block: &mut BlockState<'_>) -> Option<Group> {
        for i in 0..self.groups.len() {
            if let State::Barrier { id, turn } = self.groups[i].state
                && block.barriers[id].turn != turn
            {
                let mut group = self.groups.swap_remove(i);
                self.passed(block, &mut group, id);
                self.groups.push(group);
                // `swap_remove` moved the last group to index `i`. Move it back, so that this loop
                // also checks it.
                let last = self.groups.len() - 1;
                self.groups.swap(i, last);
            }
        }
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let waits = |g: &Group| matches!(g.state, State::Barrier { .. });
                let (a, b) = (&self.groups[i], &self.groups[j]);
                if !waits(a) && !waits(b) && a.joins(b) {
                    let gone = self.groups.swap_remove(j);
                    self.groups[i].mask |= gone.mask;
                    self.groups[i].state = State::Ready;
                    self.groups[i].patient &= gone.patient;
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
        loop {
            let ready = |g: &Group| matches!(g.state, State::Ready | State::Forced);
            let best = (0..self.groups.len())
                .filter(|i| ready(&self.groups[*i]) && !self.groups[*i].patient)
                .min_by_key(|i| {
                    let g = &self.groups[*i];
                    (usize::MAX - g.frames.len(), g.function, g.pc)
                });
            if let Some(best) = best {
                return Some(self.groups.swap_remove(best));
            }
            if self.groups.iter().any(ready) {
                self.groups.iter_mut().for_each(|g| g.patient = false);
                continue;
            }
            if !self.release(block) {
                return None;
            }
        }
    }

    /// Releases groups when all of the warp's groups are waiting, and returns whether it released
    /// any. If all live lanes are at a `bar.warp.sync`, even at different program counters, they
    /// all continue. Otherwise, groups that wait for lanes that can't arrive continue without them.
    fn release(&mut self, block: &BlockState<'_>) -> bool {
        let waiting = self.groups.iter().filter(|g| g.state == State::Warp);
        let place = |g: &Group| (g.function, g.pc);
        let Some(lowest) = waiting.clone().map(place).min() else { return false };
        let program = &block.launch.program;
        let syncs = |g: &Group| {
            let function = program.function(g.function);
            function.is_some_and(|f| matches!(f.code[g.pc as usize].op, Op::WarpSync { .. }))
        };
        let together = waiting.filter(|g| syncs(g)).fold(0, |mask, g| mask | g.mask);
        if together == self.live {
            for group in &mut self.groups {
                group.state = State::Ready;
                group.pc += 1;
            }
            return true;
        }
        if self.groups.iter().any(|g| matches!(g.state, State::Barrier { .. })) && !block.stuck {
            return false;
        }
        for group in &mut self.groups {
            if group.state == State::Warp && place(group) == lowest {
                group.state = State::Forced;
            }
        }
        true
    }

    /// Runs the warp for about `budget` instructions, or until all lanes are waiting or have
    /// exited.
    pub fn run(&mut self, block: &mut BlockState<'_>, budget: u32) -> Result<Turn, Fault> {
        let program = block.launch.program.clone();
        let mut left = budget;
        loop {
            let Some(mut group) = self.select(block) else {
                return Ok(if self.live == 0 { Turn::Done } else { Turn::Blocked });
            };
            // The lowest program counter at which the running group may merge with another group
            // that is in the same function at the same call depth.
            let limit = self
                .groups
                .iter()
                .filter(|g| {
                    g.pc > group.pc
                        && g.function == group.function
                        && g.frames.len() == group.frames.len()
                        && !matches!(g.state, State::Barrier { .. })
                })
                .map(|g| g.pc)
                .min()
                .unwrap_or(u32::MAX);
            let alone = self.groups.is_empty();
            let mut turn = if alone { left.max(1) } else { TURN.min(left.max(1)) };
            let mut running = group.function;
            let mut code = code_of(&program, running)?;
            loop {
                let inst = &code[group.pc as usize];
                match self.execute(block, &mut group, inst)? {
                    Next::Step => group.pc += 1,
                    Next::Jump => {
                        if !alone || !self.groups.is_empty() {
                            // The running group has diverged, or may merge with another group at
                            // this program counter, so select a group again.
                            left = left.saturating_sub(1);
                            turn -= 1;
                            if turn == 0 {
                                group.patient = true;
                            }
                            self.groups.push(group);
                            break;
                        }
                        if group.function != running {
                            running = group.function;
                            code = code_of(&program, running)?;
                        }
                    }
                    Next::Wait | Next::Yield => {
                        self.groups.push(group);
                        break;
                    }
                    Next::Gone => break,
                }
                turn -= 1;
                left = left.saturating_sub(1);
                if turn == 0 || group.pc >= limit {
                    group.patient = turn == 0 && !self.groups.is_empty();
                    self.groups.push(group);
                    break;
                }
            }
            if left == 0 {
                return Ok(if self.live == 0 { Turn::Done } else { Turn::Yielded });
            }
        }
    }

    #[inline]
    pub(crate) fn pred(&self, group: &Group, arg: PredArg) -> u32 {
        let bits = self.preds[group.pred_base + arg.pred as usize];
        if arg.negated { !bits } else { bits }
    }

    #[inline]
    pub(crate) fn set_pred(&mut self, group: &Group, pred: u16, bits: u32, mask: u32) {
        let old = &mut self.preds[group.pred_base + pred as usize];
        *old = (*old & !mask) | (bits & mask);
    }

    /// Copies the lanes in `mask` from the scratch register `out` to a register.
    #[inline]
    fn put(&mut self, index: usize, mask: u32) {
        let register = &mut self.regs[index];
        if mask == u32::MAX {
            *register = self.out;
        } else {
            let out = &self.out;
            each_lane!(mask, i, {
                register[i] = out[i];
            });
        }
    }

    #[inline]
    pub(crate) fn set_reg(
        &mut self,
        group: &Group,
        slot: u16,
        mask: u32,
        f: impl Fn(usize) -> u64,
    ) {
        let register = &mut self.regs[group.base + slot as usize];
        each_lane!(mask, i, {
            register[i] = f(i);
        });
    }

    /// Returns the group's lanes in which an instruction's guard holds.
    #[inline]
    fn guarded(&self, group: &Group, guard: Guard) -> u32 {
        match guard {
            Guard::Always => group.mask,
            Guard::If(p) => group.mask & self.preds[group.pred_base + p as usize],
            Guard::IfNot(p) => group.mask & !self.preds[group.pred_base + p as usize],
        }
    }

    /// Moves the lanes outside `mask` to a new group, which continues after the current
    /// instruction.
    pub(crate) fn split(&mut self, group: &mut Group, mask: u32) {
        if mask != group.mask {
            let mut rest = group.clone();
            rest.mask = group.mask & !mask;
            rest.pc += 1;
            rest.state = State::Ready;
            group.mask = mask;
            self.groups.push(rest);
        }
    }

    /// Records that lanes have exited.
    pub(crate) fn exit(&mut self, block: &mut BlockState<'_>, mask: u32) {
        self.live &= !mask;
        block.exited(mask.count_ones());
    }

    fn execute(
        &mut self,
        block: &mut BlockState<'_>,
        group: &mut Group,
        inst: &Inst,
    ) -> Result<Next, Fault> {
        let mask = self.guarded(group, inst.guard);
        if mask == 0 {
            return Ok(Next::Step);
        }
        let base = group.base;
        let at = |slot: u16| base + slot as usize;
        match &inst.op {
            Op::Un { f, d, a } => {
                f(&mut self.out, &self.regs[at(*a)], mask);
                self.put(at(*d), mask);
            }
            Op::Bin { f, d, a, b } => {
                f(&mut self.out, &self.regs[at(*a)], &self.regs[at(*b)], mask);
                self.put(at(*d), mask);
            }
            Op::Tern { f, d, a, b, c } => {
                f(&mut self.out, &self.regs[at(*a)], &self.regs[at(*b)], &self.regs[at(*c)], mask);
                self.put(at(*d), mask);
            }
            Op::Setp(s) => {
                let raw = (s.f)(&self.regs[at(s.a)], &self.regs[at(s.b)]);
                let (mut p, mut q) = (raw, !raw);
                if let Some((op, c)) = s.combine {
                    let c = self.pred(group, c);
                    (p, q) = (combine(op, p, c), combine(op, q, c));
                }
                if let Some(d) = s.p {
                    self.set_pred(group, d, p, mask);
                }
                if let Some(d) = s.q {
                    self.set_pred(group, d, q, mask);
                }
            }
            Op::Branch { target } => {
                self.split(group, mask);
                group.pc = *target;
                return Ok(Next::Jump);
            }
            Op::Load(access) => self.load(block, group, access, mask)?,
            Op::Store(access) => self.store(block, group, access, mask)?,
            Op::Selp { d, a, b, p } => {
                let bits = self.pred(group, *p);
                let (x, y) = (&self.regs[at(*a)], &self.regs[at(*b)]);
                self.out = std::array::from_fn(|i| if bits >> i & 1 == 1 { x[i] } else { y[i] });
                self.put(at(*d), mask);
            }
            Op::Cvt { cvt, d, a } => {
                let x = &self.regs[at(*a)];
                each_lane!(mask, i, {
                    self.out[i] = cvt.convert(x[i]);
                });
                self.put(at(*d), mask);
            }
            Op::Lop3 { d, a, b, c, table } => {
                let (x, y, z) = (&self.regs[at(*a)], &self.regs[at(*b)], &self.regs[at(*c)]);
                self.out = std::array::from_fn(|i| lop3(x[i], y[i], z[i], *table));
                self.put(at(*d), mask);
            }
            Op::Set(s) => {
                let mut bits = (s.f)(&self.regs[at(s.a)], &self.regs[at(s.b)]);
                if let Some((op, c)) = s.combine {
                    bits = combine(op, bits, self.pred(group, c));
                }
                self.set_reg(group, s.d, mask, |i| if bits >> i & 1 == 1 { s.ones } else { 0 });
            }
            Op::PredBin { op, d, a, b } => {
                let bits = combine(*op, self.pred(group, *a), self.pred(group, *b));
                self.set_pred(group, *d, bits, mask);
            }
            Op::PredConst { d, value } => {
                self.set_pred(group, *d, if *value { u32::MAX } else { 0 }, mask);
            }
            Op::PredToReg { d, p, ones } => {
                let bits = self.pred(group, *p);
                self.set_reg(group, *d, mask, |i| if bits >> i & 1 == 1 { *ones } else { 0 });
            }
            Op::Carry(c) => {
                let (x, y) = (self.regs[at(c.a)], self.regs[at(c.b)]);
                let mut carries = self.carry;
                let register = &mut self.regs[at(c.d)];
                each_lane!(mask, i, {
                    let carry = c.carry_in && self.carry >> i & 1 == 1;
                    let (value, out) = carried(x[i], y[i], carry, c.subtract, c.wide);
                    register[i] = value;
                    carries = (carries & !(1 << i)) | u32::from(out) << i;
                });
                if c.carry_out {
                    self.carry = carries;
                }
            }
            Op::Volatile { which, d } => {
                let value = block.volatile(*which);
                self.set_reg(group, *d, mask, |_| value);
            }
            Op::FrameAddress { d, offset } => {
                let value = u64::from(group.local_base) + u64::from(*offset);
                self.set_reg(group, *d, mask, |_| value);
            }
            Op::IsSpace { p, a, space } => {
                let x = &self.regs[at(*a)];
                let bits = in_space(x, *space);
                self.set_pred(group, *p, bits, mask);
            }
            Op::Atomic(atomic) => self.atomic(block, group, atomic, mask)?,
            Op::Fetch(fetch) => self.fetch(block, group, fetch, mask)?,
            Op::Surface(access) => self.surface(block, group, access, mask)?,
            Op::Query(query) => self.query(block, group, query, mask)?,
            Op::Copy { to, from, size, source } => {
                self.copy(block, group, to, from, *size, *source, mask)?;
            }
            Op::Alloca { d, size, align } => {
                // All lanes get the same stack space, so allocate the largest size that a lane
                // requests.
                let sizes = &self.regs[at(*size)];
                let mut most = 0;
                each_lane!(mask, i, {
                    most = most.max(sizes[i]);
                });
                let start = group.local_top.next_multiple_of((*align).min(4096));
                let end = u64::from(start).saturating_add(most).next_multiple_of(16);
                let end = u32::try_from(end).map_err(|_| Fault::IllegalAddress)?;
                self.need_local(end)?;
                group.local_top = end;
                self.set_reg(group, *d, mask, |_| u64::from(start));
            }
            Op::StackSave { d } => {
                let top = u64::from(group.local_top);
                self.set_reg(group, *d, mask, |_| top);
            }
            Op::StackRestore { a } => {
                let lane = mask.trailing_zeros() as usize;
                let top = self.regs[at(*a)][lane] as u32;
                if top <= group.local_top && top >= group.local_base {
                    group.local_top = top;
                }
            }
            Op::Fence => std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst),
            Op::Nop => {}
            Op::BranchIndex { index, targets } => {
                self.split(group, mask);
                let index = self.regs[at(*index)];
                let lane = group.mask.trailing_zeros() as usize;
                let wanted = index[lane];
                let mut same = 0u32;
                each_lane!(group.mask, i, {
                    same |= u32::from(index[i] == wanted) << i;
                });
                if same != group.mask {
                    // Lanes with a different index form another group, which executes this branch
                    // instruction again.
                    let mut rest = group.clone();
                    rest.mask &= !same;
                    group.mask = same;
                    self.groups.push(rest);
                }
                let wanted = usize::try_from(wanted & 0xffff_ffff).unwrap_or(usize::MAX);
                group.pc = *targets.get(wanted).ok_or(Fault::IllegalInstruction)?;
                return Ok(Next::Jump);
            }
            Op::Call(call) => {
                self.split(group, mask);
                return self.call(block, group, call);
            }
            Op::Return => {
                self.split(group, mask);
                return Ok(self.leave(block, group));
            }
            Op::Exit => {
                self.split(group, mask);
                self.exit(block, mask);
                return Ok(Next::Gone);
            }
            Op::Trap => return Err(Fault::LaunchFailed),
            Op::Breakpoint => return Err(Fault::IllegalInstruction),
            Op::Sleep { nanoseconds } => {
                let nanoseconds = self.regs[at(*nanoseconds)][mask.trailing_zeros() as usize];
                group.pc += 1;
                group.patient = true;
                block.sleep(nanoseconds as u32);
                return Ok(Next::Yield);
            }
            _ => {
                self.split(group, mask);
                return self.collective(block, group, &inst.op);
            }
        }
        Ok(Next::Step)
    }
}

impl Default for Warp {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the instructions of a function.
fn code_of(program: &Program, function: u32) -> Result<&[Inst], Fault> {
    let function = program.function(function).ok_or(Fault::IllegalInstruction)?;
    Ok(&function.code)
}

fn combine(op: BoolOp, a: u32, b: u32) -> u32 {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

fn lop3(a: u64, b: u64, c: u64, table: u8) -> u64 {
    let mut out = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let x = if row & 4 != 0 { a } else { !a };
            let y = if row & 2 != 0 { b } else { !b };
            let z = if row & 1 != 0 { c } else { !c };
            out |= x & y & z;
        }
    }
    out & 0xffff_ffff
}

/// Adds or subtracts with a carry, which is a borrow in a subtraction. Returns the result and the
/// new carry.
fn carried(a: u64, b: u64, carry: bool, subtract: bool, wide: bool) -> (u64, bool) {
    if wide {
        let wide = if subtract {
            i128::from(a) - i128::from(b) - i128::from(carry)
        } else {
            i128::from(a) + i128::from(b) + i128::from(carry)
        };
        (wide as u64, wide >> 64 & 1 == 1)
    } else {
        let (a, b) = (a as u32, b as u32);
        let narrow = if subtract {
            i64::from(a) - i64::from(b) - i64::from(carry)
        } else {
            i64::from(a) + i64::from(b) + i64::from(carry)
        };
        (u64::from(narrow as u32), narrow >> 32 & 1 == 1)
    }
}
