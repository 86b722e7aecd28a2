//! Calls for modules and libraries, and for the functions, kernels and variables in them.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::sys::{CUfunc_cache, CUfunction, CUfunction_attribute, CUkernel, CUlibrary};
use protocol::calls as api;
use protocol::codec::Names;
use protocol::ids::{ContextId, FuncId, LibraryId, ModuleId};
use protocol::limits::{KERNEL_NAMES_MAX, PARAMETER_BYTES_MAX, PARAMETERS_MAX};
use protocol::structs::ParameterPlace;

use super::charges::{
    Load, Reservation, Settled, UNKNOWN_NEED, func, function_of, give_back_library,
    give_back_module, kind, new_load, reserve_kernel, reserve_load, reserve_module,
};
use super::claims::{Claim, FUNCTIONS, LIBRARIES, MODULES, claim, claim_listed};
use super::context::with_any_context;
use super::cx::Cx;
use super::driver_handle::DriverHandle;
use super::handles::{Function, Layout, Library, Module, Owner};
use super::image::{c_name, image};
use super::jit::Jit;
use super::lock;
use super::memory::Foreign;
use crate::driver::{CuError, CuResult};

/// Determines a kernel's parameter layout by querying one parameter after another, until the driver
/// says that there are no more.
fn layout(ask: impl Fn(usize, &mut usize, &mut usize) -> CuResult) -> CuResult<Layout> {
    let mut parameters = Vec::new();
    while parameters.len() < PARAMETERS_MAX {
        let (mut offset, mut size) = (0, 0);
        match ask(parameters.len(), &mut offset, &mut size) {
            Ok(()) if offset.saturating_add(size) <= PARAMETER_BYTES_MAX => {
                parameters.push((offset as u32, size as u32));
            }
            Ok(()) => return Err(CuError::INVALID_IMAGE),
            Err(CuError::INVALID_VALUE) => return Ok(Some(Arc::from(parameters))),
            Err(CuError::NOT_SUPPORTED) if parameters.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Err(CuError::INVALID_IMAGE)
}

/// Converts a parameter layout to its form in replies to the guest.
fn places(layout: &Layout) -> Vec<ParameterPlace> {
    let parameters = layout.as_deref().unwrap_or_default().iter();
    let place = |(offset, size): &(u32, u32)| ParameterPlace {
        offset: (*offset).into(),
        size: (*size).into(),
    };
    parameters.map(place).collect()
}

pub(super) fn vcuda_blob_put(cx: &Cx<'_>, call: api::VcudaBlobPut<'_>) -> CuResult {
    lock(&cx.shared.blobs).put(call.blob, call.total, call.offset, call.data)
}

fn function_layout(cx: &Cx<'_>, function: CUfunction) -> CuResult<Layout> {
    // SAFETY: the function is live, and the pointers are to local variables.
    layout(|index, offset, size| unsafe {
        cx.driver().cuFuncGetParamInfo(function, index, offset, size)
    })
}

fn kernel_layout(cx: &Cx<'_>, kernel: CUkernel) -> CuResult<Layout> {
    // SAFETY: the kernel is live, and the pointers are to local variables.
    layout(|index, offset, size| unsafe {
        cx.driver().cuKernelGetParamInfo(kernel, index, offset, size)
    })
}

fn claim_function<'a>(cx: &Cx<'a>, id: FuncId) -> CuResult<Claim<'a, FuncId, Function>> {
    claim(cx, FUNCTIONS, id)
}

fn module(cx: &Cx<'_>, id: ModuleId) -> CuResult<Module> {
    lock(&cx.shared.tables).modules.get(id).cloned()
}

/// Returns a library's handle and the description under which its memory is charged. Both are read
/// under one lock, so that they belong to the same library.
fn library_and_load(cx: &Cx<'_>, id: LibraryId) -> CuResult<(CUlibrary, Load)> {
    let library = lock(&cx.shared.tables).libraries.get(id)?.clone();
    Ok((library.real.0, library.load))
}

pub(super) fn vcuda_module_load(
    cx: &Cx<'_>,
    call: api::VcudaModuleLoad<'_>,
    reservation: Reservation<kind::Module>,
) -> (CuResult<Settled<kind::Module>>, api::VcudaModuleLoadAnswer) {
    let mut answer = api::VcudaModuleLoadAnswer::default();
    let result = cx.enter().and_then(|_| {
        let image = image(cx, call.blob, call.image)?;
        let mut jit = Jit::new(call.options, call.log_max)?;
        let id = claim(cx, MODULES, call.module)?;
        let load = new_load(cx, image.bytes())?;
        let reserved = reserve_module(cx, reservation, &load)?;
        let mut module = std::ptr::null_mut();
        let (count, options, values) = jit.parts();
        // SAFETY: the image is a complete private copy, followed by zeros. The options are
        // plain values and the logs' buffers, which live until `logs`.
        let loaded = unsafe {
            cx.driver().cuModuleLoadDataEx(&mut module, image.as_ptr(), count, options, values)
        };
        (answer.error, answer.info) = jit.logs();
        loaded?;
        let settled = reserved.settle();
        cx.shared.prints.fetch_or(image.may_print(), Ordering::Relaxed);
        id.list(Module { real: DriverHandle(module), ctx: cx.ctx, library: None, load });
        Ok(settled)
    });
    (result, answer)
}

pub(super) fn cu_module_unload(cx: &Cx<'_>, call: api::CuModuleUnload) -> CuResult {
    cx.enter_any()?;
    let (module, id) = claim_listed(cx, MODULES, call.hmod, |tables, module| {
        if module.library.is_some() {
            return Err(CuError::INVALID_HANDLE);
        }
        tables.forget_parts_of_module(call.hmod);
        Ok(())
    })?;
    cx.shared.memory.forget_globals(
        |global| matches!(global, Foreign::Global { module: Some(id), .. } if *id == call.hmod),
    );
    // SAFETY: the module was live, and was removed from the tables, so nobody else can use it.
    let ended = unsafe { cx.driver().cuModuleUnload(module.real.0) };
    id.end(ended, || give_back_module(cx, module.ctx, &module.load))
}

pub(super) fn vcuda_module_get_function(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetFunction<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaModuleGetFunctionAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let id = claim_function(cx, call.hfunc.into())?;
    let module = module(cx, call.hmod)?;
    // The driver may load the kernel's code now, so it must be charged first.
    let code = module.load.code_of(call.name.as_bytes());
    let settled = reserve_kernel(cx, reservation, module.ctx, &module.load, code)?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is live, and the pointers are to local variables.
    unsafe {
        cx.driver().cuModuleGetFunction(&mut function, module.real.0, name.as_ptr())?;
    }
    let layout = function_layout(cx, function)?;
    let bytes = places(&layout);
    let owner = match module.library {
        Some(id) => Owner::Library { id, ctx: module.ctx },
        None => Owner::Module { id: call.hmod, ctx: module.ctx },
    };
    let load = module.load;
    let (real, need) = (DriverHandle(function), UNKNOWN_NEED);
    id.list(Function { real, is_kernel: false, layout, owner, load, code, need });
    Ok((api::VcudaModuleGetFunctionAnswer { layout: bytes }, settled))
}

pub(super) fn vcuda_module_get_global(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetGlobal<'_>,
) -> CuResult<api::VcudaModuleGetGlobalAnswer> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let module = module(cx, call.hmod)?;
    let (mut dptr, mut bytes) = (0, 0);
    // SAFETY: the module is live, and the pointers are to local variables.
    unsafe {
        cx.driver().cuModuleGetGlobal(&mut dptr, &mut bytes, module.real.0, name.as_ptr())?;
    }
    list_global(cx, dptr, bytes, Some(call.hmod), module.library)?;
    Ok(api::VcudaModuleGetGlobalAnswer { dptr, bytes })
}

/// Records the address range of a variable, so that the session's calls may use those addresses.
fn list_global(
    cx: &Cx<'_>,
    dptr: u64,
    bytes: usize,
    module: Option<ModuleId>,
    library: Option<LibraryId>,
) -> CuResult {
    let global = Foreign::Global { module, library, ctx: cx.ctx };
    let mut foreign = lock(&cx.shared.memory.foreign);
    match foreign.get(dptr) {
        Some((len, _)) if *len == bytes as u64 => return Ok(()),
        // The variable that was recorded at this address was unloaded together with its context.
        Some((_, Foreign::Global { .. })) => drop(foreign.remove(dptr)),
        _ => {}
    }
    if foreign.insert(dptr, bytes as u64, global) { Ok(()) } else { Err(CuError::UNKNOWN) }
}

pub(super) fn vcuda_library_load(
    cx: &Cx<'_>,
    call: api::VcudaLibraryLoad<'_>,
) -> (CuResult, api::VcudaLibraryLoadAnswer) {
    let mut answer = api::VcudaLibraryLoadAnswer::default();
    let result = cx.enter_any().and_then(|()| {
        // The library options aren't passed to the driver: they describe how the guest stores the
        // image, or contain pointers.
        let image = image(cx, call.blob, call.image)?;
        let mut jit = Jit::new(call.options, call.log_max)?;
        let id = claim(cx, LIBRARIES, call.library)?;
        let load = new_load(cx, image.bytes())?;
        let mut library = std::ptr::null_mut();
        let (count, options, values) = jit.parts();
        // SAFETY: as in `vcuda_module_load`; no library options are passed.
        let loaded = unsafe {
            cx.driver().cuLibraryLoadData(
                &mut library,
                image.as_ptr(),
                options,
                values,
                count,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                0,
            )
        };
        (answer.error, answer.info) = jit.logs();
        loaded?;
        cx.shared.prints.fetch_or(image.may_print(), Ordering::Relaxed);
        id.list(Library { real: DriverHandle(library), load });
        Ok(())
    });
    (result, answer)
}

pub(super) fn cu_library_unload(cx: &Cx<'_>, call: api::CuLibraryUnload) -> CuResult {
    cx.enter_any()?;
    let (library, id) = claim_listed(cx, LIBRARIES, call.library, |tables, _| {
        tables.forget_parts_of_library(call.library);
        Ok(())
    })?;
    cx.shared.memory.forget_globals(
        |g| matches!(g, Foreign::Global { library: Some(id), .. } if *id == call.library),
    );
    // SAFETY: the library was live, and was removed from the tables, so nobody else can use it.
    let ended = unsafe { cx.driver().cuLibraryUnload(library.real.0) };
    id.end(ended, || give_back_library(cx, &library.load))
}

pub(super) fn vcuda_library_get_kernel(
    cx: &Cx<'_>,
    call: api::VcudaLibraryGetKernel<'_>,
) -> CuResult<api::VcudaLibraryGetKernelAnswer> {
    cx.enter_any()?;
    let name = c_name(call.name)?;
    let id = claim_function(cx, call.p_kernel.into())?;
    let (library, load) = library_and_load(cx, call.library)?;
    let mut kernel = std::ptr::null_mut();
    // SAFETY: the library is live, and the pointers are to local variables.
    unsafe { cx.driver().cuLibraryGetKernel(&mut kernel, library, name.as_ptr())? };
    let layout = with_any_context(cx, || kernel_layout(cx, kernel))?;
    let bytes = places(&layout);
    let owner = Owner::Library { id: call.library, ctx: ContextId::NONE };
    let code = load.code_of(call.name.as_bytes());
    let (real, need) = (DriverHandle(kernel.cast()), UNKNOWN_NEED);
    id.list(Function { real, is_kernel: true, layout, owner, load, code, need });
    Ok(api::VcudaLibraryGetKernelAnswer { layout: bytes })
}

pub(super) fn cu_library_get_module(
    cx: &Cx<'_>,
    call: api::CuLibraryGetModule,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let id = claim(cx, MODULES, call.p_mod)?;
    let (library, load) = library_and_load(cx, call.library)?;
    let settled = reserve_load(cx, reservation, &load)?;
    let mut module = std::ptr::null_mut();
    // SAFETY: the library is live, and the pointer is to a local variable.
    unsafe { cx.driver().cuLibraryGetModule(&mut module, library)? };
    id.list(Module { real: DriverHandle(module), ctx: cx.ctx, library: Some(call.library), load });
    Ok(settled)
}

pub(super) fn vcuda_library_get_global(
    cx: &Cx<'_>,
    call: api::VcudaLibraryGetGlobal<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaLibraryGetGlobalAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let (library, load) = library_and_load(cx, call.library)?;
    let settled = reserve_load(cx, reservation, &load)?;
    let (mut dptr, mut bytes) = (0, 0);
    // SAFETY: the library is live, and the pointers are to local variables.
    unsafe {
        cx.driver().cuLibraryGetGlobal(&mut dptr, &mut bytes, library, name.as_ptr())?;
    }
    list_global(cx, dptr, bytes, None, Some(call.library))?;
    Ok((api::VcudaLibraryGetGlobalAnswer { dptr, bytes }, settled))
}

pub(super) fn vcuda_library_kernel_names(
    cx: &Cx<'_>,
    call: api::VcudaLibraryKernelNames,
) -> CuResult<api::VcudaLibraryKernelNamesAnswer> {
    cx.enter_any()?;
    let library = cx.library(call.lib)?;
    let mut count = 0;
    // SAFETY: the library is live, and the pointer is to a local variable.
    unsafe { cx.driver().cuLibraryGetKernelCount(&mut count, library)? };
    let mut kernels = vec![std::ptr::null_mut(); (count as usize).min(KERNEL_NAMES_MAX)];
    let mut names = Names::default();
    // SAFETY: the vector has room for as many kernels as are requested. A kernel's name is a C
    // string that lives as long as its library.
    unsafe {
        let room = kernels.len() as u32;
        cx.driver().cuLibraryEnumerateKernels(kernels.as_mut_ptr(), room, library)?;
        for kernel in kernels {
            let mut name = std::ptr::null();
            cx.driver().cuKernelGetName(&mut name, kernel)?;
            names.push(CStr::from_ptr(name));
        }
    }
    Ok(api::VcudaLibraryKernelNamesAnswer { names })
}

pub(super) fn vcuda_module_function_names(
    cx: &Cx<'_>,
    call: api::VcudaModuleFunctionNames,
) -> CuResult<api::VcudaModuleFunctionNamesAnswer> {
    cx.enter()?;
    let module = cx.module(call.hmod)?;
    let mut count = 0;
    // SAFETY: the module is live, and the pointer is to a local variable.
    unsafe { cx.driver().cuModuleGetFunctionCount(&mut count, module)? };
    let mut functions = vec![std::ptr::null_mut(); (count as usize).min(KERNEL_NAMES_MAX)];
    let mut names = Names::default();
    // SAFETY: the vector has room for as many functions as are requested. A function's name is a C
    // string that lives as long as its module.
    unsafe {
        let room = functions.len() as u32;
        cx.driver().cuModuleEnumerateFunctions(functions.as_mut_ptr(), room, module)?;
        for function in functions {
            let mut name = std::ptr::null();
            cx.driver().cuFuncGetName(&mut name, function)?;
            names.push(CStr::from_ptr(name));
        }
    }
    Ok(api::VcudaModuleFunctionNamesAnswer { names })
}

pub(super) fn cu_kernel_get_function(
    cx: &Cx<'_>,
    call: api::CuKernelGetFunction,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let id = claim_function(cx, call.p_func.into())?;
    let kernel = lock(&cx.shared.tables).functions.get(call.kernel.into())?.clone();
    if !kernel.is_kernel {
        return Err(CuError::INVALID_HANDLE);
    }
    let (function, settled) = function_of(cx, reservation, &kernel)?;
    let owner = match kernel.owner {
        Owner::Library { id, .. } => Owner::Library { id, ctx: cx.ctx },
        module @ Owner::Module { .. } => module,
    };
    let (real, need) = (DriverHandle(function), UNKNOWN_NEED);
    id.list(Function { real, is_kernel: false, owner, need, ..kernel });
    Ok(settled)
}

pub(super) fn cu_func_set_attribute(
    cx: &Cx<'_>,
    call: api::CuFuncSetAttribute,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let (function, settled) = func(cx, reservation, call.hfunc)?;
    // SAFETY: the function is live.
    unsafe {
        let attribute = CUfunction_attribute(call.attrib);
        cx.driver().cuFuncSetAttribute(function, attribute, call.value)?;
    }
    Ok(settled)
}

pub(super) fn cu_kernel_set_attribute(cx: &Cx<'_>, call: api::CuKernelSetAttribute) -> CuResult {
    cx.enter_any()?;
    let kernel = cx.kernel(call.kernel)?;
    // SAFETY: the kernel is live.
    unsafe {
        let attribute = CUfunction_attribute(call.attrib);
        cx.driver().cuKernelSetAttribute(attribute, call.val, kernel, call.dev)
    }
}

pub(super) fn cu_func_set_cache_config(
    cx: &Cx<'_>,
    call: api::CuFuncSetCacheConfig,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let (function, settled) = func(cx, reservation, call.hfunc)?;
    // SAFETY: the function is live.
    unsafe { cx.driver().cuFuncSetCacheConfig(function, CUfunc_cache(call.config))? };
    Ok(settled)
}

pub(super) fn cu_kernel_set_cache_config(
    cx: &Cx<'_>,
    call: api::CuKernelSetCacheConfig,
) -> CuResult {
    cx.enter_any()?;
    let kernel = cx.kernel(call.kernel)?;
    // SAFETY: the kernel is live.
    unsafe {
        let config = CUfunc_cache(call.config);
        cx.driver().cuKernelSetCacheConfig(kernel, config, call.dev)
    }
}
