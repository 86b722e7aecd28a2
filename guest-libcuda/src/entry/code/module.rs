//! Entry points for modules.

use crate::context;
use crate::device;
use crate::driver::{Driver, driver};
use crate::entry::code::image::{bytes_of, in_file, read_file, send};
use crate::entry::memory::allocation::note;
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::jit::JitOptions;
use crate::log::say;
use crate::memory::Kind;
use crate::objects::{ATTRIBUTES_ROOM, ByName, Function, Globals, Module, Origin, Place};
use crate::remembered::once;
use crate::thread;
use cuda_api::args::{In, Out, Text};
use cuda_api::texture_refs::registry;
use protocol::calls::{
    CuModuleGetFunctionCount, CuModuleGetLoadingMode, CuModuleUnload, VcudaModuleFunctionNames,
    VcudaModuleGetFunction, VcudaModuleGetGlobal, VcudaModuleLoad, VcudaModuleLoadAnswer,
};
use protocol::codec::Answer;
use protocol::ids::FunctionId;
use protocol::limits::{KERNEL_NAME_BYTES_MAX, PARAMETERS_MAX};
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

/// The maximum length in bytes of a reply that describes a kernel's parameters.
pub const LAYOUT_ROOM: usize = PARAMETERS_MAX * 16 + 16;

fn load(out: Out<Handle>, image: &[u8], jit: &JitOptions) -> CuResult {
    let driver = context::driver()?;
    let started = Instant::now();
    let sent = send(driver, image)?;
    let id = driver.session.mint();
    let call = VcudaModuleLoad {
        module: id,
        blob: sent.blob,
        image: sent.inline,
        options: (&jit.wire).into(),
        log_max: jit.log_max(),
    };
    let pending = driver.session.begin(&call, jit.answer_room())?;
    let replied = driver.session.finish(pending)?;
    jit.store_time(started);
    if let Ok(answer) = VcudaModuleLoadAnswer::decode(replied.as_bytes()) {
        if !answer.error.is_empty() {
            say!(Warn, "loading a module: {}", String::from_utf8_lossy(&answer.error));
        }
        jit.store_logs(&answer.info, &answer.error);
    }
    replied.result()?;
    let module = Module {
        id,
        context: context::current()?.id(),
        functions: Default::default(),
        library: None,
        globals: Default::default(),
        function_count: Default::default(),
    };
    out.set(driver.handles.insert(Object::Module(Arc::new(module)))?)
}

/// Loads a module from the image at an address in the program's memory.
///
/// # Safety
///
/// If not null, the address must be that of an image, as [`bytes_of`] requires.
unsafe fn load_at(out: Out<Handle>, image: *const c_void, jit: &JitOptions) -> CuResult {
    out.check()?;
    if image.is_null() {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, so the caller promises that it points to an image.
    load(out, unsafe { bytes_of(image) }?, jit)
}

/// Returns the handle of the function with this name in a module.
fn function(driver: &Driver, handle: Handle, name: &str) -> CuResult<Handle> {
    let module: Arc<Module> = driver.handles.get(handle)?;
    let mut known = module.functions.lock();
    if let Some(&function) = known.get(name.as_bytes()) {
        return Ok(function);
    }
    let hfunc: FunctionId = driver.session.mint();
    let call = VcudaModuleGetFunction { hfunc, hmod: module.id, name };
    let room = LAYOUT_ROOM + ATTRIBUTES_ROOM;
    let answer = driver.session.call_with_room(&call, room)?;
    let function = Function::new(hfunc.into(), name, Origin::Module(handle), &answer.layout)?;
    let (version, (_, context)) = (function.attributes.version(), thread::origin());
    function.keep_attributes(version, Place::Context(context), &answer.attributes);
    let function = driver.handles.insert(Object::Function(Arc::new(function)))?;
    known.insert(name.into(), function);
    Ok(function)
}

/// Returns the handles of the first `count` functions of a module.
pub fn functions(driver: &Driver, handle: Handle, count: usize) -> CuResult<Vec<Handle>> {
    let module: Arc<Module> = driver.handles.get(handle)?;
    let call = VcudaModuleFunctionNames { hmod: module.id };
    let names = driver.session.call_with_room(&call, KERNEL_NAME_BYTES_MAX + 16)?.names;
    names.iter().take(count).map(|name| function(driver, handle, name)).collect()
}

/// Returns the address and size of a variable in the current context. The result is remembered, so
/// the worker is asked only once.
pub fn global(
    driver: &Driver,
    globals: &Globals,
    name: &str,
    query: impl FnOnce() -> CuResult<(u64, usize)>,
) -> CuResult<(u64, usize)> {
    let question = (thread::origin().1, name.as_bytes().to_vec());
    if let Some(&known) = globals.lock().get(&question) {
        return Ok(known);
    }
    let (address, bytes) = query()?;
    note(driver, address, bytes, Kind::Global)?;
    globals.lock().insert(question, (address, bytes));
    Ok((address, bytes))
}

/// Removes this library's records of the functions and globals of a module or library.
pub fn forget(driver: &Driver, functions: &ByName, globals: &Globals) {
    for (_, function) in functions.lock().drain() {
        let _ = driver.handles.remove::<Arc<Function>>(function);
    }
    for (_, (address, _)) in globals.lock().drain() {
        driver.memory.remove(address, |found| found.kind == Kind::Global);
    }
}

entries! {
    fn cuModuleLoad(out: Out<Handle>, path: Text) {
        out.check()?;
        context::driver()?;
        load(out, in_file(&read_file(path)?)?, &JitOptions::default())
    }

    fn cuModuleLoadData(out: Out<Handle>, image: *const c_void) {
        // SAFETY: the program passes null or a pointer to an image.
        unsafe { load_at(out, image, &JitOptions::default()) }
    }

    fn cuModuleLoadDataEx(
        out: Out<Handle>, image: *const c_void, count: u32, options: In<u32>, values: In<usize>,
    ) {
        // SAFETY: the program passes arrays of `count` options, and the buffers that the options
        // describe.
        let jit = unsafe { JitOptions::read(count, options, values) }?;
        // SAFETY: the program passes null or a pointer to an image.
        unsafe { load_at(out, image, &jit) }
    }

    fn cuModuleLoadFatBinary(out: Out<Handle>, image: *const c_void) {
        // SAFETY: the program passes null or a pointer to an image.
        unsafe { load_at(out, image, &JitOptions::default()) }
    }

    fn cuModuleUnload(handle: Handle) {
        let driver = driver()?;
        let module: Arc<Module> = driver.handles.get(handle)?;
        if module.library.is_some() {
            return Err(CuError::INVALID_HANDLE);
        }
        driver.handles.remove::<Arc<Module>>(handle)?;
        registry::forget_module(handle);
        forget(driver, &module.functions, &module.globals);
        driver.session.call(&CuModuleUnload { hmod: module.id })
    }

    fn cuModuleGetFunction(out: Out<Handle>, module: Handle, name: Text) {
        out.check()?;
        out.set(function(driver()?, module, name.name()?)?)
    }

    fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) {
        count.check()?;
        let driver = driver()?;
        let module: Arc<Module> = driver.handles.get(module)?;
        let call = CuModuleGetFunctionCount { hmod: module.id };
        count.set(once(&module.function_count, || Ok(driver.session.call(&call)?.count))?)
    }

    fn cuModuleEnumerateFunctions(out: Out<Handle>, count: u32, module: Handle) {
        out.check()?;
        // SAFETY: the program's array has `count` elements.
        let out = unsafe { out.array(count as usize) };
        out.set_all(functions(driver()?, module, count as usize)?)
    }

    fn cuModuleGetGlobal_v2(
        address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text,
    ) {
        let driver = driver()?;
        let module: Arc<Module> = driver.handles.get(module)?;
        let name = name.name()?;
        let (at, len) = global(driver, &module.globals, name, || {
            let found = driver.session.call(&VcudaModuleGetGlobal { hmod: module.id, name })?;
            Ok((found.dptr, found.bytes))
        })?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(len);
        Ok(())
    }

    fn cuModuleGetLoadingMode(mode: Out<u32>) {
        mode.check()?;
        let driver = driver()?;
        let call = CuModuleGetLoadingMode {};
        mode.set(once(&driver.loading_mode, || match device::module_loading() {
            Some(mode) => Ok(mode),
            None => Ok(driver.session.call(&call)?.mode),
        })?)
    }
}
