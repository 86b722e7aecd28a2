//! The lowered form of PTX: registers are slots, labels are program counters, and each operation is
//! specific to its type.

use std::sync::Arc;

use crate::exec::round::Mode;
use crate::ptx::types::Ty;

/// Lanes of a warp.
pub const WARP: usize = 32;
/// One register of a warp.
pub type Lanes = [u64; WARP];
/// Index of a register in the current frame.
pub type Slot = u16;
/// Index of a predicate in the current frame.
pub type Pred = u16;

/// A function of one operand.
pub type UnFn = fn(&mut Lanes, &Lanes, u32);
/// A function of two operands.
pub type BinFn = fn(&mut Lanes, &Lanes, &Lanes, u32);
/// A function of three operands.
pub type TernFn = fn(&mut Lanes, &Lanes, &Lanes, &Lanes, u32);
/// A comparison; returns one bit for each lane.
pub type CmpFn = fn(&Lanes, &Lanes) -> u32;

/// Generic addresses with a nonzero upper byte are in a window; other addresses are absolute.
pub const WINDOW_SHIFT: u32 = 56;
/// Upper byte of generic addresses of shared memory.
pub const WINDOW_SHARED: u64 = 1;
/// Upper byte of generic addresses of local memory.
pub const WINDOW_LOCAL: u64 = 2;
/// Upper byte of generic addresses of a kernel's parameters.
pub const WINDOW_PARAM: u64 = 4;
/// Upper byte of function addresses.
pub const WINDOW_CODE: u64 = 8;

/// The address of a function in a program's memory.
pub fn code_address(index: u32) -> u64 {
    WINDOW_CODE << WINDOW_SHIFT | (u64::from(index) + 1) << 4
}

/// The function at an address.
pub fn function_at(address: u64) -> Option<u32> {
    let low = address & ((1 << WINDOW_SHIFT) - 1);
    (address >> WINDOW_SHIFT == WINDOW_CODE && low & 15 == 0 && (16..1 << 36).contains(&low))
        .then(|| (low >> 4) as u32 - 1)
}

/// The state space of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Any space; the address decides.
    Generic,
    /// Global and constant memory: real addresses.
    Global,
    /// Offsets into the block's shared memory.
    Shared,
    /// Offsets into the thread's local memory.
    Local,
    /// Offsets into the kernel's parameters.
    Param,
}

/// The condition of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Always.
    Always,
    /// In lanes where the predicate is set.
    If(Pred),
    /// In lanes where it is not set.
    IfNot(Pred),
}

/// The address of an access.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    /// The state space.
    pub space: Space,
    /// The register with the base address.
    pub base: Slot,
    /// Added to the base.
    pub offset: i64,
    /// Whether to add the start of the frame's local memory.
    pub frame: bool,
}

/// A load or a store.
#[derive(Debug)]
pub struct Access {
    /// The address.
    pub at: Address,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether a narrow load extends the sign.
    pub signed: bool,
    /// The elements' registers; `None` discards the element.
    pub regs: Vec<Option<Slot>>,
}

/// The operation of an atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicOp {
    AddInt,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
    AddF32,
    /// On global memory, where the hardware flushes subnormals.
    AddF32Flush,
    AddF64,
    MinS,
    MaxS,
    MinU,
    MaxU,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

/// An atomic or a reduction.
#[derive(Debug)]
pub struct Atomic {
    /// The operation.
    pub op: AtomicOp,
    /// The address.
    pub at: Address,
    /// Bytes: 2, 4 or 8.
    pub size: u8,
    /// The register for the old value.
    pub old: Option<Slot>,
    /// The operand.
    pub b: Slot,
    /// The third operand, of `cas`.
    pub c: Slot,
}

/// The operation that combines a comparison's result with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoolOp {
    /// `.and`
    And,
    /// `.or`
    Or,
    /// `.xor`
    Xor,
}

/// A predicate operand, possibly negated.
#[derive(Debug, Clone, Copy)]
pub struct PredArg {
    /// The predicate.
    pub pred: Pred,
    /// Whether it is negated.
    pub negated: bool,
}

/// A comparison that sets predicates.
#[derive(Debug)]
pub struct Setp {
    /// The comparison.
    pub f: CmpFn,
    /// Receives the result.
    pub p: Option<Pred>,
    /// Receives the negated result.
    pub q: Option<Pred>,
    /// The left operand.
    pub a: Slot,
    /// The right operand.
    pub b: Slot,
    /// The predicate to combine the result with.
    pub combine: Option<(BoolOp, PredArg)>,
}

/// A comparison that sets a register.
#[derive(Debug)]
pub struct SetReg {
    /// The comparison.
    pub f: CmpFn,
    /// The register.
    pub d: Slot,
    /// The value to write where the comparison holds.
    pub ones: u64,
    /// The left operand.
    pub a: Slot,
    /// The right operand.
    pub b: Slot,
    /// The predicate to combine the result with.
    pub combine: Option<(BoolOp, PredArg)>,
}

/// An addition with carry.
#[derive(Debug)]
pub struct Carry {
    /// Whether it works on 64 bits.
    pub wide: bool,
    /// Whether it subtracts.
    pub subtract: bool,
    /// Whether it reads the carry.
    pub carry_in: bool,
    /// Whether it sets the carry.
    pub carry_out: bool,
    /// Destination.
    pub d: Slot,
    /// The left operand.
    pub a: Slot,
    /// The right operand.
    pub b: Slot,
}

/// The action of a barrier instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierKind {
    /// Arrive and wait.
    Sync,
    /// Arrive only.
    Arrive,
    /// Arrive, wait, and count the threads whose predicate is set.
    Popc,
    /// Arrive, wait, and return whether all predicates are set.
    And,
    /// Arrive, wait, and return whether any predicate is set.
    Or,
}

/// A barrier of a block.
#[derive(Debug)]
pub struct Barrier {
    /// The operation.
    pub kind: BarrierKind,
    /// The register with its number, 0 to 15.
    pub id: Slot,
    /// Number of participating threads; all if absent.
    pub count: Option<Slot>,
    /// The predicate of a reduction.
    pub input: Option<PredArg>,
    /// The register for the count.
    pub d: Option<Slot>,
    /// The predicate for the truth value.
    pub p: Option<Pred>,
}

/// How a shuffle selects the source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// A shuffle.
#[derive(Debug)]
pub struct Shfl {
    /// How to select the source lane.
    pub mode: ShflMode,
    /// Destination.
    pub d: Option<Slot>,
    /// Set to whether the source lane is in range.
    pub p: Option<Pred>,
    /// The value.
    pub a: Slot,
    /// Lane or distance.
    pub b: Slot,
    /// Clamp and segment mask.
    pub c: Slot,
    /// The participating lanes; the active ones if absent.
    pub members: Option<Slot>,
}

/// The function of a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteKind {
    All,
    Any,
    Uni,
    Ballot,
}

/// A vote.
#[derive(Debug)]
pub struct Vote {
    /// The function that it computes.
    pub kind: VoteKind,
    /// Destination of a ballot.
    pub d: Option<Slot>,
    /// Destination of the other votes.
    pub p: Option<Pred>,
    /// The predicate.
    pub input: PredArg,
    /// The participating lanes; the active ones if absent.
    pub members: Option<Slot>,
}

/// A match across a warp.
#[derive(Debug)]
pub struct Match {
    /// Whether all must agree.
    pub all: bool,
    /// Whether values have 64 bits.
    pub wide: bool,
    /// Receives the mask.
    pub d: Option<Slot>,
    /// Set to whether all agree.
    pub p: Option<Pred>,
    /// The value.
    pub a: Slot,
    /// The participating lanes.
    pub members: Slot,
}

/// The operation of a reduction across a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReduxOp {
    Add,
    MinU,
    MaxU,
    MinS,
    MaxS,
    And,
    Or,
    Xor,
}

/// A value that a call passes between frames.
#[derive(Debug, Clone, Copy)]
pub enum Passed {
    /// Bytes in local memory, by offset in the frame.
    Memory(u32, u32),
    /// A register.
    Register(Slot),
    /// A predicate.
    Predicate(Pred),
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// The called function.
    pub target: CallTarget,
    /// The caller's arguments.
    pub args: Vec<Passed>,
    /// The caller's places for the results.
    pub results: Vec<Passed>,
}

/// The target of a call.
#[derive(Debug, Clone)]
pub enum CallTarget {
    /// A function of the module, by index.
    Direct(u32),
    /// The function whose address is in the register.
    Indirect(Slot),
    /// A function that CUDA provides.
    Builtin(Builtin),
}

/// Functions that CUDA provides to kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Builtin {
    Vprintf,
    Assertfail,
    Malloc,
    Free,
}

/// Special registers whose value changes while a thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Volatile {
    Clock,
    Clock64,
    ClockHi,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
}

/// Special registers whose value is set when a frame begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Fixed {
    Const(u64),
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicSharedSize,
    TotalSharedSize,
    /// Start of dynamic shared memory, for this alignment.
    DynamicShared,
    /// `%envregN`: 1 and 2 are the upper and the lower half of the address of the grid's workspace.
    EnvReg(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaRank,
    ClusterNctaRank,
}

/// A conversion.
#[derive(Debug, Clone, Copy)]
pub struct Cvt {
    /// The destination type.
    pub dst: Ty,
    /// The source type.
    pub src: Ty,
    /// Rounding of the result.
    pub mode: Mode,
    /// Whether a float is rounded to an integral value.
    pub integral: bool,
    /// Whether to flush subnormals.
    pub ftz: bool,
    /// Whether to clamp.
    pub sat: bool,
    /// Whether to clamp negative results to 0.
    pub relu: bool,
}

/// An operation.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Op {
    Nop,
    Un {
        f: UnFn,
        d: Slot,
        a: Slot,
    },
    Cvt {
        cvt: Box<Cvt>,
        d: Slot,
        a: Slot,
    },
    Bin {
        f: BinFn,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Tern {
        f: TernFn,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Three bitwise inputs and a truth table.
    Lop3 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        table: u8,
    },
    Selp {
        d: Slot,
        a: Slot,
        b: Slot,
        p: PredArg,
    },
    Setp(Box<Setp>),
    Set(Box<SetReg>),
    /// `d = a op b`.
    PredBin {
        op: BoolOp,
        d: Pred,
        a: PredArg,
        b: PredArg,
    },
    PredConst {
        d: Pred,
        value: bool,
    },
    /// `d` is a register that gets 1 or 0.
    PredToReg {
        d: Slot,
        p: PredArg,
        ones: u64,
    },
    Carry(Box<Carry>),
    Volatile {
        which: Volatile,
        d: Slot,
    },
    /// Address of local memory: the frame's start plus an offset.
    FrameAddress {
        d: Slot,
        offset: u32,
    },
    IsSpace {
        p: Pred,
        a: Slot,
        space: Space,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// Copies between memories, of `cp.async`.
    Copy {
        to: Box<Address>,
        from: Box<Address>,
        size: u32,
        source: Option<Slot>,
    },
    Alloca {
        d: Slot,
        size: Slot,
        align: u32,
    },
    StackSave {
        d: Slot,
    },
    StackRestore {
        a: Slot,
    },
    Fence,
    Branch {
        target: u32,
    },
    BranchIndex {
        index: Slot,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Breakpoint,
    Sleep {
        nanoseconds: Slot,
    },
    Barrier(Box<Barrier>),
    WarpSync {
        members: Slot,
    },
    ActiveMask {
        d: Slot,
    },
    Shfl(Box<Shfl>),
    Vote(Box<Vote>),
    Match(Box<Match>),
    Redux {
        op: ReduxOp,
        d: Slot,
        a: Slot,
        members: Slot,
    },
    Elect {
        d: Option<Slot>,
        p: Pred,
        members: Slot,
    },
}

/// An instruction.
#[derive(Debug)]
pub struct Inst {
    /// Its condition.
    pub guard: Guard,
    /// The operation.
    pub op: Op,
}

/// A function or a kernel.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Program counter of its first instruction.
    pub entry: u32,
    /// Registers of a frame.
    pub slots: u32,
    /// Predicates of a frame.
    pub preds: u32,
    /// Bytes of local memory of a frame.
    pub local: u32,
    /// Registers to set when a frame begins.
    pub fixed: Vec<(Fixed, Slot)>,
    /// The places of a function's parameters.
    pub params: Vec<Passed>,
    /// The places of a function's results.
    pub results: Vec<Passed>,
    /// Whether it has code.
    pub defined: bool,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelParam {
    /// Offset in the parameter buffer.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// Properties of a kernel besides its code.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Index of its function.
    pub function: u32,
    /// Its parameters.
    pub params: Vec<KernelParam>,
    /// Bytes of static shared memory.
    pub shared: u32,
    /// `.maxntid` or `.reqntid`: the largest block.
    pub max_threads: Option<u32>,
    /// `.reqntid`: the block that it must be launched with.
    pub required: Option<[u32; 3]>,
    /// Registers that it declares, for `CU_FUNC_ATTRIBUTE_NUM_REGS`.
    pub registers: u32,
}

impl Kernel {
    /// Bytes of the parameter buffer.
    pub fn param_bytes(&self) -> usize {
        self.params.last().map_or(0, |p| p.offset + p.size)
    }
}

/// A module's code.
#[derive(Debug, Default)]
pub struct Program {
    /// All functions' instructions.
    pub code: Vec<Inst>,
    /// All functions.
    pub functions: Vec<Function>,
    /// Kernels, in the order of the text.
    pub kernels: Vec<(String, Arc<Kernel>)>,
    /// `.version` as major * 10 + minor.
    pub ptx_version: i32,
    /// The number of `.target sm_NN`.
    pub target: i32,
}
