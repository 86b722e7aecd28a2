//! Entry points for functions (in modules) and kernels (in libraries). Every call that takes a
//! function also takes a kernel, so both are the same here and `cuKernelGetFunction` returns its
//! argument.

use super::library::module_of;
use crate::context;
use crate::driver::{Driver, driver};
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::objects::{Function, Origin};
use cuda_api::args::Out;
use cuda_api::sys::{CUfunction_attribute, CUsharedconfig};
use protocol::calls::{
    CuFuncGetAttribute, CuFuncIsLoaded, CuFuncLoad, CuFuncSetAttribute, CuFuncSetCacheConfig,
    CuKernelGetAttribute, CuKernelSetAttribute, CuKernelSetCacheConfig,
};
use std::ffi::c_char;
use std::sync::Arc;

const LARGEST_BANKS: u32 = CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0;
const ATTRIBUTES: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX.0;

/// Returns an attribute of a function. The value is cached until an attribute is set.
pub fn attribute(driver: &Driver, function: &Function, attribute: u32) -> CuResult<i32> {
    if attribute >= ATTRIBUTES {
        return Err(CuError::INVALID_VALUE);
    }
    if let Some(&value) = function.attributes.lock().get(&attribute) {
        return Ok(value);
    }
    let call = CuFuncGetAttribute { attrib: attribute, hfunc: function.id };
    let value = driver.session.call(&call)?.pi;
    function.attributes.lock().insert(attribute, value);
    Ok(value)
}

fn kernel_attribute(
    driver: &Driver,
    function: &Function,
    attribute: u32,
    device: i32,
) -> CuResult<i32> {
    if attribute >= ATTRIBUTES {
        return Err(CuError::INVALID_VALUE);
    }
    // A kernel's attribute may differ between devices, so the key includes the device.
    let key = attribute | (device as u32) << 8;
    if let Some(&value) = function.attributes.lock().get(&key) {
        return Ok(value);
    }
    let dev = driver.device(device)?.number;
    let call = CuKernelGetAttribute { attrib: attribute, kernel: function.id.as_kernel(), dev };
    let value = driver.session.call(&call)?.pi;
    function.attributes.lock().insert(key, value);
    Ok(value)
}

fn forget_answers(function: &Function) {
    function.attributes.lock().clear();
    function.occupancy.lock().clear();
}

fn parameter(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) -> CuResult {
    offset.check()?;
    let function: Arc<Function> = driver()?.handles.get(function)?;
    let parameter = function.parameters.get(index).ok_or(CuError::INVALID_VALUE)?;
    offset.set(parameter.offset)?;
    size.set_if_wanted(parameter.size);
    Ok(())
}

fn name(out: Out<*const c_char>, function: Handle) -> CuResult {
    let function: Arc<Function> = driver()?.handles.get(function)?;
    out.set(function.name.as_ptr())
}

entries! {
    fn cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        let _: Arc<Function> = context::driver()?.handles.get(kernel)?;
        out.set(kernel)
    }

    fn cuFuncGetModule(out: Out<Handle>, function: Handle) {
        out.check()?;
        let driver = driver()?;
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
        forget_answers(&function);
        driver.session.call(&CuFuncSetAttribute { hfunc: function.id, attrib, value })
    }

    fn cuKernelGetAttribute(out: Out<i32>, number: u32, kernel: Handle, device: i32) {
        out.check()?;
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        out.set(kernel_attribute(driver, &function, number, device)?)
    }

    fn cuKernelSetAttribute(attrib: u32, value: i32, kernel: Handle, device: i32) {
        let driver = driver()?;
        let dev = driver.device(device)?.number;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        forget_answers(&function);
        let call = CuKernelSetAttribute { attrib, val: value, kernel: function.id.as_kernel(), dev };
        driver.session.call(&call)
    }

    fn cuFuncSetCacheConfig(function: Handle, config: u32) {
        let driver = driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        driver.session.call(&CuFuncSetCacheConfig { hfunc: function.id, config })
    }

    fn cuKernelSetCacheConfig(kernel: Handle, config: u32, device: i32) {
        let driver = driver()?;
        let dev = driver.device(device)?.number;
        let function: Arc<Function> = driver.handles.get(kernel)?;
        driver.session.call(&CuKernelSetCacheConfig { kernel: function.id.as_kernel(), config, dev })
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
        let driver = context::driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        driver.session.call(&CuFuncLoad { hfunc: function.id })
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: Handle) {
        state.check()?;
        if function == 0 {
            return Err(CuError::INVALID_HANDLE);
        }
        let driver = context::driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        state.set(driver.session.call(&CuFuncIsLoaded { hfunc: function.id })?.state)
    }
}
