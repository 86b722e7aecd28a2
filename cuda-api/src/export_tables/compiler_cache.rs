//! The table through which NVRTC and nvJitLink use the driver's cache for compiled code. Before a
//! compiler compiles code, it creates a key from the code and looks for an entry with that key. If
//! there is none, it compiles the code and adds the result. Then it destroys the key.
//!
//! The functions and their arguments were observed by logging the calls of NVRTC and nvJitLink 13.0
//! to driver 580. NVRTC 12.9 and 13.5 pass the same arguments; versions before 12.9 don't request
//! the table. NVRTC's option `--enable-cache-trace` shows whether the cache works.
//!
//! For devices that execute PTX, the cache answers requests for machine code with PTX, even if it's
//! disabled; see [`super::instead`].

use super::driver::driver;
use super::instead::Results;
use super::memory::copied;
use crate::compute_cache::files::ComputeCache;
use crate::compute_cache::settings::Settings;
use crate::ptx_image::Linking;
use crate::sys::CUresult;
use core::ffi::{CStr, c_char, c_void};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The cache, or `None` if it's disabled.
static CACHE: LazyLock<Option<ComputeCache>> =
    LazyLock::new(|| Settings::read(|name| std::env::var_os(name)).map(ComputeCache::new));

/// The keys that libraries have created. A key's number is the pointer that the library gets, so
/// that a pointer that isn't a key can be refused.
static KEYS: Mutex<Keys> = Mutex::new(Keys { last: 0, keys: BTreeMap::new() });

struct Keys {
    last: usize,
    keys: BTreeMap<usize, Arc<Key>>,
}

/// The value of `kind` for compiling to PTX. All other values are for machine code.
const TO_PTX: u32 = 2;

struct Key {
    kind: u32,
    /// The compute capability, and whether the result will be linked.
    target: (u32, Linking),
    /// The key under which the cache stores the entry.
    bytes: Vec<u8>,
    /// The offset in `bytes` at which the code begins. The code is the last part of the key.
    code: usize,
}

impl Key {
    fn code(&self) -> &[u8] {
        &self.bytes[self.code..]
    }
}

/// The results of NVRTC's first step, for devices that execute PTX.
static RESULTS: Results = Results::new();

/// The pointer by which a library refers to a key.
type KeyHandle = *mut c_void;

fn keys() -> MutexGuard<'static, Keys> {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(handle: KeyHandle) -> Result<Arc<Key>, CUresult> {
    keys().keys.get(&handle.addr()).cloned().ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

fn status(result: Result<(), CUresult>) -> CUresult {
    result.err().unwrap_or(CUresult::CUDA_SUCCESS)
}

/// Appends a part of a key, with its length, so that different parts always make different keys.
fn append(key: &mut Vec<u8>, part: &[u8]) {
    key.extend_from_slice(&(part.len() as u64).to_le_bytes());
    key.extend_from_slice(part);
}

/// Returns the bytes of a string. Null is the same as an empty string.
///
/// # Safety
/// The string must be null or end with a null byte, and stay unchanged while the result is used.
unsafe fn string<'a>(string: *const c_char) -> &'a [u8] {
    // SAFETY: the pointer is not null, and the caller promises that the string ends with a null
    // byte.
    if string.is_null() { &[] } else { unsafe { CStr::from_ptr(string) }.to_bytes() }
}

/// DA9151D3[1]: creates a key and stores it in `*out`. `kind` is 1 for compiling to a cubin, 2 for
/// compiling to PTX, and 3 for completing a cubin for a GPU that is newer than Hopper.
/// `architecture` is the compute capability, such as 90, and `variant` is 1 for an architecture
/// such as sm_90a. If the cache is disabled, NVIDIA's driver returns CUDA_ERROR_NOT_INITIALIZED.
pub unsafe extern "C" fn create_key(
    out: *mut KeyHandle,
    kind: u32,
    code: *const u8,
    code_bytes: usize,
    options: *const c_char,
    host: *const c_char,
    compiler_build: *const c_char,
    architecture: u32,
    variant: u32,
) -> CUresult {
    let executes_ptx = driver().executes_ptx();
    if CACHE.is_none() && !executes_ptx {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    if out.is_null() || code.is_null() || code_bytes > isize::MAX as usize {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    let mut key = Vec::new();
    if executes_ptx {
        // A link with link-time optimization leaves PTX in place of machine code in the cache. A
        // program that shares the directory but uses a GPU expects machine code, so its key
        // differs.
        append(&mut key, b"PTX");
    }
    for number in [kind, architecture, variant] {
        key.extend_from_slice(&number.to_le_bytes());
    }
    // SAFETY: the library passes C strings or null, and code of `code_bytes` bytes. The code's
    // address isn't null and its length is at most `isize::MAX`, as checked above.
    let is_linked = unsafe {
        append(&mut key, string(compiler_build));
        append(&mut key, string(host));
        append(&mut key, string(options));
        append(&mut key, core::slice::from_raw_parts(code, code_bytes));
        // `-c` is the option for relocatable code, which will be linked.
        string(options).split(|byte| *byte == b' ').any(|option| option == b"-c")
    };
    let linking = if is_linked { Linking::Input } else { Linking::Complete };
    let code = key.len() - code_bytes;
    let mut keys = keys();
    keys.last += 1;
    let number = keys.last;
    keys.keys
        .insert(number, Arc::new(Key { kind, target: (architecture, linking), bytes: key, code }));
    // SAFETY: the pointer is not null, and the library passes memory for a key.
    unsafe { out.write(core::ptr::without_provenance_mut(number)) };
    CUresult::CUDA_SUCCESS
}

/// DA9151D3[2]: destroys a key.
pub extern "C" fn destroy_key(handle: KeyHandle) -> CUresult {
    let removed = keys().keys.remove(&handle.addr());
    status(removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE))
}

/// DA9151D3[3]: returns a copy of a key's entry, or CUDA_ERROR_NOT_FOUND. NVRTC returns the copy to
/// [`free_data`]; nvJitLink frees it itself.
pub unsafe extern "C" fn look_up(
    handle: KeyHandle,
    _flags: usize,
    data: *mut *mut u8,
    data_bytes: *mut u32,
) -> CUresult {
    if data.is_null() || data_bytes.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    let find = || {
        let key = key(handle)?;
        let executes_ptx = driver().executes_ptx();
        let found = if executes_ptx && key.kind != TO_PTX {
            RESULTS.find(key.code(), key.target)
        } else {
            CACHE.as_ref().and_then(|cache| cache.get(&key.bytes)).inspect(|found| {
                if executes_ptx {
                    RESULTS.keep(key.code(), found);
                }
            })
        };
        let found = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let bytes = u32::try_from(found.len()).map_err(|_| CUresult::CUDA_ERROR_NOT_FOUND)?;
        let copy = copied(&found);
        if copy.is_null() { Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) } else { Ok((copy, bytes)) }
    };
    status(find().map(|(copy, bytes)| {
        // SAFETY: the pointers are not null, and the library passes memory for the entry's address
        // and length.
        unsafe {
            data.write(copy);
            data_bytes.write(bytes);
        }
    }))
}

/// DA9151D3[4]: adds an entry. If it can't be kept, the compiler continues without it.
pub unsafe extern "C" fn add(
    handle: KeyHandle,
    _flags: usize,
    data: *const u8,
    data_bytes: usize,
) -> CUresult {
    if data.is_null() || data_bytes > u32::MAX as usize {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: the pointer is not null, and the library passes `data_bytes` bytes of data.
    let data = unsafe { core::slice::from_raw_parts(data, data_bytes) };
    let keep = || {
        let key = key(handle)?;
        if driver().executes_ptx() {
            if key.kind != TO_PTX {
                return Ok(());
            }
            RESULTS.keep(key.code(), data);
        }
        let Some(cache) = &*CACHE else { return Ok(()) };
        cache.add(&key.bytes, data).map_err(|_| CUresult::CUDA_ERROR_OPERATING_SYSTEM)
    };
    status(keep())
}

/// DA9151D3[6]: frees the copy that [`look_up`] returned.
pub unsafe extern "C" fn free_data(data: *mut c_void) -> CUresult {
    // SAFETY: the library passes each copy that it got from `look_up` once. It was allocated with
    // malloc.
    unsafe { libc::free(data) };
    CUresult::CUDA_SUCCESS
}
