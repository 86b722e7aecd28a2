//! The tables and their functions. Each comment says what has been observed about a table or
//! function.

use super::driver::{DeviceIdentity, driver};
use super::memory::copied;
use super::names::{
    COMPILER_CACHE, CONTEXT_CHECKS, CONTEXT_LOCAL_STORAGE, CUDART_INTERFACE, INTEGRITY_CHECK,
    TOOLS_CONTEXT, TOOLS_MODULE, TOOLS_RUNTIME_CALLBACK_HOOKS, TOOLS_TLS, TPC_TABLES,
};
use super::slots::Table;
use super::{compiler_cache, context_storage, integrity};
use crate::sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUresult, CUstream};
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};

/// Every cudart requests this table and does not start without it.
static CUDART: Table<13> = Table::sized::<CUDART_INTERFACE>(&[
    (2, primary_context as *const c_void),
    (12, load_compilers as *const c_void),
]);

/// Every cudart requests this table and does not start without it.
static RUNTIME_CALLBACKS: Table<7> = Table::sized::<TOOLS_RUNTIME_CALLBACK_HOOKS>(&[
    (2, api_callback_flags as *const c_void),
    (6, resource_callback_flags as *const c_void),
]);

/// Every cudart requests this table, and cuBLAS calls one of its functions.
static TLS: Table<3> = Table::sized::<TOOLS_TLS>(&[(2, current_context as *const c_void)]);

/// cudart calls functions of this table in almost every runtime call. It is the only table without
/// a size word.
static STORAGE: Table<3> = Table::unsized_::<CONTEXT_LOCAL_STORAGE>(&[
    (0, storage_put as *const c_void),
    (1, storage_delete as *const c_void),
    (2, storage_get as *const c_void),
]);

/// When cudart starts, it calls this table's function three times to check that it can trust the
/// driver.
static INTEGRITY: Table<3> =
    Table::sized::<INTEGRITY_CHECK>(&[(1, integrity_check as *const c_void)]);

/// cudart 13 requests this table and does not start without it.
static CHECKS: Table<15> = Table::sized::<CONTEXT_CHECKS>(&[
    (2, context_check as *const c_void),
    (3, context_check_3 as *const c_void),
]);

/// cudart 13.4 and newer request this table and do not start without it. cuBLAS calls some of its
/// functions.
static CONTEXT: Table<93> = Table::sized::<TOOLS_CONTEXT>(&[
    (4, context_id as *const c_void),
    (39, stream_object_id as *const c_void),
    (51, stream_object as *const c_void),
]);

/// cuFFT calls one of this table's functions.
static MODULE: Table<99> = Table::sized::<TOOLS_MODULE>(&[(7, module_functions as *const c_void)]);

/// cuBLAS requests this table for matrix products of half-precision numbers on Hopper, and calls
/// its functions without checking whether the driver has the table.
static TPCS: Table<17> = Table::sized::<TPC_TABLES>(&[
    (4, tpc_arrays as *const c_void),
    (13, free_tpc_arrays as *const c_void),
]);

/// NVRTC and nvJitLink request this table, and compile without a cache if they don't get it.
static CACHE: Table<7> = Table::sized::<COMPILER_CACHE>(&[
    (1, compiler_cache::create_key as *const c_void),
    (2, compiler_cache::destroy_key as *const c_void),
    (3, compiler_cache::look_up as *const c_void),
    (4, compiler_cache::add as *const c_void),
    (6, compiler_cache::free_data as *const c_void),
]);

/// Returns the bytes of a UUID. `written` has the UUID's hexadecimal digits in their usual order.
pub const fn uuid(written: u128) -> [u8; 16] {
    written.to_be_bytes()
}

/// The UUID of the table with the arrays of [`tpc_arrays`], in hexadecimal.
pub const TPC_TABLES_UUID: u128 = 0x1734DC26_800D_4745_8726_C0F1E7DD8BCA;

/// Returns the table with this UUID, or `None` if the request must be refused.
pub fn find(wanted: &[u8; 16]) -> Option<*const c_void> {
    let tables = [
        (uuid(0x6BD5FB6C_5BF4_E74A_8987_D93912FD9DF9), CUDART.address()),
        (uuid(0xA094798C_2E74_2E74_93F2_0800200C0A66), RUNTIME_CALLBACKS.address()),
        (uuid(0x42D85A81_23F6_CB47_8298_F6E78A3AECDC), TLS.address()),
        (uuid(0xC693336E_1121_DF11_A8C3_68F355D89593), STORAGE.address()),
        (uuid(0xD4082055_BDE6_704B_8D34_BA123C66E1F2), INTEGRITY.address()),
        (uuid(0x263E8860_7CD2_6143_92F6_BBD5006DFA7E), CHECKS.address()),
        (uuid(0x21318C60_9714_3248_8CA6_41FF7324C8F2), CONTEXT.address()),
        (uuid(0x6E163FBE_B958_444D_835C_E182AFF1991E), MODULE.address()),
        (uuid(TPC_TABLES_UUID), TPCS.address()),
        (uuid(0xDA9151D3_3AE6_CC41_A5C0_4F26D533E328), CACHE.address()),
    ];
    tables.iter().find(|(uuid, _)| uuid == wanted).map(|&(_, table)| table)
}

/// Stores a successful result in `*out`, and returns the `CUresult` for the caller. Null is an
/// error.
///
/// # Safety
/// `out` must be null or writable.
unsafe fn store<T>(out: *mut T, result: Result<T, CUresult>) -> CUresult {
    match result {
        Err(error) => error,
        Ok(_) if out.is_null() => CUresult::CUDA_ERROR_INVALID_VALUE,
        Ok(value) => {
            // SAFETY: the pointer is not null, so the caller promises that it's writable.
            unsafe { out.write(value) };
            CUresult::CUDA_SUCCESS
        }
    }
}

/// Returns `given`, or the calling thread's context if it is null.
fn or_current(given: CUcontext) -> Result<CUcontext, CUresult> {
    let context = if given.is_null() { driver().current_context() } else { given };
    if context.is_null() { Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) } else { Ok(context) }
}

/// CUDART_INTERFACE[2]: returns the handle of a device's primary context without retaining it.
unsafe extern "C" fn primary_context(out: *mut CUcontext, device: CUdevice) -> CUresult {
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, driver().primary_context(device)) }
}

/// CUDART_INTERFACE[12]: a shared cudart, version 13.1 or newer, calls this to load the driver's
/// compilers. This library has no compilers: the worker's driver compiles PTX, so there is nothing
/// to load.
extern "C" fn load_compilers() -> CUresult {
    CUresult::CUDA_SUCCESS
}

/// Words that a profiling tool would set to get callbacks from cudart. Here they are never set.
#[repr(transparent)]
struct Flags<const WORDS: usize>(UnsafeCell<[u32; WORDS]>);

// SAFETY: this library never accesses the words; the libraries that get their address synchronize
// among themselves.
unsafe impl<const WORDS: usize> Sync for Flags<WORDS> {}

impl<const WORDS: usize> Flags<WORDS> {
    /// Stores the address and the number of the words.
    ///
    /// # Safety
    ///
    /// Each pointer must be null or writable.
    unsafe fn give(&self, flags: *mut *mut c_void, count: *mut usize) {
        if !flags.is_null() {
            // SAFETY: the pointer is not null, so the caller promises that it's writable.
            unsafe { flags.write(self.0.get().cast()) };
        }
        if !count.is_null() {
            // SAFETY: the pointer is not null, so the caller promises that it's writable.
            unsafe { count.write(WORDS) };
        }
    }
}

static API_FLAGS: Flags<1024> = Flags(UnsafeCell::new([0; 1024]));
static RESOURCE_FLAGS: Flags<14> = Flags(UnsafeCell::new([0; 14]));

/// TOOLS_RUNTIME_CALLBACK_HOOKS[2]: returns an array of flags, one word per runtime function.
unsafe extern "C" fn api_callback_flags(flags: *mut *mut c_void, count: *mut usize) {
    // SAFETY: a library passes pointers that are null or may be written.
    unsafe { API_FLAGS.give(flags, count) };
}

/// TOOLS_RUNTIME_CALLBACK_HOOKS[6]: returns a second array of flags, which has 14 words in NVIDIA's
/// driver.
unsafe extern "C" fn resource_callback_flags(flags: *mut *mut c_void, count: *mut usize) {
    // SAFETY: a library passes pointers that are null or may be written.
    unsafe { RESOURCE_FLAGS.give(flags, count) };
}

/// TOOLS_TLS[2]: returns the calling thread's context.
unsafe extern "C" fn current_context(out: *mut CUcontext) -> CUresult {
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, Ok(driver().current_context())) }
}

/// CONTEXT_LOCAL_STORAGE[0]: stores a value for a context and a key that has no value yet. A null
/// `context` means the current context. The destructor is called when the context is destroyed.
extern "C" fn storage_put(
    context: CUcontext,
    key: *mut c_void,
    value: *mut c_void,
    destructor: Option<context_storage::Destructor>,
) -> CUresult {
    match or_current(context) {
        Ok(context) if context_storage::put(context, key, value, destructor) => {
            CUresult::CUDA_SUCCESS
        }
        Ok(_) => CUresult::CUDA_ERROR_INVALID_HANDLE,
        Err(error) => error,
    }
}

/// CONTEXT_LOCAL_STORAGE[1]: removes a value without calling its destructor, since the caller frees
/// the value itself.
extern "C" fn storage_delete(context: CUcontext, key: *mut c_void) -> CUresult {
    match or_current(context) {
        Ok(context) if context_storage::delete(context, key) => CUresult::CUDA_SUCCESS,
        Ok(_) => CUresult::CUDA_ERROR_INVALID_HANDLE,
        Err(error) => error,
    }
}

/// CONTEXT_LOCAL_STORAGE[2]: returns the value for a context and a key. If this returns any error,
/// cudart assumes that there is no value yet, and stores one.
unsafe extern "C" fn storage_get(
    out: *mut *mut c_void,
    context: CUcontext,
    key: *mut c_void,
) -> CUresult {
    let value = or_current(context).and_then(|context| {
        context_storage::get(context, key).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    });
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, value) }
}

/// INTEGRITY_CHECK[1]: see [`integrity`].
unsafe extern "C" fn integrity_check(
    cudart_version: u32,
    unix_seconds: u64,
    out: *mut [u64; 2],
) -> CUresult {
    let answer = |devices: Vec<DeviceIdentity>| {
        integrity::answer(&integrity::Question {
            driver_version: driver().driver_version(),
            cudart_version,
            unix_seconds,
            cudart_table: CUDART.address(),
            integrity_table: INTEGRITY.address(),
            integrity_function: INTEGRITY.slot(1),
            devices: &devices,
        })
    };
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, driver().device_identities().map(answer)) }
}

/// CONTEXT_CHECKS[2]: returns flag bits for a context. NVIDIA's driver has never been observed to
/// set any.
unsafe extern "C" fn context_check(
    _context: CUcontext,
    bits: *mut u32,
    _detail: *mut *const c_void,
) -> CUresult {
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(bits, Ok(0)) }
}

/// CONTEXT_CHECKS[3]: NVIDIA's driver has only been observed to return 0.
extern "C" fn context_check_3() -> u32 {
    0
}

/// ToolsContext[4]: returns the id of a context, as `cuCtxGetId` does, or 0 for null.
unsafe extern "C" fn context_id(context: CUcontext, out: *mut u64) -> CUresult {
    let id = if context.is_null() { Ok(0) } else { driver().context_id(context) };
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, id) }
}

/// ToolsContext[51]: returns an object that represents a stream, for use with ToolsContext[39].
/// Here the object is the stream's own handle. The null stream becomes CU_STREAM_LEGACY, which
/// means the same.
unsafe extern "C" fn stream_object(
    _context: CUcontext,
    stream: CUstream,
    out: *mut CUstream,
) -> CUresult {
    const CU_STREAM_LEGACY: usize = 1;
    let object =
        if stream.is_null() { core::ptr::without_provenance_mut(CU_STREAM_LEGACY) } else { stream };
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, Ok(object)) }
}

/// ToolsContext[39]: returns the id of the stream that an object from ToolsContext[51] represents,
/// as `cuStreamGetId` does.
unsafe extern "C" fn stream_object_id(
    _context: CUcontext,
    object: CUstream,
    out: *mut u64,
) -> CUresult {
    let id = if object.is_null() {
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    } else {
        driver().stream_id(object)
    };
    // SAFETY: a library passes a pointer that is null or may be written.
    unsafe { store(out, id) }
}

/// The callback of ToolsModule[7]. Its arguments are the caller's pointer, a kernel, and the
/// kernel's name.
type FunctionCallback = unsafe extern "C" fn(*mut c_void, CUfunction, *const c_char);

/// ToolsModule[7]: calls a function once per kernel in a module, ignoring any result of the
/// function, and returns the number of kernels.
unsafe extern "C" fn module_functions(
    _context: CUcontext,
    module: CUmodule,
    callback: Option<FunctionCallback>,
    user: *mut c_void,
) -> usize {
    let Ok(functions) = driver().module_functions(module) else { return 0 };
    for &(function, name) in &functions {
        if let Some(callback) = callback {
            // SAFETY: the caller provided the function to be called with this argument.
            unsafe { callback(user, function, name) };
        }
    }
    functions.len()
}

/// 1734DC26[4]: returns two arrays with one byte for each texture processing cluster of the current
/// context's GPU. The caller passes them to 1734DC26[13] later.
unsafe extern "C" fn tpc_arrays(first: *mut *mut u8, second: *mut *mut u8) -> CUresult {
    if first.is_null() || second.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    match driver().tpc_tables() {
        Ok([a, b]) => {
            // SAFETY: the pointers are not null, and the library passes memory for two pointers.
            unsafe {
                first.write(copied(&a));
                second.write(copied(&b));
            }
            CUresult::CUDA_SUCCESS
        }
        Err(error) => error,
    }
}

/// 1734DC26[13]: frees the arrays that 1734DC26[4] returned.
unsafe extern "C" fn free_tpc_arrays(first: *mut u8, second: *mut u8) -> CUresult {
    // SAFETY: the library passes each array that it got from `tpc_arrays` once. The arrays were
    // allocated with malloc, or are null.
    unsafe {
        libc::free(first.cast());
        libc::free(second.cast());
    }
    CUresult::CUDA_SUCCESS
}
