//! The lowered form of PTX, in which registers are slots, labels are program counters, and
//! operations are specialized by type.

use crate::exec::round::Mode;
use crate::ptx::image::{Fetch, Query, SurfaceAccess};
use crate::ptx::types::Ty;
pub use crate::ptx::types::{Pred, Slot};

/// Number of lanes in a warp.
pub const WARP: usize = 32;
/// The values of one register in all of a warp's lanes.
pub type Lanes = [u64; WARP];

/// A function with one operand that is applied to a warp. Its parameters are the destination, the
/// operand, and the mask of active lanes.
pub type UnFn = fn(&mut Lanes, &Lanes, u32);
/// A function with two operands that is applied to a warp. Its parameters are the destination, the
/// operands, and the mask of active lanes.
pub type BinFn = fn(&mut Lanes, &Lanes, &Lanes, u32);
/// A function with three operands that is applied to a warp. Its parameters are the destination,
/// the operands, and the mask of active lanes.
pub type TernFn = fn(&mut Lanes, &Lanes, &Lanes, &Lanes, u32);
/// A comparison of two operands that is applied to a warp. Returns a mask with one bit per lane.
pub type CmpFn = fn(&Lanes, &Lanes) -> u32;

/// Bit position of the upper byte in generic addresses. If this byte is nonzero, it selects a state
/// space or the program's functions, and the lower bytes are an offset. Otherwise, the address is
/// an absolute address in global memory.
pub const WINDOW_SHIFT: u32 = 56;
/// Upper byte of generic addresses in shared memory.
pub const WINDOW_SHARED: u64 = 1;
/// Upper byte of generic addresses in local memory.
pub const WINDOW_LOCAL: u64 = 2;
/// Upper byte of generic addresses in the kernel's parameters.
pub const WINDOW_PARAM: u64 = 4;
/// Upper byte of function addresses.
pub const WINDOW_CODE: u64 = 8;

/// Returns the function address for the function with an index.
pub fn code_address(index: u32) -> u64 {
    WINDOW_CODE << WINDOW_SHIFT | (u64::from(index) + 1) << 4
}

/// Returns the index of the function at a function address.
pub fn function_at(address: u64) -> Option<u32> {
    let low = address & ((1 << WINDOW_SHIFT) - 1);
    (address >> WINDOW_SHIFT == WINDOW_CODE && low & 15 == 0 && (16..1 << 36).contains(&low))
        .then(|| (low >> 4) as u32 - 1)
}

/// The state space of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Any state space, determined by the address at run time.
    Generic,
    /// Global and constant memory. Addresses are host addresses.
    Global,
    /// The block's shared memory. Addresses are offsets.
    Shared,
    /// The thread's local memory. Addresses are offsets.
    Local,
    /// The kernel's parameters. Addresses are offsets.
    Param,
}

/// The guard of an instruction: the condition under which it executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The instruction executes in all lanes.
    Always,
    /// The instruction executes in lanes where the predicate is set.
    If(Pred),
    /// The instruction executes in lanes where the predicate isn't set.
    IfNot(Pred),
}

/// The operand that determines the address of a memory access.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pub space: Space,
    /// The register with the base address.
    pub base: Slot,
    pub offset: i64,
    /// Whether the base is relative to the start of the function's frame in local memory.
    pub frame: bool,
}

/// A load or a store.
#[derive(Debug)]
pub struct Access {
    pub at: Address,
    /// Element size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether a narrow load is sign-extended.
    pub signed: bool,
    /// The registers of the vector's elements. `None` discards an element of a load.
    pub regs: Vec<Option<Slot>>,
}

/// The operation of an atomic or reduction instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicOp {
    AddInt,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
    AddF32,
    /// Adds singles in global memory, where the hardware's atomic addition flushes subnormals to
    /// zero.
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

/// An atomic or reduction instruction.
#[derive(Debug)]
pub struct Atomic {
    pub op: AtomicOp,
    pub at: Address,
    /// Operand size in bytes: 2, 4 or 8.
    pub size: u8,
    /// The register that receives the old value.
    pub old: Option<Slot>,
    /// The register with the first operand.
    pub b: Slot,
    /// The register with the second operand, which only `cas` uses.
    pub c: Slot,
}

/// The operation that combines a comparison's result with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoolOp {
    And,
    Or,
    Xor,
}

/// A predicate operand, possibly negated.
#[derive(Debug, Clone, Copy)]
pub struct PredArg {
    pub pred: Pred,
    /// Whether the predicate is negated.
    pub negated: bool,
}

/// A comparison that sets predicates.
#[derive(Debug)]
pub struct Setp {
    /// The function that compares the operands.
    pub f: CmpFn,
    /// The predicate that receives the result, if any.
    pub p: Option<Pred>,
    /// The predicate that receives the negated result, if any.
    pub q: Option<Pred>,
    /// The left operand.
    pub a: Slot,
    /// The right operand.
    pub b: Slot,
    /// The operation and the predicate with which the result is combined, if any.
    pub combine: Option<(BoolOp, PredArg)>,
}

/// A comparison that sets a register.
#[derive(Debug)]
pub struct SetReg {
    /// The function that compares the operands.
    pub f: CmpFn,
    /// The destination register.
    pub d: Slot,
    /// The value to write to lanes where the comparison holds. Other lanes receive 0.
    pub ones: u64,
    /// The left operand.
    pub a: Slot,
    /// The right operand.
    pub b: Slot,
    /// The operation and the predicate with which the result is combined, if any.
    pub combine: Option<(BoolOp, PredArg)>,
}

/// An addition or subtraction with carry.
#[derive(Debug)]
pub struct Carry {
    /// Whether the operands have 64 bits.
    pub wide: bool,
    /// Whether to subtract instead of adding.
    pub subtract: bool,
    /// Whether to read the carry flag.
    pub carry_in: bool,
    /// Whether to set the carry flag.
    pub carry_out: bool,
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
    /// Arrive without waiting.
    Arrive,
    /// Arrive, wait, and count the threads whose predicate is set.
    Popc,
    /// Arrive, wait, and return whether all predicates are set.
    And,
    /// Arrive, wait, and return whether any predicate is set.
    Or,
}

/// A barrier instruction, which synchronizes the threads of a block.
#[derive(Debug)]
pub struct Barrier {
    pub kind: BarrierKind,
    /// The register with the barrier's number, 0 to 15.
    pub id: Slot,
    /// The register with the number of participating threads. If absent, all threads participate.
    pub count: Option<Slot>,
    /// The predicate that each thread contributes to a reduction.
    pub input: Option<PredArg>,
    /// The register that receives the number of set predicates.
    pub d: Option<Slot>,
    /// The predicate that receives the result of an `And` or `Or` reduction.
    pub p: Option<Pred>,
}

/// How a shuffle instruction selects the source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// A shuffle instruction, with which lanes read each other's registers.
#[derive(Debug)]
pub struct Shfl {
    pub mode: ShflMode,
    /// The register that receives the source lane's value.
    pub d: Option<Slot>,
    /// The predicate that is set if the source lane is in range.
    pub p: Option<Pred>,
    /// The register whose value other lanes may read.
    pub a: Slot,
    /// The register with the index of the source lane or its distance, depending on the mode.
    pub b: Slot,
    /// The register with the bound of the source lane and the mask of the segment, as PTX packs
    /// them.
    pub c: Slot,
    /// The register with the mask of participating lanes. If absent, the active lanes participate.
    pub members: Option<Slot>,
}

/// The function that a vote computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteKind {
    All,
    Any,
    Uni,
    Ballot,
}

/// A vote instruction, which combines a predicate of all lanes.
#[derive(Debug)]
pub struct Vote {
    pub kind: VoteKind,
    /// The register that receives the result of a ballot.
    pub d: Option<Slot>,
    /// The predicate that receives the result of any other vote.
    pub p: Option<Pred>,
    /// The predicate that the lanes vote with.
    pub input: PredArg,
    /// The register with the mask of participating lanes. If absent, the active lanes participate.
    pub members: Option<Slot>,
}

/// A search for lanes with equal values in a warp.
#[derive(Debug)]
pub struct Match {
    /// Whether the search requires that all lanes have the same value, as `match.all` does.
    pub all: bool,
    /// Whether values have 64 bits.
    pub wide: bool,
    /// The register that receives the mask of lanes whose value equals that of the lane.
    pub d: Option<Slot>,
    /// The predicate that is set if all lanes have the same value.
    pub p: Option<Pred>,
    /// The register with the value to compare.
    pub a: Slot,
    /// The register with the mask of participating lanes.
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

/// Where a call's argument or result is stored in a frame.
#[derive(Debug, Clone, Copy)]
pub enum Passed {
    /// Local memory: offset in the frame, and size in bytes.
    Memory(u32, u32),
    Register(Slot),
    Predicate(Pred),
}

/// A call of a function.
#[derive(Debug)]
pub struct Call {
    pub target: CallTarget,
    /// Where the arguments are stored in the caller's frame.
    pub args: Vec<Passed>,
    /// Where the caller's frame receives the results.
    pub results: Vec<Passed>,
}

/// The function that a call instruction calls.
#[derive(Debug, Clone)]
pub enum CallTarget {
    /// A function in the module, by index.
    Direct(u32),
    /// The function whose address is in the register.
    Indirect(Slot),
    /// A function that CUDA provides in device code, such as `malloc`.
    Builtin(Builtin),
}

/// Functions that CUDA provides in device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Builtin {
    Vprintf,
    Assertfail,
    Malloc,
    Free,
}

/// Special registers whose value can change while a thread runs, so it's read by an instruction.
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

/// Special registers whose value doesn't change in a function. They are stored in ordinary
/// registers when the function is entered.
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
    /// The offset of dynamic shared memory in the block's shared memory.
    DynamicShared,
    /// `%envregN`. `%envreg1` and `%envreg2` contain the upper and the lower half of the
    /// workspace's address in a cooperative launch.
    EnvReg(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaRank,
    ClusterNctaRank,
}

/// A conversion between two types.
#[derive(Debug, Clone, Copy)]
pub struct Cvt {
    pub dst: Ty,
    pub src: Ty,
    /// The mode in which the result is rounded.
    pub mode: Mode,
    /// Whether to round a floating-point value to an integral value.
    pub integral: bool,
    /// Whether to flush subnormals to zero.
    pub ftz: bool,
    /// Whether to clamp to the destination's range, or to [0, 1] for a floating-point destination.
    pub sat: bool,
    /// Whether to clamp negative results to 0.
    pub relu: bool,
}

/// An operation of the interpreter.
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
    /// Computes a bitwise function of three inputs from its truth table.
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
    /// Combines predicates `a` and `b` with `op`, and stores the result in predicate `d`.
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
    /// Sets register `d` to `ones` in lanes where the predicate is set, and to 0 in other lanes.
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
    /// Computes an address in local memory by adding an offset to the frame's start.
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
    Fetch(Box<Fetch>),
    Surface(Box<SurfaceAccess>),
    Query(Box<Query>),
    /// Copies from global to shared memory, as `cp.async` does.
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

/// A lowered instruction.
#[derive(Debug)]
pub struct Inst {
    pub guard: Guard,
    pub op: Op,
}

/// A function or a kernel.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// The instructions, indexed by program counter.
    pub code: Vec<Inst>,
    /// Size of the shared memory that the function uses, in bytes.
    pub shared: u32,
    /// Number of registers in a frame.
    pub slots: u32,
    /// Number of predicates in a frame.
    pub preds: u32,
    /// Size of a frame's local memory, in bytes.
    pub local: u32,
    /// Special registers whose value is stored when the function is entered, and the register for
    /// each.
    pub fixed: Vec<(Fixed, Slot)>,
    /// Where the function's frame receives the arguments.
    pub params: Vec<Passed>,
    /// Where the function's frame contains the results when the function returns.
    pub results: Vec<Passed>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelParam {
    /// Offset in the parameter buffer, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// A kernel's properties other than its code.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Index of the kernel's function.
    pub function: u32,
    pub params: Vec<KernelParam>,
    /// Size of static shared memory, in bytes.
    pub shared: u32,
    /// Maximum number of threads per block, from `.maxntid` or `.reqntid`.
    pub max_threads: Option<u32>,
    /// Block size that a launch must have, from `.reqntid`.
    pub required: Option<[u32; 3]>,
    /// Number of registers that the kernel declares. `CU_FUNC_ATTRIBUTE_NUM_REGS` is derived from
    /// it.
    pub registers: u32,
    /// Size of a thread's local memory, in bytes.
    pub local: u32,
}

impl Kernel {
    /// Returns the size of the parameter buffer in bytes.
    pub fn param_bytes(&self) -> usize {
        self.params.last().map_or(0, |p| p.offset + p.size)
    }
}
