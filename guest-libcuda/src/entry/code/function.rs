//! Entry points for functions (in modules) and kernels (in libraries). Every call that takes a
//! function also takes a kernel, so both are the same here.

use crate::context;
use crate::device::Device;
use crate::driver::{Driver, driver};
use crate::entry::code::library::module_of;
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::objects::{ATTRIBUTES_ROOM, ByName, Function, Library, Module, Origin, Place};
use crate::thread;
use cuda_api::args::{Out, check_handle};
use cuda_api::sys::{CUfunction_attribute, CUsharedconfig};
use protocol::calls::{
    CuFuncIsLoaded, CuFuncLoad, CuFuncSetAttribute, CuFuncSetCacheConfig, CuKernelSetAttribute,
    CuKernelSetCacheConfig, VcudaFuncAttributes, VcudaKernelAttributes,
};
use protocol::structs::FunctionAttribute;
use std::ffi::c_char;
use std::sync::Arc;

const LARGEST_BANKS: u32 = CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0;
const ATTRIBUTES: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX.0;

/// Returns an attribute of a function. The worker sends all attributes at once. This library
/// remembers each attribute until the program sets it.
fn attribute_in(
    function: &Function,
    place: Place,
    number: u32,
    query: impl FnOnce() -> CuResult<Vec<FunctionAttribute>>,
) -> CuResult<i32> {
    if number >= ATTRIBUTES {
        return Err(CuError::INVALID_VALUE);
    }
    if let Some(value) = function.attributes.get(&(place, number)) {
        return Ok(value);
    }
    let version = function.attributes.version();
    let all = query()?;
    function.keep_attributes(version, place, &all);
    match all.get(number as usize) {
        Some(attribute) if attribute.result == 0 => Ok(attribute.value),
        Some(attribute) => Err(CuError(attribute.result)),
        // The worker's CUDA version is older than this attribute.
        None => Err(CuError::INVALID_VALUE),
    }
}

/// Returns an attribute of a function in the current context.
pub fn attribute(driver: &Driver, function: &Function, number: u32) -> CuResult<i32> {
    let (_, context) = thread::origin();
    attribute_in(function, Place::Context(context), number, || {
        let call = VcudaFuncAttributes { hfunc: function.id };
        Ok(driver.session.call_with_room(&call, ATTRIBUTES_ROOM)?.attributes)
    })
}

/// Returns the [`Place`] under which a kernel's attributes on a device are remembered.
fn place_of(device: &Device) -> Place {
    Place::Device(device.primary_context.id())
}

fn kernel_attribute(
    driver: &Driver,
    function: &Function,
    number: u32,
    device: i32,
) -> CuResult<i32> {
    let device = driver.device(device)?;
    let dev = device.number;
    attribute_in(function, place_of(device), number, || {
        let call = VcudaKernelAttributes { kernel: function.id.as_kernel(), dev };
        Ok(driver.session.call_with_room(&call, ATTRIBUTES_ROOM)?.attributes)
    })
}

/// Sets an attribute of a function to a value. Libraries do this before each launch, so nothing is
/// sent if the last call that set the attribute set the same value.
fn set_attribute(
    driver: &Driver,
    function: &Function,
    what: (Place, u32),
    value: i32,
    call: impl FnOnce() -> CuResult,
) -> CuResult {
    if function.set.get(&what) == Some(value) {
        return driver.session.check_sticky();
    }
    let version = function.set.version();
    let result = call();
    let is_it = |(_, number): &(Place, u32)| *number == what.1;
    for other in namesakes(driver, function) {
        other.set.forget_where(is_it);
        other.attributes.forget_where(is_it);
        other.occupancy.forget();
    }
    function.attributes.forget_where(is_it);
    function.occupancy.forget();
    function.set.replace(version, is_it, result.is_ok().then_some((what, value)));
    result
}

/// Makes a call that changes a function's settings, and discards the remembered results of queries
/// about the function. A kernel of a library has a second handle: that of the function in the
/// library's module. The change affects this function, too.
fn change(driver: &Driver, function: &Function, call: impl FnOnce() -> CuResult) -> CuResult {
    let result = call();
    function.forget_answers();
    for other in namesakes(driver, function) {
        other.forget_answers();
    }
    result
}

/// Returns the functions of a library's modules that belong to a kernel of the library, or the
/// kernel that belongs to such a function.
fn namesakes(driver: &Driver, function: &Function) -> Vec<Arc<Function>> {
    let named = |functions: &ByName| {
        let handle = functions.lock().get(function.name.as_bytes()).copied()?;
        driver.handles.get::<Arc<Function>>(handle).ok()
    };
    match function.origin {
        Origin::Module(module) => {
            let module = driver.handles.get::<Arc<Module>>(module).ok();
            let library = module.and_then(|module| module.library);
            let library =
                library.and_then(|handle| driver.handles.get::<Arc<Library>>(handle).ok());
            library.and_then(|library| named(&library.kernels)).into_iter().collect()
        }
        Origin::Library(library) => {
            let Ok(library) = driver.handles.get::<Arc<Library>>(library) else { return vec![] };
            let modules: Vec<Handle> = library.modules.lock().values().copied().collect();
            let modules = modules.into_iter().filter_map(|module| driver.handles.get(module).ok());
            modules.filter_map(|module: Arc<Module>| named(&module.functions)).collect()
        }
    }
}

fn parameter(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> CuResult {
    offset.check()?;
    let driver = driver()?;
    check_handle(function)?;
    let function: Arc<Function> = driver.handles.get(function)?;
    let parameter = function.parameters.get(index).ok_or(CuError::INVALID_VALUE)?;
    offset.set(parameter.offset)?;
    size.set_if_wanted(parameter.size);
    Ok(())
}

fn name(out: Out<*const c_char>, function: Handle) -> CuResult {
    let driver = driver()?;
    check_handle(function)?;
    let function: Arc<Function> = driver.handles.get(function)?;
    out.set(function.name.as_ptr())
}

/// Returns the handle of a kernel's function in the current context.
fn function_of(driver: &Driver, kernel: Handle) -> CuResult<Handle> {
    let function: Arc<Function> = driver.handles.get(kernel)?;
    let Origin::Library(library) = function.origin else { return Ok(kernel) };
    let library: Arc<Library> = driver.handles.get(library)?;
    let context = context::current()?;
    let mut known = library.functions.lock();
    if let Some(&known) = known.get(&(context.id(), kernel)) {
        return Ok(known);
    }
    let handle = driver.handles.insert(Object::Function(function))?;
    known.insert((context.id(), kernel), handle);
    Ok(handle)
}

entries! {
    fn cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        out.check()?;
        out.set(function_of(context::driver()?, kernel)?)
    }

    fn cuFuncGetModule(out: Out<Handle>, function: Handle) {
        out.check()?;
        let driver = driver()?;
        check_handle(function)?;
        let function: Arc<Function> = driver.handles.get(function)?;
        out.set(match function.origin {
            Origin::Module(module) => module,
            Origin::Library(library) => module_of(driver, library)?,
        })
    }

    fn cuFuncGetName(out: Out<*const c_char>, function: Handle) { name(out, function) }
    fn cuKernelGetName(out: Out<*const c_char>, kernel: Handle) { name(out, kernel) }

    fn cuFuncGetParamInfo(
        function: Handle, index: usize, offset: Out<usize>, size: Out<usize>,
    ) {
        parameter(function, index, offset, size)
    }

    fn cuKernelGetParamInfo(
        kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>,
    ) {
        // The result is the same in all contexts. Like NVIDIA's driver, which loads the kernel into
        // the current context, this call requires one.
        let driver = driver()?;
        check_handle(kernel)?;
        let _: Arc<Function> = driver.handles.get(kernel)?;
        context::current()?;
        parameter(kernel, index, offset, size)
    }

    fn cuFuncGetAttribute(out: Out<i32>, number: u32, function: Handle) {
        out.check()?;
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        out.set(attribute(driver, &function, number)?)
    }

    fn cuFuncSetAttribute(function: Handle, attrib: u32, value: i32) {
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        let (_, context) = thread::origin();
        let call = CuFuncSetAttribute { hfunc: function.id, attrib, value };
        let call = || driver.session.call(&call);
        set_attribute(driver, &function, (Place::Context(context), attrib), value, call)
    }

    fn cuKernelGetAttribute(out: Out<i32>, number: u32, kernel: Handle, device: i32) {
        out.check()?;
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        out.set(kernel_attribute(driver, &function, number, device)?)
    }

    fn cuKernelSetAttribute(attrib: u32, value: i32, kernel: Handle, device: i32) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        let (kernel, dev) = (function.id.as_kernel(), device.number);
        let call = CuKernelSetAttribute { attrib, val: value, kernel, dev };
        let call = || driver.session.call(&call);
        set_attribute(driver, &function, (place_of(device), attrib), value, call)
    }

    fn cuFuncSetCacheConfig(function: Handle, config: u32) {
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        let call = CuFuncSetCacheConfig { hfunc: function.id, config };
        change(driver, &function, || driver.session.call(&call))
    }

    fn cuKernelSetCacheConfig(kernel: Handle, config: u32, device: i32) {
        let driver = driver()?;
        let dev = driver.device(device)?.number;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        let call = CuKernelSetCacheConfig { kernel: function.id.as_kernel(), config, dev };
        change(driver, &function, || driver.session.call(&call))
    }

    /// Does nothing, because this setting has no effect on current GPUs.
    fn cuFuncSetSharedMemConfig(function: Handle, config: u32) {
        let _: Arc<Function> = driver()?.handles.get(function)?;
        if config > LARGEST_BANKS { Err(CuError::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuFuncLoad(function: Handle) {
        if function == 0 {
            return Err(CuError::INVALID_HANDLE);
        }
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        context::current()?;
        driver.session.call(&CuFuncLoad { hfunc: function.id })
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: Handle) {
        state.check()?;
        if function == 0 {
            return Err(CuError::INVALID_HANDLE);
        }
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        context::current()?;
        state.set(driver.session.call(&CuFuncIsLoaded { hfunc: function.id })?.state)
    }
}
