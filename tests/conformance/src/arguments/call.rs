//! Calls entry points by name, with arguments that are chosen at run time.

use crate::cuda::Cuda;
use cuda_api::sys::{CUresult, CUstream};
use std::ffi::c_void;

/// An argument in the form in which the calling convention passes it.
pub enum Argument {
    /// A pointer, a number, or a structure of at most 8 bytes, which is passed in a register if one
    /// is left.
    Word(u64),
    Float(f32),
    /// A larger structure, which is passed on the stack. The elements are its words.
    Structure(Vec<u64>),
}

/// The number of argument words that are passed in integer registers.
const REGISTERS: usize = 6;
/// The maximum number of argument words that are passed on the stack.
const STACK: usize = 10;

/// A function type that fits every entry point in the calling convention of x86-64. The first six
/// words are passed in registers, further words on the stack, and floating-point numbers in
/// separate registers. A function ignores the words after its last parameter.
#[rustfmt::skip]
type Function = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64,
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
    f32, f32,
) -> CUresult;

/// Calls an entry point, and returns its result.
pub fn call(cuda: &Cuda, name: &'static str, arguments: &[Argument]) -> u32 {
    let (mut words, mut floats, mut structures) = (Vec::new(), Vec::new(), Vec::<u64>::new());
    for argument in arguments {
        match argument {
            Argument::Word(word) => words.push(*word),
            Argument::Float(float) => floats.push(*float),
            Argument::Structure(parts) => structures.extend(parts),
        }
    }
    if !structures.is_empty() {
        // Structures are passed on the stack, so fill the registers first. An entry point with a
        // structure parameter has at most six other words, so none of those must follow the
        // structure.
        words.resize(words.len().max(REGISTERS), 0);
        words.extend(structures);
    }
    assert!(words.len() <= REGISTERS + STACK && floats.len() <= 2, "{name}");
    words.resize(REGISTERS + STACK, 0);
    floats.resize(2, 0.0);
    let (w, f) = (words, floats);
    // SAFETY: `Function` passes arguments in the same way as the prototypes of all entry points do.
    let function: Function = unsafe { cuda.symbol(cuda.variant(name)) };
    // SAFETY: the arguments are valid, except for the one that the table's cell replaces on
    // purpose. The call may therefore crash the process. That's acceptable, because the process
    // only runs cells, and its parent expects crashes.
    let result = unsafe {
        function(
            w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
            w[14], w[15], f[0], f[1],
        )
    };
    result.0 as u32
}

/// Returns whether a type is that of a function.
pub fn is_function(type_: &str) -> bool {
    matches!(
        type_,
        "CUasyncCallback"
            | "CUhostFn"
            | "CUlogsCallback"
            | "CUoccupancyB2DSize"
            | "CUstreamCallback"
    )
}

/// Returns the address of a function of this type. The type must be one for which [`is_function`]
/// is true.
pub fn function(type_: &str) -> u64 {
    unsafe extern "C" fn host(_: *mut c_void) {}
    unsafe extern "C" fn stream(_: CUstream, _: CUresult, _: *mut c_void) {}
    unsafe extern "C" fn size(_: i32) -> usize {
        0
    }
    unsafe extern "C" fn three(_: *mut c_void, _: *mut c_void, _: *mut c_void) {}
    unsafe extern "C" fn four(_: *mut c_void, _: u32, _: *mut c_void, _: usize) {}
    match type_ {
        "CUhostFn" => host as *const c_void as u64,
        "CUstreamCallback" => stream as *const c_void as u64,
        "CUoccupancyB2DSize" => size as *const c_void as u64,
        "CUlogsCallback" => four as *const c_void as u64,
        _ => three as *const c_void as u64,
    }
}
