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

/// A function of one operand on a warp: destination, operand, active lanes.
pub type UnFn = fn(&mut Lanes, &Lanes, u32);
/// A function of two operands on a warp.
pub type BinFn = fn(&mut Lanes, &Lanes, &Lanes, u32);
/// A function of three operands on a warp.
pub type TernFn = fn(&mut Lanes, &Lanes, &Lanes, &Lanes, u32);
/// A comparison on a warp. Returns one bit per lane.
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

/// Returns the address by which a program refers to the function with an index.
pub fn code_address(index: u32) -> u64 {
    WINDOW_CODE << WINDOW_SHIFT | (u64::from(index) + 1) << 4
}

/// Returns the index of the function that an address refers to.
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

/// The condition under which an instruction executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// In all lanes.
    Always,
    /// In lanes where the predicate is set.
    If(Pred),
    /// In lanes where the predicate isn't set.
    IfNot(Pred),
}

/// The operand that determines the address of a memory access.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    /// The state space.
    pub space: Space,
    /// The register with the base address.
    pub base: Slot,
    /// The offset from the base address.
    pub offset: i64,
    /// Whether the address is relative to the frame's local memory.
    pub frame: bool,
}

/// A load or a store.
#[derive(Debug)]
pub struct Access {
    /// The address.
    pub at: Address,
    /// Element size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether a narrow load is sign-extended.
    pub signed: bool,
    /// The registers of the elements. `None` discards an element.
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
    /// Adds singles in global memory, where the hardware flushes subnormals to zero.
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
    /// The operation.
    pub op: AtomicOp,
    /// The address.
    pub at: Address,
    /// Operand size in bytes: 2, 4 or 8.
    pub size: u8,
    /// The register that receives the old value.
    pub old: Option<Slot>,
    /// The register with the operand.
    pub b: Slot,
    /// The register with the last operand, which only `cas` uses.
    pub c: Slot,
}

/// The operation that combines a comparison's result with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoolOp {
    /// Logical AND.
    And,
    /// Logical OR.
    Or,
    /// Logical exclusive OR.
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
    /// The function that compares the operands.
    pub f: CmpFn,
    /// The predicate that receives the result.
    pub p: Option<Pred>,
    /// The predicate that receives the negated result.
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
    /// The predicate to combine the result with.
    pub combine: Option<(BoolOp, PredArg)>,
}

/// An addition or subtraction with carry.
#[derive(Debug)]
pub struct Carry {
    /// Whether the operands have 64 bits.
    pub wide: bool,
    /// Whether to subtract.
    pub subtract: bool,
    /// Whether to read the carry flag.
    pub carry_in: bool,
    /// Whether to set the carry flag.
    pub carry_out: bool,
    /// The destination register.
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

/// A barrier instruction for a block.
#[derive(Debug)]
pub struct Barrier {
    /// The action to perform.
    pub kind: BarrierKind,
    /// The register with the barrier's number, 0 to 15.
    pub id: Slot,
    /// The register with the number of participating threads. If absent, all threads participate.
    pub count: Option<Slot>,
    /// The predicate that a reduction reads.
    pub input: Option<PredArg>,
    /// The register that receives a reduction's count.
    pub d: Option<Slot>,
    /// The predicate that receives a reduction's truth value.
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
    /// The register that receives the source lane's value.
    pub d: Option<Slot>,
    /// The predicate that is set if the source lane is in range.
    pub p: Option<Pred>,
    /// The register with the value that other lanes may read.
    pub a: Slot,
    /// The register with the source lane, or its distance from the reading lane.
    pub b: Slot,
    /// The register with the clamp value and segment mask.
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

/// A vote.
#[derive(Debug)]
pub struct Vote {
    /// The function to compute.
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
    /// Whether all lanes must have the same value (`match.all`).
    pub all: bool,
    /// Whether values have 64 bits.
    pub wide: bool,
    /// The register that receives the mask of lanes with equal values.
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
    /// A register.
    Register(Slot),
    /// A predicate.
    Predicate(Pred),
}

/// A function call.
#[derive(Debug)]
pub struct Call {
    /// The called function.
    pub target: CallTarget,
    /// The caller's arguments.
    pub args: Vec<Passed>,
    /// The places in the caller's frame that receive the results.
    pub results: Vec<Passed>,
}

/// The target of a call.
#[derive(Debug, Clone)]
pub enum CallTarget {
    /// A function in the module, by index.
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

/// Special registers whose value is set when a function is entered.
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
    /// `%envregN`. Registers 1 and 2 are the upper and lower half of the address of the grid's
    /// workspace.
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
    /// The rounding mode of the result.
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

/// An instruction.
#[derive(Debug)]
pub struct Inst {
    /// The condition under which the instruction executes.
    pub guard: Guard,
    /// The operation to perform.
    pub op: Op,
}

/// A function or a kernel.
#[derive(Debug)]
pub struct Function {
    /// The function's name.
    pub name: String,
    /// The instructions. A program counter is an index of this list.
    pub code: Vec<Inst>,
    /// Size of the shared memory that the function uses, in bytes.
    pub shared: u32,
    /// Number of registers in a frame.
    pub slots: u32,
    /// Number of predicates in a frame.
    pub preds: u32,
    /// Size of a frame's local memory, in bytes.
    pub local: u32,
    /// Special registers to set when the function is entered, and their slots.
    pub fixed: Vec<(Fixed, Slot)>,
    /// The places in the function's frame that receive the parameters.
    pub params: Vec<Passed>,
    /// The places in the function's frame that contain the results when it returns.
    pub results: Vec<Passed>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelParam {
    /// Offset in the parameter buffer.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// A kernel's properties other than its code.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Index of the kernel's function.
    pub function: u32,
    /// The kernel's parameters.
    pub params: Vec<KernelParam>,
    /// Size of static shared memory, in bytes.
    pub shared: u32,
    /// Maximum number of threads per block, from `.maxntid` or `.reqntid`.
    pub max_threads: Option<u32>,
    /// Block size that a launch must have, from `.reqntid`.
    pub required: Option<[u32; 3]>,
    /// Number of declared registers, which `CU_FUNC_ATTRIBUTE_NUM_REGS` is derived from.
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
