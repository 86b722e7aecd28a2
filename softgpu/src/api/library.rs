//! Libraries and their kernels.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::sys::{CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule};

use super::module::{Logs, attribute, image, parameter, set_attribute};
use super::{Answer, CUresult, cuda, put, put_if, text};
use crate::state::context::{Context, current};
use crate::state::device::driver;
use crate::state::module::{
    KERNELS, LIBRARIES, Library, LibraryKernel, function_of, parse, unload_library,
};
use crate::state::primary;

fn library(handle: CUlibrary) -> Result<Arc<Library>, CUresult> {
    driver()?;
    LIBRARIES.get(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

fn kernel(handle: CUkernel) -> Result<Arc<LibraryKernel>, CUresult> {
    driver()?;
    KERNELS.get(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// A device's primary context, for calls that name a device.
fn primary(device: c_int) -> Result<Arc<Context>, CUresult> {
    Ok(primary::of(device)?.context.clone())
}

/// The kernel's name as a C string. It is never freed, since programs keep the pointer.
fn kept_name(name: &str) -> Result<*const c_char, CUresult> {
    static NAMES: Mutex<Vec<&'static CString>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = names.iter().find(|n| n.as_bytes() == name.as_bytes()) {
        return Ok(found.as_ptr());
    }
    let name = CString::new(name).map_err(|_| CUresult::CUDA_ERROR_UNKNOWN)?;
    let name: &'static CString = Box::leak(Box::new(name));
    names.push(name);
    Ok(name.as_ptr())
}

fn variable(
    to: *mut CUdeviceptr,
    size: *mut usize,
    handle: CUlibrary,
    name: *const c_char,
) -> Answer {
    let context = current()?;
    let found = library(handle)?.module(&context)?.variable(&text(name)?);
    let (address, bytes) = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
    put_if(to, address);
    put_if(size, bytes as usize);
    Ok(())
}

cuda! {
    fn cuLibraryLoadData(
        to: *mut CUlibrary,
        at: *const c_void,
        jit_options: *const c_uint,
        jit_values: *mut *mut c_void,
        jit_count: c_uint,
        _options: *const c_uint,
        _values: *mut *mut c_void,
        _count: c_uint,
    ) {
        driver()?;
        let logs = Logs::new(jit_count, jit_options, jit_values);
        put(to, logs.tell(image(at).and_then(Library::load))? as CUlibrary)
    }

    fn cuLibraryLoadFromFile(
        to: *mut CUlibrary,
        path: *const c_char,
        jit_options: *const c_uint,
        jit_values: *mut *mut c_void,
        jit_count: c_uint,
        _options: *const c_uint,
        _values: *mut *mut c_void,
        _count: c_uint,
    ) {
        driver()?;
        let logs = Logs::new(jit_count, jit_options, jit_values);
        let bytes = std::fs::read(text(path)?).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        put(to, logs.tell(parse(&bytes).and_then(Library::load))? as CUlibrary)
    }

    fn cuLibraryUnload(handle: CUlibrary) {
        driver()?;
        unload_library(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    fn cuLibraryGetKernel(to: *mut CUkernel, handle: CUlibrary, name: *const c_char) {
        let found = library(handle)?.kernel(&text(name)?);
        put(to, found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)? as CUkernel)
    }

    fn cuLibraryGetKernelCount(to: *mut c_uint, handle: CUlibrary) {
        put(to, library(handle)?.kernel_names().len() as c_uint)
    }

    fn cuLibraryEnumerateKernels(to: *mut CUkernel, count: c_uint, handle: CUlibrary) {
        let library = library(handle)?;
        for (i, name) in library.kernel_names().iter().take(count as usize).enumerate() {
            let found = library.kernel(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            put(to.wrapping_add(i), found as CUkernel)?;
        }
        Ok(())
    }

    fn cuLibraryGetModule(to: *mut CUmodule, handle: CUlibrary) {
        let context = current()?;
        put(to, library(handle)?.module(&context)?.handle as CUmodule)
    }

    fn cuLibraryGetGlobal(to: *mut CUdeviceptr, size: *mut usize, handle: CUlibrary, name: *const c_char) {
        variable(to, size, handle, name)
    }

    fn cuLibraryGetManaged(
        _to: *mut CUdeviceptr,
        _size: *mut usize,
        handle: CUlibrary,
        _name: *const c_char,
    ) {
        // Modules with managed variables are refused.
        library(handle)?;
        Err(CUresult::CUDA_ERROR_NOT_FOUND)
    }

    fn cuLibraryGetUnifiedFunction(_to: *mut *mut c_void, handle: CUlibrary, _symbol: *const c_char) {
        library(handle)?;
        Err(CUresult::CUDA_ERROR_NOT_FOUND)
    }

    fn cuKernelGetFunction(to: *mut CUfunction, handle: CUkernel) {
        let kernel = kernel(handle)?;
        let context = current()?;
        let module = LIBRARIES
            .get(kernel.library)
            .ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?
            .module(&context)?;
        let found = module.function(&kernel.name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        put(to, found as CUfunction)
    }

    fn cuKernelGetLibrary(to: *mut CUlibrary, handle: CUkernel) {
        put(to, kernel(handle)?.library as CUlibrary)
    }

    fn cuKernelGetName(to: *mut *const c_char, handle: CUkernel) {
        put(to, kept_name(&kernel(handle)?.name)?)
    }

    fn cuKernelGetAttribute(to: *mut c_int, which: c_uint, handle: CUkernel, device: c_int) {
        kernel(handle)?;
        let function = function_of(handle as usize, || primary(device))?;
        put(to, attribute(&function, which)?)
    }

    fn cuKernelSetAttribute(which: c_uint, value: c_int, handle: CUkernel, device: c_int) {
        kernel(handle)?;
        set_attribute(&*function_of(handle as usize, || primary(device))?, which, value)
    }

    fn cuKernelSetCacheConfig(handle: CUkernel, _config: c_uint, device: c_int) {
        driver()?.device(device)?;
        kernel(handle).map(drop)
    }

    fn cuKernelGetParamInfo(handle: CUkernel, n: usize, to: *mut usize, size: *mut usize) {
        kernel(handle)?;
        // The layout is the same in every context. A context is needed only to load the code.
        let function = function_of(handle as usize, || current().or_else(|_| primary(0)))?;
        parameter(&function, n, to, size)
    }
}
