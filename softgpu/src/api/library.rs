//! Entry points for libraries and their kernels.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::args::{In, Out, Text, check_handle};
use cuda_api::error::{CuError, CuResult};
use cuda_api::fatbin::{self, ELF_MAGIC};
use cuda_api::library_options;
use cuda_api::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUjit_option, CUkernel, CUlibrary,
    CUlibraryOption, CUmodule,
};

use super::entry::entries;
use super::jit::Jit;
use super::module::{attribute, image, parameter, set_attribute};
use crate::ptx::source::Source;
use crate::state::context::{Context, current};
use crate::state::device::driver;
use crate::state::image::{LoadError, parse};
use crate::state::module::{
    KERNELS, LIBRARIES, Library, LibraryKernel, Place, function_of, unload_library,
};
use crate::state::primary;

fn library(handle: CUlibrary) -> CuResult<Arc<Library>> {
    driver()?;
    LIBRARIES.get(handle as usize).ok_or(CuError::INVALID_HANDLE)
}

fn kernel(handle: CUkernel) -> CuResult<Arc<LibraryKernel>> {
    driver()?;
    KERNELS.get(handle as usize).ok_or(CuError::INVALID_HANDLE)
}

/// Returns a device's primary context, for calls with a device argument.
fn primary(device: c_int) -> CuResult<Arc<Context>> {
    Ok(primary::of(device)?.context.clone())
}

/// Returns a kernel's name as a C string that is never freed, because programs may keep the
/// pointer.
fn kept_name(name: &str) -> CuResult<*const c_char> {
    static NAMES: Mutex<Vec<&'static CString>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = names.iter().find(|n| n.as_bytes() == name.as_bytes()) {
        return Ok(found.as_ptr());
    }
    let name = CString::new(name).map_err(|_| CuError::UNKNOWN)?;
    let name: &'static CString = Box::leak(Box::new(name));
    names.push(name);
    Ok(name.as_ptr())
}

fn store(to: Out<CUdeviceptr>, size: Out<usize>, found: Option<Place>) -> CuResult {
    let place = found.ok_or(CuError::NOT_FOUND)?;
    to.set_if_wanted(place.address);
    size.set_if_wanted(place.size as usize);
    Ok(())
}

fn variable(to: Out<CUdeviceptr>, size: Out<usize>, handle: CUlibrary, name: Text) -> CuResult {
    let context = current()?;
    let found = library(handle)?.module(&context)?.variable(name.name()?);
    store(to, size, found)
}

/// Loads a library from a parsed image. If the image is damaged, the log says so, but the call
/// succeeds.
fn load(
    to: Out<CUlibrary>,
    parsed: Result<Source, LoadError>,
    is_elf: bool,
    jit: &Jit,
) -> CuResult {
    let (handle, damage) = match Library::load(parsed, is_elf) {
        Ok(loaded) => loaded,
        Err(error) => return jit.report(Err(error)),
    };
    let _ = jit.report(damage);
    to.set(handle as CUlibrary)
}

entries! {
    fn cuLibraryLoadData(
        to: Out<CUlibrary>,
        at: *const c_void,
        jit_options: In<CUjit_option>,
        jit_values: In<usize>,
        jit_count: c_uint,
        options: In<CUlibraryOption>,
        _values: In<usize>,
        count: c_uint,
    ) {
        driver()?;
        // SAFETY: the program passes arrays of `jit_count` elements that describe its buffers.
        let jit = unsafe { Jit::new(jit_count, jit_options, jit_values) }?;
        // SAFETY: the program passes an array of `count` elements.
        unsafe { library_options::check(options, count, false) }?;
        // SAFETY: the program passes the address of an image.
        let (source, is_elf) = unsafe { (image(at), !at.is_null() && fatbin::is_elf(at)) };
        load(to, source, is_elf, &jit)
    }

    fn cuLibraryLoadFromFile(
        to: Out<CUlibrary>,
        path: Text,
        jit_options: In<CUjit_option>,
        jit_values: In<usize>,
        jit_count: c_uint,
        options: In<CUlibraryOption>,
        _values: In<usize>,
        count: c_uint,
    ) {
        driver()?;
        // SAFETY: the program passes arrays of `jit_count` elements that describe its buffers.
        let jit = unsafe { Jit::new(jit_count, jit_options, jit_values) }?;
        // SAFETY: the program passes an array of `count` elements.
        unsafe { library_options::check(options, count, true) }?;
        let bytes = std::fs::read(path.name()?).map_err(|_| CuError::FILE_NOT_FOUND)?;
        if bytes.is_empty() {
            return Err(CuError::INVALID_IMAGE);
        }
        load(to, parse(&bytes), bytes.starts_with(&ELF_MAGIC), &jit)
    }

    fn cuLibraryUnload(handle: CUlibrary) {
        driver()?;
        unload_library(handle as usize).ok_or(CuError::INVALID_HANDLE)
    }

    fn cuLibraryGetKernel(to: Out<CUkernel>, handle: CUlibrary, name: Text) {
        to.set(library(handle)?.kernel(name.name()?)? as CUkernel)
    }

    fn cuLibraryGetKernelCount(to: Out<c_uint>, handle: CUlibrary) {
        to.set(library(handle)?.kernel_names().len() as c_uint)
    }

    fn cuLibraryEnumerateKernels(to: Out<CUkernel>, count: c_uint, handle: CUlibrary) {
        let library = library(handle)?;
        // SAFETY: the program passes an array of `count` elements.
        let to = unsafe { to.array(count as usize) };
        for (index, name) in library.kernel_names().iter().take(count as usize).enumerate() {
            to.set(index, library.kernel(name)? as CUkernel)?;
        }
        Ok(())
    }

    fn cuLibraryGetModule(to: Out<CUmodule>, handle: CUlibrary) {
        let context = current()?;
        to.set(library(handle)?.module(&context)?.handle as CUmodule)
    }

    fn cuLibraryGetGlobal(to: Out<CUdeviceptr>, size: Out<usize>, handle: CUlibrary, name: Text) {
        variable(to, size, handle, name)
    }

    fn cuLibraryGetManaged(
        to: Out<CUdeviceptr>,
        size: Out<usize>,
        handle: CUlibrary,
        name: Text,
    ) {
        let library = library(handle)?;
        let name = name.name()?;
        if !to.is_wanted() && !size.is_wanted() {
            return Err(CuError::INVALID_VALUE);
        }
        store(to, size, library.managed(name))
    }

    /// No device has unified function pointers.
    fn cuLibraryGetUnifiedFunction(to: Out<*mut c_void>, handle: CUlibrary, symbol: Text) {
        library(handle)?;
        symbol.get()?;
        to.check()?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuKernelGetFunction(to: Out<CUfunction>, handle: CUkernel) {
        let kernel = kernel(handle)?;
        let context = current()?;
        let module = LIBRARIES
            .get(kernel.library)
            .ok_or(CuError::INVALID_HANDLE)?
            .module(&context)?;
        let found = module.function(&kernel.name).ok_or(CuError::NOT_FOUND)?;
        to.set(found as CUfunction)
    }

    fn cuKernelGetLibrary(to: Out<CUlibrary>, handle: CUkernel) {
        to.set(kernel(handle)?.library as CUlibrary)
    }

    fn cuKernelGetName(to: Out<*const c_char>, handle: CUkernel) {
        check_handle(handle as usize)?;
        to.set(kept_name(&kernel(handle)?.name)?)
    }

    fn cuKernelGetAttribute(
        to: Out<c_int>, which: CUfunction_attribute, handle: CUkernel, device: c_int,
    ) {
        kernel(handle)?;
        let function = function_of(handle as usize, || primary(device))?;
        to.set(attribute(&function, which)?)
    }

    fn cuKernelSetAttribute(
        which: CUfunction_attribute, value: c_int, handle: CUkernel, device: c_int,
    ) {
        kernel(handle)?;
        set_attribute(&*function_of(handle as usize, || primary(device))?, which, value)
    }

    fn cuKernelSetCacheConfig(handle: CUkernel, _config: c_uint, device: c_int) {
        driver()?.device(device)?;
        kernel(handle).map(drop)
    }

    fn cuKernelGetParamInfo(handle: CUkernel, n: usize, to: Out<usize>, size: Out<usize>) {
        check_handle(handle as usize)?;
        kernel(handle)?;
        let function = function_of(handle as usize, current)?;
        parameter(&function, n, to, size)
    }
}
