//! Calls for the functions of modules and the kernels of libraries.

use std::ffi::{CStr, CString};
use std::sync::Mutex;

use cuda_api::sys::{CUfunc_cache, CUfunction, CUfunction_attribute, CUkernel, CUlibrary};
use protocol::calls as api;
use protocol::codec::Names;
use protocol::ids::{ContextId, FuncId};
use protocol::limits::{
    FUNCTION_ATTRIBUTES_MAX, KERNEL_NAMES_MAX, MORE_KERNEL_NAME_BYTES_MAX, MORE_KERNELS_MAX,
    PARAMETERS_MAX,
};
use protocol::structs::FunctionAttribute;

use crate::calls::code::image::c_name;
use crate::calls::code::layout::{function_layout, kernel_layout, places};
use crate::calls::code::library_kernels::LibraryKernels;
use crate::calls::code::module::module;
use crate::calls::commands::cx::Cx;
use crate::calls::contexts::charges::{
    Need, Reservation, Settled, func, function_of, kind, reserve_kernel, reserve_kernel_on,
    reserve_listed,
};
use crate::calls::contexts::context::with_any_context;
use crate::calls::lock;
use crate::calls::tables::claims::{Claim, FUNCTIONS, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::{Function, Layout, Library, Owner};
use crate::driver::{CuError, CuResult};

fn claim_function<'a>(cx: &Cx<'a>, id: FuncId) -> CuResult<Claim<'a, FuncId, Function>> {
    claim(cx, FUNCTIONS, id)
}

pub(in crate::calls) fn vcuda_module_get_function(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetFunction<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaModuleGetFunctionAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let id = claim_function(cx, call.hfunc.into())?;
    let module = module(cx, call.hmod)?;
    // The driver may load the kernel's code in cuModuleGetFunction, so charge for the code first.
    let code = module.load.code_of(call.name.as_bytes());
    let settled = reserve_kernel(cx, reservation, module.ctx, &module.load, code)?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The other pointers are to local variables.
    unsafe {
        cx.driver().cuModuleGetFunction(&mut function, module.real.0, name.as_ptr())?;
    }
    let layout = function_layout(cx, function)?;
    let answer = api::VcudaModuleGetFunctionAnswer {
        layout: places(&layout),
        attributes: function_attributes(cx, function),
    };
    let owner = match module.library {
        Some(id) => Owner::Library { id, ctx: module.ctx },
        None => Owner::Module { id: call.hmod, ctx: module.ctx },
    };
    let load = module.load;
    let (real, need) = (DriverHandle(function), Need::UNKNOWN);
    id.list(Function { real, is_kernel: false, layout, owner, load, code, need });
    Ok((answer, settled))
}

/// Returns a library's kernels in the driver's order.
fn enumerate(cx: &Cx<'_>, library: CUlibrary) -> CuResult<Vec<DriverHandle<CUkernel>>> {
    let mut count = 0;
    // SAFETY: the library is live, because the calling function has looked it up. The pointer is to
    // a local variable.
    unsafe { cx.driver().cuLibraryGetKernelCount(&mut count, library)? };
    let mut kernels = vec![std::ptr::null_mut(); (count as usize).min(KERNEL_NAMES_MAX)];
    let room = kernels.len() as u32;
    // SAFETY: the library is live, because the calling function has looked it up. The vector has
    // room for `room` kernels, as many as are requested.
    unsafe { cx.driver().cuLibraryEnumerateKernels(kernels.as_mut_ptr(), room, library)? };
    Ok(kernels.into_iter().map(DriverHandle).collect())
}

fn kernel_name(cx: &Cx<'_>, kernel: CUkernel) -> CuResult<CString> {
    let mut name = std::ptr::null();
    // SAFETY: the kernel is live, because the calling function has looked up its library. The
    // kernel's name is a C string that lives as long as the library.
    unsafe {
        cx.driver().cuKernelGetName(&mut name, kernel)?;
        Ok(CStr::from_ptr(name).to_owned())
    }
}

/// A kernel of a library, as the driver describes it.
struct Described {
    kernel: CUkernel,
    name: CString,
    layout: Layout,
}

/// Describes up to `more` kernels of a library that the guest doesn't have yet, beginning with the
/// one after `kernel`. Skips kernels that the driver can't describe instead of failing, because the
/// guest hasn't asked for them. Stops at the first kernel for whose code the VM's quota has no
/// room.
fn describe_more(
    cx: &Cx<'_>,
    reservation: &Reservation<kind::Module>,
    library: &Library,
    kernel: CUkernel,
    more: usize,
) -> Vec<Described> {
    let listed = library.kernels.get_or_init(|| {
        Mutex::new(LibraryKernels::new(enumerate(cx, library.real.0).unwrap_or_default()))
    });
    let candidates = lock(listed).take_after(DriverHandle(kernel), more);
    let (mut name_bytes, mut parameters) = (0, 0);
    let mut described = Vec::new();
    for (index, &DriverHandle(kernel)) in candidates.iter().enumerate() {
        let name = kernel_name(cx, kernel).ok();
        let Some(name) = name.filter(|name| !name.is_empty() && name.to_str().is_ok()) else {
            continue;
        };
        if reserve_listed(cx, reservation.part(), &library.load, name.as_bytes()).is_err() {
            lock(listed).put_back(&candidates[index..]);
            break;
        }
        let Ok(layout) = kernel_layout(cx, kernel) else { continue };
        name_bytes += name.as_bytes_with_nul().len();
        parameters += layout.as_deref().map_or(0, <[_]>::len);
        if name_bytes > MORE_KERNEL_NAME_BYTES_MAX || parameters > PARAMETERS_MAX {
            // The reply has no room for these kernels, but that of a later call may have.
            lock(listed).put_back(&candidates[index..]);
            break;
        }
        described.push(Described { kernel, name, layout });
    }
    described
}

pub(in crate::calls) fn vcuda_library_get_kernels(
    cx: &Cx<'_>,
    call: api::VcudaLibraryGetKernels<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaLibraryGetKernelsAnswer, Settled<kind::Module>)> {
    cx.enter_any()?;
    let more = call.more as usize;
    if more > MORE_KERNELS_MAX {
        return Err(CuError::INVALID_VALUE);
    }
    let name = c_name(call.name)?;
    let id = claim_function(cx, call.p_kernel.into())?;
    let library = lock(&cx.shared.tables).libraries.get(call.library)?.clone();
    let mut kernel = std::ptr::null_mut();
    // SAFETY: the library is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The other pointers are to local variables.
    unsafe { cx.driver().cuLibraryGetKernel(&mut kernel, library.real.0, name.as_ptr())? };
    let (layout, others, settled) = with_any_context(cx, |cx| {
        let part = reservation.part();
        let settled = reserve_listed(cx, part, &library.load, call.name.as_bytes())?;
        let layout = kernel_layout(cx, kernel)?;
        let others = match more {
            0 => vec![],
            _ => describe_more(cx, &reservation, &library, kernel, more),
        };
        Ok((layout, others, settled))
    })?;
    let function = |described: Described| Function {
        real: DriverHandle(described.kernel.cast()),
        is_kernel: true,
        layout: described.layout,
        owner: Owner::Library { id: call.library, ctx: ContextId::NONE },
        code: library.load.code_of(described.name.as_bytes()),
        load: library.load.clone(),
        need: Need::UNKNOWN,
    };
    let mut answer =
        api::VcudaLibraryGetKernelsAnswer { layout: places(&layout), ..Default::default() };
    id.list(function(Described { kernel, name, layout }));
    for (described, number) in others.into_iter().zip(1..) {
        // The guest library reserves consecutive ids for these kernels, so stop when an id can't be
        // used.
        let next = call.p_kernel.0.checked_add(number).map(FuncId);
        let Some(Ok(id)) = next.map(|id| claim_function(cx, id)) else { break };
        let places = places(&described.layout);
        answer.names.push(&described.name);
        answer.counts.push(places.len() as u32);
        answer.layouts.extend(places);
        id.list(function(described));
    }
    Ok((answer, settled))
}

pub(in crate::calls) fn vcuda_library_kernel_names(
    cx: &Cx<'_>,
    call: api::VcudaLibraryKernelNames,
) -> CuResult<api::VcudaLibraryKernelNamesAnswer> {
    cx.enter_any()?;
    let mut names = Names::default();
    for kernel in enumerate(cx, cx.library(call.lib)?)? {
        names.push(&kernel_name(cx, kernel.0)?);
    }
    Ok(api::VcudaLibraryKernelNamesAnswer { names })
}

pub(in crate::calls) fn vcuda_module_function_names(
    cx: &Cx<'_>,
    call: api::VcudaModuleFunctionNames,
) -> CuResult<api::VcudaModuleFunctionNamesAnswer> {
    cx.enter()?;
    let module = cx.module(call.hmod)?;
    let mut count = 0;
    // SAFETY: the module is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe { cx.driver().cuModuleGetFunctionCount(&mut count, module)? };
    let mut functions = vec![std::ptr::null_mut(); (count as usize).min(KERNEL_NAMES_MAX)];
    let mut names = Names::default();
    // SAFETY: the vector has room for `room` functions, as many as are requested. A function's name
    // is a C string that lives as long as its module, which is in use by this call.
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

pub(in crate::calls) fn cu_kernel_get_function(
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
    let (real, need) = (DriverHandle(function), Need::UNKNOWN);
    id.list(Function { real, is_kernel: false, owner, need, ..kernel });
    Ok(settled)
}

const ATTRIBUTES: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX.0;
const _: () = assert!(ATTRIBUTES as usize <= FUNCTION_ATTRIBUTES_MAX);

/// Queries all attributes that this version of CUDA has.
fn attributes(
    query: impl Fn(&mut i32, CUfunction_attribute) -> CuResult,
) -> Vec<FunctionAttribute> {
    let attribute = |number| {
        let mut value = 0;
        match query(&mut value, CUfunction_attribute(number)) {
            Ok(()) => FunctionAttribute { result: 0, value },
            Err(error) => FunctionAttribute { result: error.0, value: 0 },
        }
    };
    (0..ATTRIBUTES).map(attribute).collect()
}

fn function_attributes(cx: &Cx<'_>, function: CUfunction) -> Vec<FunctionAttribute> {
    attributes(|value, attribute| {
        // SAFETY: the function is live, because the calling function has looked it up. The pointer
        // is to a local variable.
        unsafe { cx.driver().cuFuncGetAttribute(value, attribute, function) }
    })
}

pub(in crate::calls) fn vcuda_func_attributes(
    cx: &Cx<'_>,
    call: api::VcudaFuncAttributes,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaFuncAttributesAnswer, Settled<kind::Module>)> {
    cx.enter_any()?;
    let (function, settled) = func(cx, reservation, call.hfunc)?;
    let attributes = function_attributes(cx, function);
    Ok((api::VcudaFuncAttributesAnswer { attributes }, settled))
}

pub(in crate::calls) fn vcuda_kernel_attributes(
    cx: &Cx<'_>,
    call: api::VcudaKernelAttributes,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaKernelAttributesAnswer, Settled<kind::Module>)> {
    cx.enter_any()?;
    let kernel = cx.kernel(call.kernel)?;
    let settled = reserve_kernel_on(cx, reservation, call.dev, call.kernel)?;
    let attributes = attributes(|value, attribute| {
        // SAFETY: the kernel is live, because objects that a call has looked up aren't destroyed
        // before the call ends (`tables/uses.rs`). The pointer is to a local variable.
        unsafe { cx.driver().cuKernelGetAttribute(value, attribute, kernel, call.dev) }
    });
    Ok((api::VcudaKernelAttributesAnswer { attributes }, settled))
}

pub(in crate::calls) fn cu_func_set_attribute(
    cx: &Cx<'_>,
    call: api::CuFuncSetAttribute,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let (function, settled) = func(cx, reservation, call.hfunc)?;
    // SAFETY: the function is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`).
    unsafe {
        let attribute = CUfunction_attribute(call.attrib);
        cx.driver().cuFuncSetAttribute(function, attribute, call.value)?;
    }
    Ok(settled)
}

pub(in crate::calls) fn cu_kernel_set_attribute(
    cx: &Cx<'_>,
    call: api::CuKernelSetAttribute,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter_any()?;
    let kernel = cx.kernel(call.kernel)?;
    let settled = reserve_kernel_on(cx, reservation, call.dev, call.kernel)?;
    // SAFETY: the kernel is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`).
    unsafe {
        let attribute = CUfunction_attribute(call.attrib);
        cx.driver().cuKernelSetAttribute(attribute, call.val, kernel, call.dev)?;
    }
    Ok(settled)
}

pub(in crate::calls) fn cu_func_set_cache_config(
    cx: &Cx<'_>,
    call: api::CuFuncSetCacheConfig,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let (function, settled) = func(cx, reservation, call.hfunc)?;
    // SAFETY: the function is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`).
    unsafe { cx.driver().cuFuncSetCacheConfig(function, CUfunc_cache(call.config))? };
    Ok(settled)
}

pub(in crate::calls) fn cu_kernel_set_cache_config(
    cx: &Cx<'_>,
    call: api::CuKernelSetCacheConfig,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter_any()?;
    let kernel = cx.kernel(call.kernel)?;
    let settled = reserve_kernel_on(cx, reservation, call.dev, call.kernel)?;
    // SAFETY: the kernel is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`).
    unsafe {
        let config = CUfunc_cache(call.config);
        cx.driver().cuKernelSetCacheConfig(kernel, config, call.dev)?;
    }
    Ok(settled)
}
