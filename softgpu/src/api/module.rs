//! Modules and their functions.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::fatbin;
use cuda_api::sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute as F, CUjit_option as J, CUmodule,
};

use super::{Answer, CUresult, cuda, get, put, put_if, text};
use crate::ptx::source::Source;
use crate::state::context::{Context, current};
use crate::state::module::{Function, LoadError, MODULES, Module, function_of, parse, unload};

/// The program's buffers for the compiler's log.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    error: Option<(*mut c_char, usize)>,
    sizes: Vec<*mut *mut c_void>,
}

impl Logs {
    /// Reads the options of a loading call.
    pub(crate) fn new(count: c_uint, options: *const c_uint, values: *mut *mut c_void) -> Self {
        let mut logs = Self::default();
        if options.is_null() || values.is_null() {
            return logs;
        }
        let (mut buffer, mut size): (*mut c_char, usize) = (std::ptr::null_mut(), 0);
        for i in 0..count as usize {
            let place = values.wrapping_add(i);
            let (Ok(option), Ok(value)) = (get(options.wrapping_add(i)), get(place)) else { break };
            if option == J::CU_JIT_ERROR_LOG_BUFFER.0 {
                buffer = value.cast();
            } else if option == J::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.0 {
                size = value as u32 as usize;
                logs.sizes.push(place);
            } else if option == J::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES.0 {
                // There is no information log.
                put_if(place, std::ptr::null_mut());
            }
        }
        if !buffer.is_null() && size > 0 {
            logs.error = Some((buffer, size));
        }
        logs
    }

    /// Returns a result, and writes an error's text to the program's buffer.
    pub(crate) fn tell<T>(&self, result: Result<T, LoadError>) -> Result<T, CUresult> {
        let words = result.as_ref().err().map_or("", |e| e.text.as_str());
        if let Some((buffer, size)) = self.error {
            let _ = super::put_text(buffer, size, words);
            for place in &self.sizes {
                put_if(*place, words.len().min(size - 1) as *mut c_void);
            }
        }
        result.map_err(|e| e.code)
    }
}

/// Parses the image at an address.
pub(crate) fn image(at: *const c_void) -> Result<Source, LoadError> {
    let invalid = |text: String| LoadError { code: CUresult::CUDA_ERROR_INVALID_IMAGE, text };
    if at.is_null() {
        return Err(LoadError {
            code: CUresult::CUDA_ERROR_INVALID_VALUE,
            text: "no image".into(),
        });
    }
    // SAFETY: the program passes the address of an image.
    let spans = unsafe { fatbin::span(at) }.map_err(|e| invalid(e.to_string()))?;
    let mut result = Err(invalid("the image is empty".into()));
    for span in spans {
        // SAFETY: as above, until the call returns.
        result = parse(unsafe { span.bytes() });
        if result.is_ok() {
            break;
        }
    }
    result
}

fn load(to: *mut CUmodule, at: *const c_void, logs: &Logs) -> Answer {
    let context = current()?;
    let module = logs.tell(image(at).and_then(|source| Module::load(&context, &source)))?;
    put(to, module.handle as CUmodule)
}

pub(crate) fn module(handle: CUmodule) -> Result<Arc<Module>, CUresult> {
    crate::state::device::driver()?;
    MODULES.get(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

/// The function of a function handle, or of a kernel handle in the current context.
pub(crate) fn function(handle: *mut c_void) -> Result<Arc<Function>, CUresult> {
    crate::state::device::driver()?;
    function_of(handle as usize, current)
}

/// An attribute of a function or kernel.
pub(crate) fn attribute(function: &Function, which: c_uint) -> Result<c_int, CUresult> {
    let is = |attribute: F| attribute.0 == which;
    let kernel = &function.kernel;
    let code = &function.loaded.program.functions[kernel.function as usize];
    Ok(if is(F::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        kernel.max_threads.unwrap_or(1024).min(1024) as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
        kernel.shared as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) {
        code.local as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_NUM_REGS) {
        // There is no compiled code. This number lets a block of the maximum size fit.
        kernel.registers.min(32) as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_PTX_VERSION) {
        function.loaded.program.target
    } else if is(F::CU_FUNC_ATTRIBUTE_BINARY_VERSION) {
        90
    } else if is(F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        function.dynamic_limit() as c_int
    } else if is(F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        function.attributes.carveout.load(Ordering::Relaxed)
    } else if which < F::CU_FUNC_ATTRIBUTE_MAX.0 {
        0
    } else {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    })
}

/// Sets an attribute.
pub(crate) fn set_attribute(function: &Function, which: c_uint, value: c_int) -> Answer {
    if which == F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.0 {
        let most = (227 << 10) - function.kernel.shared as c_int;
        if value < 0 || value > most {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        function.attributes.max_dynamic_shared.store(value, Ordering::Relaxed);
        Ok(())
    } else if which == F::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT.0 {
        if !(-1..=100).contains(&value) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        function.attributes.carveout.store(value, Ordering::Relaxed);
        Ok(())
    } else {
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }
}

/// Offset and size of a parameter.
pub(crate) fn parameter(function: &Function, n: usize, to: *mut usize, size: *mut usize) -> Answer {
    let param = function.kernel.params.get(n).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    put(to, param.offset)?;
    put_if(size, param.size);
    Ok(())
}

fn unload_module(handle: CUmodule) -> Answer {
    let module = module(handle)?;
    let context: &Context = &module.loaded.context;
    context.synchronize();
    unload(handle as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
}

cuda! {
    fn cuModuleLoadData(to: *mut CUmodule, at: *const c_void) {
        load(to, at, &Logs::default())
    }

    fn cuModuleLoadDataEx(
        to: *mut CUmodule,
        at: *const c_void,
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) {
        load(to, at, &Logs::new(count, options, values))
    }

    fn cuModuleLoadFatBinary(to: *mut CUmodule, at: *const c_void) {
        load(to, at, &Logs::default())
    }

    fn cuModuleLoad(to: *mut CUmodule, path: *const c_char) {
        let context = current()?;
        let bytes = std::fs::read(text(path)?).map_err(|_| CUresult::CUDA_ERROR_FILE_NOT_FOUND)?;
        let source = parse(&bytes).map_err(|e| e.code)?;
        let module = Module::load(&context, &source).map_err(|e| e.code)?;
        put(to, module.handle as CUmodule)
    }

    fn cuModuleUnload(handle: CUmodule) {
        unload_module(handle)
    }

    fn cuModuleGetLoadingMode(to: *mut c_uint) {
        // Eager.
        put(to, 1)
    }

    fn cuModuleGetFunction(to: *mut CUfunction, handle: CUmodule, name: *const c_char) {
        current()?;
        let found = module(handle)?.function(&text(name)?);
        put(to, found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)? as CUfunction)
    }

    fn cuModuleGetFunctionCount(to: *mut c_uint, handle: CUmodule) {
        put(to, module(handle)?.loaded.program.kernels.len() as c_uint)
    }

    fn cuModuleEnumerateFunctions(to: *mut CUfunction, count: c_uint, handle: CUmodule) {
        let module = module(handle)?;
        for (i, (name, _)) in module.loaded.program.kernels.iter().take(count as usize).enumerate() {
            let found = module.function(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            put(to.wrapping_add(i), found as CUfunction)?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2(
        to: *mut CUdeviceptr,
        size: *mut usize,
        handle: CUmodule,
        name: *const c_char,
    ) {
        current()?;
        let found = module(handle)?.variable(&text(name)?);
        let (address, bytes) = found.ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        put_if(to, address);
        put_if(size, bytes as usize);
        Ok(())
    }

    fn cuFuncGetAttribute(to: *mut c_int, which: c_uint, handle: CUfunction) {
        put(to, attribute(&*function(handle.cast())?, which)?)
    }

    fn cuFuncSetAttribute(handle: CUfunction, which: c_uint, value: c_int) {
        set_attribute(&*function(handle.cast())?, which, value)
    }

    fn cuFuncSetCacheConfig(handle: CUfunction, _config: c_uint) {
        function(handle.cast()).map(drop)
    }

    fn cuFuncSetSharedMemConfig(handle: CUfunction, _config: c_uint) {
        function(handle.cast()).map(drop)
    }

    fn cuFuncGetModule(to: *mut CUmodule, handle: CUfunction) {
        put(to, function(handle.cast())?.module as CUmodule)
    }

    fn cuFuncGetName(to: *mut *const c_char, handle: CUfunction) {
        // The name lives as long as the function's entry in the tables.
        put(to, function(handle.cast())?.name.as_ptr())
    }

    fn cuFuncGetParamInfo(handle: CUfunction, n: usize, to: *mut usize, size: *mut usize) {
        parameter(&*function(handle.cast())?, n, to, size)
    }

    fn cuFuncIsLoaded(to: *mut c_uint, handle: CUfunction) {
        function(handle.cast())?;
        put(to, 1)
    }

    fn cuFuncLoad(handle: CUfunction) {
        function(handle.cast()).map(drop)
    }
}
