//! Tests that softgpu counts the device memory that contexts need in addition to the program's
//! allocations.

use std::ffi::{CStr, c_uint};
use std::ptr::null;

use common::*;

mod common;

const INVALID_VALUE: c_uint = 1;
const OUT_OF_MEMORY: c_uint = 2;
const STACK: c_uint = 0;
const HEAP: c_uint = 2;
const MIB: u64 = 1 << 20;
/// The memory that a context needs by itself.
const CONTEXT: u64 = 8 * MIB;
/// The memory that the heap needs when a module that uses it is loaded, and when a kernel that uses
/// it is launched.
const HEAP_LOADED: u64 = 138 * MIB;
const HEAP_LAUNCHED: u64 = 140 * MIB;

/// A kernel that needs 64 KiB of local memory per thread.
const LOCAL: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry k() { .local .align 4 .b8 l[65536]; ret; }";
const MALLOC: &CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
    .extern .func (.param .b64 r) malloc (.param .b64 n);\n\
    .visible .entry k() { .reg .b64 %d; { .param .b64 r; .param .b64 n; st.param.b64 [n], 16;\n\
    call.uni (r), malloc, (n); ld.param.b64 %d, [r]; } ret; }";

fn used() -> u64 {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    (total - free) as u64
}

fn load(image: &CStr) -> (usize, usize) {
    let (mut module, mut function) = (0, 0);
    ok!(cuModuleLoadData(&mut module, image.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    (module, function)
}

fn launch(function: usize, stream: usize) -> c_uint {
    // SAFETY: the kernel has no parameters.
    unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null(), null()) }
}

/// Returns the number of threads that the device can run at once.
fn threads() -> u64 {
    let (mut processors, mut each) = (0, 0);
    ok!(cuDeviceGetAttribute(&mut processors, 16, 0));
    ok!(cuDeviceGetAttribute(&mut each, 39, 0));
    processors as u64 * each as u64
}

// All checks must be in one test, because tests run in parallel, and another one in the same
// process would change the device's memory.
#[test]
fn test_everything_that_a_context_takes_is_counted() {
    let (mut context, mut stream) = (0, 0);
    ok!(cuInit(0));
    ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
    ok!(cuCtxSetCurrent(context));
    let threads = threads();
    let per_thread = |bytes: u64| CONTEXT + ((bytes - 1024) * threads).next_multiple_of(2 * MIB);
    assert_eq!(used(), CONTEXT);

    // A launch allocates local memory. Setting the stack limit frees it.
    let (module, function) = load(LOCAL);
    ok!(cuStreamCreate(&mut stream, 1));
    let with_kernel = per_thread(64 << 10);
    for _ in 0..2 {
        assert_eq!(launch(function, stream), 0);
        ok!(cuCtxSynchronize());
        assert_eq!(used(), with_kernel);
    }
    ok!(cuCtxSetLimit(STACK, 4096));
    assert_eq!(used(), per_thread(4096));
    ok!(cuCtxSetLimit(STACK, 0));
    assert_eq!(used(), CONTEXT);

    // A launch of a graph also allocates local memory, even if setting the limit has freed what the
    // instantiation allocated.
    let (mut graph, mut exec) = (0, 0);
    ok!(cuStreamBeginCapture_v2(stream, 0));
    assert_eq!(launch(function, stream), 0);
    ok!(cuStreamEndCapture(stream, &mut graph));
    assert_eq!(used(), CONTEXT);
    ok!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    ok!(cuCtxSetLimit(STACK, 2048));
    assert_eq!(used(), per_thread(2048));
    ok!(cuGraphLaunch(exec, stream));
    ok!(cuCtxSynchronize());
    assert_eq!(used(), with_kernel);
    ok!(cuCtxSetLimit(STACK, 1024));

    // If the device has too little memory, launches fail without a sticky error, so the program can
    // continue.
    let (mut free, mut total, mut all) = (0, 0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    ok!(cuMemAlloc_v2(&mut all, free - (1 << 20)));
    let full = used();
    assert_eq!(launch(function, stream), OUT_OF_MEMORY);
    fails!(OUT_OF_MEMORY, cuGraphLaunch(exec, stream));
    fails!(OUT_OF_MEMORY, cuCtxSetLimit(STACK, 4096));
    fails!(OUT_OF_MEMORY, cuCtxCreate_v2(&mut free, 0, 0));
    assert_eq!(used(), full);
    ok!(cuMemFree_v2(all));
    assert_eq!((used(), launch(function, stream)), (CONTEXT, 0));
    ok!(cuCtxSetLimit(STACK, 1024));

    // Destroying streams doesn't free their memory. A context includes memory for four streams.
    let mut streams = [0; 8];
    streams.iter_mut().for_each(|stream| ok!(cuStreamCreate(stream, 0)));
    let with_streams = CONTEXT + (5 * (560u64 << 10)).next_multiple_of(2 * MIB);
    assert_eq!(used(), with_streams);
    streams.iter().for_each(|stream| ok!(cuStreamDestroy_v2(*stream)));
    assert_eq!(used(), with_streams);
    ok!(cuModuleUnload(module));

    // Another context needs its own memory.
    let mut other = 0;
    ok!(cuCtxCreate_v2(&mut other, 0, 0));
    assert_eq!(used(), with_streams + CONTEXT);
    let (_, allocating) = load(MALLOC);
    ok!(cuCtxSetLimit(HEAP, 16 << 20));
    assert_eq!(used(), with_streams + CONTEXT + HEAP_LOADED);
    assert_eq!(launch(allocating, 0), 0);
    assert_eq!(used(), with_streams + CONTEXT + 16 * MIB + HEAP_LAUNCHED);
    fails!(INVALID_VALUE, cuCtxSetLimit(HEAP, 8 << 20));
    ok!(cuCtxDestroy_v2(other));
    ok!(cuCtxSetCurrent(context));
    assert_eq!(used(), with_streams);

    ok!(cuDevicePrimaryCtxReset_v2(0));
    ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
    assert_eq!(used(), CONTEXT);
}
