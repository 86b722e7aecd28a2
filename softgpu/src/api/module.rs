//! Entry points for modules and their functions.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::args::{In, Out, Text, check_handle};
use cuda_api::error::{CuError, CuResult};
use cuda_api::fatbin;
use cuda_api::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute as F, CUjit_option as J, CUmodule,
    CUmoduleLoadingMode,
};

use super::entry::entries;
use super::jit::Jit;
use crate::ptx::source::{Bases, Source, link};
use crate::state::context::{Context, current};
use crate::state::device::{capability, driver};
use crate::state::image::{LoadError, parse, units};
use crate::state::module::{Function, MODULES, Module, function_of, unload};

/// Parses the image at an address.
///
/// # Safety
///
/// If not null, the address must be that of an image in a format that the module loaders accept.
pub(crate) unsafe fn image(at: *const c_void) -> Result<Source, LoadError> {
    let invalid = |text: String| LoadError { code: CuError::INVALID_IMAGE, text };
    if at.is_null() {
        return Err(LoadError { code: CuError::INVALID_VALUE, text: "no image".into() });
    }
    // SAFETY: the caller guarantees that this is the address of an image.
    let spans = unsafe { fatbin::span(at) }.map_err(|e| invalid(e.to_string()))?;
    let [first, inputs @ ..] = spans.as_slice() else {
        return Err(invalid("the image is empty".into()));
    };
    // SAFETY: the image stays valid until the call returns.
    let linked = parse(unsafe { first.bytes() });
    if linked.is_ok() || inputs.is_empty() {
        return linked;
    }
    // The linked image isn't usable: with relocatable device code, it usually contains only machine
    // code. The inputs of the link may contain PTX.
    let mut all = Vec::new();
    for input in inputs {
        // SAFETY: the image stays valid until the call returns.
        all.extend(units(unsafe { input.bytes() })?);
    }
    Ok(link(all)?)
}

/// Loads the image at an address into the current context.
///
/// # Safety
///
/// Same as for [`image`].
unsafe fn load(to: Out<CUmodule>, at: *const c_void, jit: &Jit) -> CuResult {
    let context = current()?;
    // SAFETY: the caller makes the guarantees that `image` requires.
    let source = unsafe { image(at) };
    let module = jit.report(source.and_then(|source| Module::load(&context, &Arc::new(source))))?;
    to.set(module.handle as CUmodule)
}

pub(crate) fn module(handle: CUmodule) -> CuResult<Arc<Module>> {
    crate::state::device::driver()?;
    MODULES.get(handle as usize).ok_or(CuError::INVALID_HANDLE)
}

/// Returns the function for a handle. The handle can also be that of a library's kernel, for which
/// this returns the function in the current context.
pub(crate) fn function(handle: *mut c_void) -> CuResult<Arc<Function>> {
    crate::state::device::driver()?;
    function_of(handle as usize, current)
}

/// Checks that a function exists; softgpu loads all functions with their modules. As in NVIDIA's
/// driver, a null handle is invalid even before initialization.
fn loaded(handle: CUfunction) -> CuResult {
    match handle.is_null() {
        true => Err(CuError::INVALID_HANDLE),
        false => function(handle.cast()).map(drop),
    }
}

/// Returns an attribute of a function or kernel.
pub(crate) fn attribute(function: &Function, which: F) -> CuResult<c_int> {
    let is = |attribute: F| attribute == which;
    let kernel = function.kernel()?;
    Ok(if is(F::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        kernel.max_threads.unwrap_or(1024).min(1024) as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
        kernel.shared as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) {
        kernel.local as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) {
        let variables = function.loaded.program.source.variables(Bases::default());
        let sizes = variables.filter(|(v, _)| v.constant).map(|(v, _)| v.size);
        sizes.sum::<usize>() as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_NUM_REGS) {
        // PTX isn't compiled, so the real register count is unknown. Reporting 32 registers or
        // fewer per thread lets a block of the maximum size fit on a multiprocessor.
        kernel.registers.min(32) as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_PTX_VERSION) {
        function.loaded.program.source.target
    } else if is(F::CU_FUNC_ATTRIBUTE_BINARY_VERSION) {
        capability() as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        function.dynamic_limit()? as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        function.attributes.carveout.load(Ordering::Relaxed)
    } else if which.0 < F::CU_FUNC_ATTRIBUTE_MAX.0 {
        0
    } else {
        return Err(CuError::INVALID_VALUE);
    })
}

/// Sets an attribute of a function or kernel.
pub(crate) fn set_attribute(function: &Function, which: F, value: c_int) -> CuResult {
    if which == F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
        let most = (227 << 10) - function.kernel()?.shared as c_int;
        if value < 0 || value > most {
            return Err(CuError::INVALID_VALUE);
        }
        function.attributes.max_dynamic_shared.store(value, Ordering::Relaxed);
        Ok(())
    } else if which == F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT {
        if !(-1..=100).contains(&value) {
            return Err(CuError::INVALID_VALUE);
        }
        function.attributes.carveout.store(value, Ordering::Relaxed);
        Ok(())
    } else {
        Err(CuError::INVALID_VALUE)
    }
}

/// Stores the offset and size of a kernel parameter.
pub(crate) fn parameter(
    function: &Function,
    n: usize,
    to: Out<usize>,
    size: Out<usize>,
) -> CuResult {
    let param = *function.params().get(n).ok_or(CuError::INVALID_VALUE)?;
    to.set(param.offset)?;
    size.set_if_wanted(param.size);
    Ok(())
}

fn unload_module(handle: CUmodule) -> CuResult {
    let module = module(handle)?;
    let context: &Context = &module.loaded.context;
    context.synchronize();
    self::module(handle)?;
    unload(handle as usize).ok_or(CuError::INVALID_HANDLE)
}

entries! {
    fn cuModuleLoadData(to: Out<CUmodule>, at: *const c_void) {
        // SAFETY: the program passes the address of an image.
        unsafe { load(to, at, &Jit::default()) }
    }

    fn cuModuleLoadDataEx(
        to: Out<CUmodule>,
        at: *const c_void,
        count: c_uint,
        options: In<J>,
        values: In<usize>,
    ) {
        // SAFETY: the program passes the address of an image, and arrays of `count` elements that
        // describe its buffers.
        unsafe { load(to, at, &Jit::new(count, options, values)?) }
    }

    fn cuModuleLoadFatBinary(to: Out<CUmodule>, at: *const c_void) {
        // SAFETY: the program passes the address of an image.
        unsafe { load(to, at, &Jit::default()) }
    }

    fn cuModuleLoad(to: Out<CUmodule>, path: Text) {
        let context = current()?;
        let bytes = std::fs::read(path.name()?).map_err(|_| CuError::FILE_NOT_FOUND)?;
        let source = parse(&bytes).map_err(|e| e.code)?;
        let module = Module::load(&context, &Arc::new(source)).map_err(|e| e.code)?;
        to.set(module.handle as CUmodule)
    }

    fn cuModuleUnload(handle: CUmodule) {
        unload_module(handle)
    }

    /// Returns the mode that `CUDA_MODULE_LOADING` selects, as NVIDIA's driver does. The mode has
    /// no other effect in softgpu: a library is always loaded when it is first used in a context.
    fn cuModuleGetLoadingMode(to: Out<CUmoduleLoadingMode>) {
        driver()?;
        to.set(match std::env::var_os("CUDA_MODULE_LOADING") {
            Some(mode) if mode == "EAGER" => CUmoduleLoadingMode::CU_MODULE_EAGER_LOADING,
            _ => CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING,
        })
    }

    fn cuModuleGetFunction(to: Out<CUfunction>, handle: CUmodule, name: Text) {
        let module = module(handle)?;
        current()?;
        let found = module.function(name.name()?);
        to.set(found.ok_or(CuError::NOT_FOUND)? as CUfunction)
    }

    fn cuModuleGetFunctionCount(to: Out<c_uint>, handle: CUmodule) {
        to.set(module(handle)?.loaded.program.source.kernels().count() as c_uint)
    }

    fn cuModuleEnumerateFunctions(to: Out<CUfunction>, count: c_uint, handle: CUmodule) {
        let module = module(handle)?;
        // SAFETY: the program passes an array of `count` elements.
        let to = unsafe { to.array(count as usize) };
        let kernels = module.loaded.program.source.kernels().take(count as usize);
        for (index, (name, _)) in kernels.enumerate() {
            let found = module.function(name).ok_or(CuError::NOT_FOUND)?;
            to.set(index, found as CUfunction)?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2(
        to: Out<CUdeviceptr>,
        size: Out<usize>,
        handle: CUmodule,
        name: Text,
    ) {
        let module = module(handle)?;
        current()?;
        let found = module.variable(name.name()?);
        let place = found.ok_or(CuError::NOT_FOUND)?;
        to.set_if_wanted(place.address);
        size.set_if_wanted(place.size as usize);
        Ok(())
    }

    fn cuFuncGetAttribute(to: Out<c_int>, which: F, handle: CUfunction) {
        to.set(attribute(&*function(handle.cast())?, which)?)
    }

    fn cuFuncSetAttribute(handle: CUfunction, which: F, value: c_int) {
        set_attribute(&*function(handle.cast())?, which, value)
    }

    fn cuFuncSetCacheConfig(handle: CUfunction, _config: c_uint) {
        function(handle.cast()).map(drop)
    }

    fn cuFuncSetSharedMemConfig(handle: CUfunction, _config: c_uint) {
        function(handle.cast()).map(drop)
    }

    fn cuFuncGetModule(to: Out<CUmodule>, handle: CUfunction) {
        to.check()?;
        check_handle(handle as usize)?;
        to.set(function(handle.cast())?.module as CUmodule)
    }

    fn cuFuncGetName(to: Out<*const c_char>, handle: CUfunction) {
        check_handle(handle as usize)?;
        // The name is valid until the function's module is unloaded.
        to.set(function(handle.cast())?.name.as_ptr())
    }

    fn cuFuncGetParamInfo(handle: CUfunction, n: usize, to: Out<usize>, size: Out<usize>) {
        check_handle(handle as usize)?;
        parameter(&*function(handle.cast())?, n, to, size)
    }

    fn cuFuncIsLoaded(to: Out<c_uint>, handle: CUfunction) {
        to.check()?;
        loaded(handle)?;
        to.set(1)
    }

    fn cuFuncLoad(handle: CUfunction) {
        loaded(handle)
    }
}
