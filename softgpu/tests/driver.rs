//! Tests the driver API through its C functions.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;

mod common;

const NOT_INITIALIZED: c_uint = 3;
const INVALID_VALUE: c_uint = 1;
const OUT_OF_MEMORY: c_uint = 2;
const INVALID_HANDLE: c_uint = 400;
const NOT_READY: c_uint = 600;
const ILLEGAL_ADDRESS: c_uint = 700;

/// A kernel that adds 1 to each of the 32 words at an address.
const INCREMENT: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry increment(.param .u64 at) {\n\
    .reg .u64 %d<4>; .reg .u32 %r<4>;\n\
    ld.param.u64 %d1, [at]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n\
    ld.global.u32 %r2, [%d3]; add.u32 %r2, %r2, 1; st.global.u32 [%d3], %r2; ret; }\n";

/// Makes the primary context current, and returns a guard that keeps other tests from using it.
fn context() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut context = 0;
    ok!(cuInit(0));
    ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
    ok!(cuCtxSetCurrent(context));
    guard
}

fn increment(at: u64, stream: usize) {
    let (mut module, mut function) = (0, 0);
    ok!(cuModuleLoadData(&mut module, INCREMENT.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut function, module, c"increment".as_ptr()));
    let params = [(&raw const at).cast::<c_void>()];
    ok!(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params.as_ptr(), std::ptr::null()));
    ok!(cuModuleUnload(module));
}

fn word(at: u64) -> u32 {
    let mut value = 0u32;
    ok!(cuMemcpyDtoH_v2((&raw mut value).cast(), at, 4));
    value
}

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    free
}

#[test]
fn test_memory_is_zeroed_counted_and_bounded() {
    let _one = context();
    let before = free_memory();
    let mut at = 0;
    ok!(cuMemAlloc_v2(&mut at, 8 << 20));
    assert_eq!(free_memory(), before - (8 << 20));
    assert_eq!(word(at + (4 << 20)), 0);
    fails!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut at.clone(), before));
    fails!(INVALID_VALUE, cuMemAlloc_v2(&mut at.clone(), 0));
    let value = 7u32;
    fails!(INVALID_VALUE, cuMemcpyHtoD_v2(at + (8 << 20) - 2, (&raw const value).cast(), 4));
    fails!(INVALID_VALUE, cuMemFree_v2(at + 4));
    ok!(cuMemFree_v2(at));
    fails!(INVALID_VALUE, cuMemFree_v2(at));
    assert_eq!(free_memory(), before);
    ok!(cuMemAllocAsync(&mut at, 4096, 0));
    ok!(cuMemFreeAsync(at, 0));
    ok!(cuCtxSynchronize());
    assert_eq!(free_memory(), before);
}

#[test]
fn test_virtual_memory_maps_at_fixed_addresses() {
    let _one = context();
    const WINDOW: u64 = 0x2000_0000_0000;
    const SIZE: usize = 2 << 20;
    let before = free_memory();
    let mut start = 0;
    ok!(cuMemAddressReserve(&mut start, 4 << 40, 0, WINDOW, 0));
    assert_eq!(start, WINDOW);
    // Pinned memory on device 0. The fields are allocation type, handle type, location type and
    // location id.
    let properties: [u64; 4] = [1, 1, 0, 0];
    let access: [c_int; 3] = [1, 0, 3];
    let mut handle = 0;
    ok!(cuMemCreate(&mut handle, SIZE, &properties, 0));
    assert_eq!(free_memory(), before - SIZE);
    let at = WINDOW + (64 << 20);
    ok!(cuMemMap(at, SIZE, 0, handle, 0));
    fails!(INVALID_VALUE, cuMemMap(at, SIZE, 0, handle, 0));
    let value = 41u32;
    fails!(INVALID_VALUE, cuMemcpyHtoD_v2(at, (&raw const value).cast(), 4));
    ok!(cuMemSetAccess(at, SIZE, &access, 1));
    ok!(cuMemcpyHtoD_v2(at, (&raw const value).cast(), 4));
    increment(at, 0);
    assert_eq!(word(at), 42);
    let mut again = 0;
    ok!(cuMemRetainAllocationHandle(&mut again, at));
    assert_eq!(again, handle);
    ok!(cuMemRelease(handle));
    ok!(cuMemUnmap(at, SIZE));
    // The physical memory still exists after `cuMemUnmap`, and can be mapped at another address.
    let other = WINDOW + (1 << 40);
    ok!(cuMemMap(other, SIZE, 0, handle, 0));
    ok!(cuMemSetAccess(other, SIZE, &access, 1));
    assert_eq!(word(other), 42);
    fails!(INVALID_VALUE, cuMemAddressFree(WINDOW, 4 << 40));
    ok!(cuMemRelease(handle));
    assert_eq!(free_memory(), before - SIZE);
    ok!(cuMemUnmap(other, SIZE));
    assert_eq!(free_memory(), before);
    fails!(INVALID_VALUE, cuMemRelease(handle));
    ok!(cuMemAddressFree(WINDOW, 4 << 40));
}

#[test]
fn test_registered_memory_has_its_own_address() {
    let _one = context();
    const PINNED: u64 = 0x3000_0000_0000;
    // SAFETY: with MAP_FIXED_NOREPLACE, mmap doesn't replace existing mappings.
    let memory = unsafe {
        libc::mmap(
            PINNED as *mut c_void,
            1 << 20,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    assert_eq!(memory as u64, PINNED);
    ok!(cuMemHostRegister_v2(memory, 1 << 20, 0));
    fails!(712, cuMemHostRegister_v2(memory, 4096, 0));
    let mut at = 0;
    ok!(cuMemHostGetDevicePointer_v2(&mut at, memory, 0));
    assert_eq!(at, PINNED);
    let mut kind = 0u32;
    ok!(cuPointerGetAttribute((&raw mut kind).cast(), 2, PINNED + 8));
    assert_eq!(kind, 1);
    increment(PINNED + 4096, 0);
    ok!(cuCtxSynchronize());
    // SAFETY: the test has mapped this memory.
    assert_eq!(unsafe { ((PINNED + 4096) as *const u32).read_volatile() }, 1);
    ok!(cuMemHostUnregister(memory));
    fails!(713, cuMemHostUnregister(memory));
    let nowhere = 0x3fff_0000_0000u64 as *mut c_void;
    fails!(INVALID_VALUE, cuMemHostRegister_v2(nowhere, 4096, 0));
}

#[test]
fn test_values_written_to_read_only_memory_fail_in_their_context() {
    const READ_ONLY: c_uint = 8;
    let _one = context();
    let mut own = 0;
    ok!(cuCtxCreate_v2(&mut own, 0, 0));
    let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: address 0 lets Linux choose an unused address.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    let mut at = 0;
    ok!(cuMemHostRegister_v2(page, 4096, READ_ONLY));
    ok!(cuMemHostGetDevicePointer_v2(&mut at, page, 0));
    ok!(cuStreamWriteValue32_v2(0, at, 7, 0));
    fails!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    ok!(cuCtxDestroy_v2(own));
}

#[test]
fn test_streams_wait_for_each_other_and_for_nothing_else() {
    let _one = context();
    let (mut blocking, mut free, mut event, mut flag, mut data) = (0, 0, 0, 0, 0);
    ok!(cuStreamCreate(&mut blocking, 0));
    ok!(cuStreamCreate(&mut free, 1));
    ok!(cuEventCreate(&mut event, 0));
    ok!(cuMemAlloc_v2(&mut flag, 4));
    ok!(cuMemAlloc_v2(&mut data, 128));
    // In the blocking stream, wait for the flag, then fill memory, and then record an event.
    ok!(cuStreamWaitValue32_v2(blocking, flag, 1, 0));
    ok!(cuMemsetD32Async(data, 5, 32, blocking));
    ok!(cuEventRecord(event, blocking));
    fails!(NOT_READY, cuStreamQuery(blocking));
    fails!(NOT_READY, cuEventQuery(event));
    // The null stream waits for the blocking stream, but not for the non-blocking stream `free`.
    ok!(cuMemsetD32Async(data + 64, 6, 1, 0));
    fails!(NOT_READY, cuStreamQuery(0));
    ok!(cuStreamQuery(free));
    ok!(cuMemsetD32Async(flag, 1, 1, free));
    ok!(cuStreamSynchronize(0));
    assert_eq!((word(data), word(data + 64)), (5, 6));
    ok!(cuEventSynchronize(event));
    // If a stream waits for an event that another stream records, the work of the two streams is
    // ordered.
    ok!(cuMemsetD32Async(flag, 0, 1, free));
    ok!(cuStreamSynchronize(free));
    ok!(cuStreamWaitValue32_v2(blocking, flag, 1, 0));
    ok!(cuMemsetD32Async(data, 8, 1, blocking));
    ok!(cuEventRecord(event, blocking));
    let mut late = 0;
    ok!(cuStreamCreate(&mut late, 1));
    ok!(cuStreamWaitEvent(late, event, 0));
    ok!(cuMemsetD32Async(data, 9, 1, late));
    fails!(NOT_READY, cuStreamQuery(late));
    ok!(cuMemsetD32Async(flag, 1, 1, free));
    ok!(cuStreamSynchronize(late));
    assert_eq!(word(data), 9);
    for stream in [blocking, free, late] {
        ok!(cuStreamDestroy_v2(stream));
        fails!(INVALID_HANDLE, cuStreamDestroy_v2(stream));
    }
    ok!(cuMemFree_v2(flag));
    ok!(cuMemFree_v2(data));
}

#[test]
fn test_host_functions_and_events_keep_order() {
    let _one = context();
    extern "C" fn add(data: *mut c_void) {
        std::thread::sleep(std::time::Duration::from_millis(2));
        // SAFETY: the test passes the address of a word, and doesn't access the word before the
        // stream is done.
        unsafe { *data.cast::<u32>() += 1 };
    }
    let (mut start, mut end) = (0, 0);
    ok!(cuEventCreate(&mut start, 0));
    ok!(cuEventCreate(&mut end, 0));
    let mut count = 0u32;
    ok!(cuEventRecord(start, 0));
    for _ in 0..3 {
        ok!(cuLaunchHostFunc(0, add, (&raw mut count).cast()));
    }
    ok!(cuEventRecord(end, 0));
    ok!(cuEventSynchronize(end));
    assert_eq!(count, 3);
    let mut milliseconds = 0f32;
    ok!(cuEventElapsedTime(&mut milliseconds, start, end));
    assert!((5.9..5000.0).contains(&milliseconds), "{milliseconds}");
}

#[test]
fn test_invalid_images_are_refused() {
    let _one = context();
    let mut module = 0;
    for image in [&b"rubbish\0"[..], b"\0", b"\x7fELF\0", b".version\0"] {
        // SAFETY: the image is null-terminated.
        assert_ne!(unsafe { cuModuleLoadData(&mut module, image.as_ptr().cast()) }, 0);
    }
    // Fatbins whose headers are valid, but whose contents of several lengths are garbage.
    for length in [0u64, 16, 64, 1000] {
        let mut fatbin = vec![0u8; 16 + 1024];
        fatbin[..4].copy_from_slice(&0xba55_ed50u32.to_le_bytes());
        fatbin[4..8].copy_from_slice(&[1, 0, 16, 0]);
        fatbin[8..16].copy_from_slice(&length.to_le_bytes());
        for (i, byte) in fatbin[16..].iter_mut().enumerate() {
            *byte = (i as u8).wrapping_mul(37) ^ length as u8;
        }
        // SAFETY: the buffer is at least as long as the header says.
        assert_ne!(unsafe { cuModuleLoadData(&mut module, fatbin.as_ptr().cast()) }, 0);
    }
    fails!(INVALID_HANDLE, cuModuleUnload(0x1234_5678));
}

#[test]
fn test_names_and_entry_points() {
    let _one = context();
    let mut name = std::ptr::null();
    ok!(cuGetErrorName(700, &mut name));
    // SAFETY: the library returned a static, null-terminated string.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    let (mut found, mut status) = (std::ptr::null(), 9);
    ok!(cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &mut found, 12000, 0, &mut status));
    assert_eq!((found, status), (cuMemAlloc_v2 as *const c_void, 0));
    // softgpu exports a stub for every function of NVIDIA's driver that it doesn't implement, so
    // this lookup succeeds.
    ok!(cuGetProcAddress_v2(c"cuGraphCreate".as_ptr(), &mut found, 12000, 0, &mut status));
    assert!(!found.is_null());
    ok!(cuGetProcAddress_v2(c"cuNothing".as_ptr(), &mut found, 12000, 0, &mut status));
    assert!(found.is_null() && status == 1);
}

#[test]
fn test_child_after_fork_is_not_initialized() {
    let _one = context();
    // SAFETY: the child calls only functions that return immediately in a forked child, and then
    // exits.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let mut count = 0;
            let refused = cuDeviceGetCount(&mut count) == NOT_INITIALIZED
                && cuInit(0) == NOT_INITIALIZED
                && cuCtxSynchronize() == NOT_INITIALIZED;
            libc::_exit(i32::from(!refused));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0);
    }
}
