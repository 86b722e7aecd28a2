//! The names of PTX instructions.

/// All instructions that ptxas of CUDA 13.0 knows, including those that softgpu can't run, in
/// alphabetical order.
#[rustfmt::skip]
const OPCODES: [&str; 137] = [
    "abs", "activemask", "add", "addc", "alloca", "and", "applypriority", "atom", "bar", "barrier",
    "bfe", "bfi", "bfind", "bmsk", "bra", "brev", "brkpt", "brx", "call", "cctl", "cctlu",
    "clusterlaunchcontrol", "clz", "cnot", "copysign", "cos", "cp", "createpolicy", "cvt", "cvta",
    "discard", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma", "fns", "getctarank",
    "griddepcontrol", "isspacep", "istypep", "ld", "ldmatrix", "ldu", "lg2", "lop3", "mad", "mad24",
    "madc", "mapa", "match", "max", "mbarrier", "membar", "min", "mma", "mov", "movmatrix", "mul",
    "mul24", "multimem", "nanosleep", "neg", "not", "or", "pmevent", "popc", "prefetch",
    "prefetchu", "prmt", "rcp", "red", "redux", "rem", "ret", "rsqrt", "sad", "selp", "set",
    "setmaxnreg", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "st", "stackrestore",
    "stacksave", "stmatrix", "sub", "subc", "suld", "suq", "sured", "sust", "szext", "tanh",
    "tcgen05", "tensormap", "testp", "tex", "tld4", "trap", "txq", "vabsdiff", "vabsdiff2",
    "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4",
    "vmin", "vmin2", "vmin4", "vote", "vset", "vset2", "vset4", "vshl", "vshr", "vsub", "vsub2",
    "vsub4", "wgmma", "wmma", "xor",
];

/// Returns whether PTX has an instruction with this name. An unknown name means that the text isn't
/// PTX. A known name means at most that softgpu doesn't support the instruction, which is a
/// different error.
pub(super) fn known(name: &str) -> bool {
    OPCODES.binary_search(&name).is_ok()
}
