//! Entry points for libraries and their kernels.

use crate::context::{self, current};
use crate::driver::{Driver, driver};
use crate::entry::code::image::{bytes_of, in_file, read_file, send};
use crate::entry::code::module::{LAYOUT_ROOM, forget, global};
use crate::entry::contexts::context::{release_primary, retain_primary};
use crate::entry::memory::allocation::note;
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::jit::JitOptions;
use crate::log::say;
use crate::memory::Kind;
use crate::objects::{Function, Library, Module, Origin};
use crate::remembered::once;
use crate::thread;
use crate::windows;
use cuda_api::args::{In, Out, Text};
use cuda_api::fatbin::{ELF_MAGIC, is_deferred, is_elf};
use cuda_api::library_options;
use cuda_api::managed::Managed;
use cuda_api::sys::CUlibraryOption;
use cuda_api::texture_refs::registry;
use protocol::calls::{
    CuLibraryGetKernelCount, CuLibraryGetModule, CuLibraryUnload, VcudaLibraryGetGlobal,
    VcudaLibraryGetKernels, VcudaLibraryGetManaged, VcudaLibraryGetManagedAnswer,
    VcudaLibraryKernelNames, VcudaLibraryLoad, VcudaLibraryLoadAnswer,
};
use protocol::codec::Answer;
use protocol::ids::{KernelId, LibraryId};
use protocol::limits::{KERNEL_NAME_BYTES_MAX, MORE_KERNEL_NAME_BYTES_MAX, MORE_KERNELS_MAX};
use protocol::structs::ParameterPlace;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The number of additional kernels that the first lookup in a library requests. Later lookups
/// request more. Many programs use only a few kernels of a library.
const MORE_AT_FIRST: usize = 8;
/// The maximum length in bytes of a reply with several kernels.
const KERNELS_ROOM: usize =
    2 * LAYOUT_ROOM + MORE_KERNEL_NAME_BYTES_MAX + 4 * MORE_KERNELS_MAX + 32;

/// Loads a library. If its image is damaged, this succeeds, and the calls that look something up in
/// the library return the error.
fn load(out: Out<Handle>, image: CuResult<&[u8]>, is_elf: bool, jit: &JitOptions) -> CuResult {
    let driver = driver()?;
    let (id, failed) = match image.and_then(|image| send_library(driver, image, jit)) {
        Ok(id) => (id, None),
        Err(error) if is_deferred(error, is_elf) => (driver.session.mint(), Some(error)),
        Err(error) => return Err(error),
    };
    let library = Library {
        id,
        failed,
        kernels: Default::default(),
        modules: Default::default(),
        functions: Default::default(),
        globals: Default::default(),
        kernel_count: Default::default(),
        managed: Default::default(),
        holds_primary: Default::default(),
    };
    out.set(driver.handles.insert(Object::Library(Arc::new(library)))?)
}

/// Sends a library's image to the worker, which loads it.
fn send_library(driver: &Driver, image: &[u8], jit: &JitOptions) -> CuResult<LibraryId> {
    let started = Instant::now();
    let sent = send(driver, image)?;
    let id = driver.session.mint();
    // Library options are not sent. They are pointers in this process (to tables of host functions)
    // or a promise that the image stays in memory. Neither means anything in the worker.
    let call = VcudaLibraryLoad {
        library: id,
        blob: sent.blob,
        image: sent.inline,
        options: (&jit.wire).into(),
        library_options: Default::default(),
        log_max: jit.log_max(),
    };
    let pending = driver.session.begin(&call, jit.answer_room())?;
    let replied = driver.session.finish(pending)?;
    jit.store_time(started);
    if let Ok(answer) = VcudaLibraryLoadAnswer::decode(replied.as_bytes()) {
        if !answer.error.is_empty() {
            say!(Warn, "loading a library: {}", String::from_utf8_lossy(&answer.error));
        }
        jit.store_logs(&answer.info, &answer.error);
    }
    replied.result()?;
    Ok(id)
}

/// Returns a library, unless its image is damaged.
fn loaded(driver: &Driver, handle: Handle) -> CuResult<Arc<Library>> {
    let library: Arc<Library> = driver.handles.get(handle)?;
    library.failed.map_or(Ok(library), Err)
}

/// Returns the handle of the kernel with this name in a library. If the kernel isn't known yet,
/// also requests other kernels from the worker that the program may look up next.
fn kernel(driver: &Driver, handle: Handle, name: &str) -> CuResult<Handle> {
    let library = loaded(driver, handle)?;
    let mut known = library.kernels.lock();
    if let Some(&kernel) = known.get(name.as_bytes()) {
        return Ok(kernel);
    }
    // A program that looks up a second kernel will probably look up many, so request as many as
    // possible.
    let more = if known.is_empty() { MORE_AT_FIRST } else { MORE_KERNELS_MAX };
    let p_kernel: KernelId = driver.session.mint_several(1 + more as u64);
    let call = VcudaLibraryGetKernels { p_kernel, library: library.id, name, more: more as u32 };
    let answer = driver.session.call_with_room(&call, KERNELS_ROOM)?;
    let keep = |id: KernelId, name: &str, layout: &[ParameterPlace]| {
        let function = Function::new(id.into(), name, Origin::Library(handle), layout)?;
        driver.handles.insert(Object::Function(Arc::new(function)))
    };
    let kernel = keep(p_kernel, name, &answer.layout)?;
    known.insert(name.into(), kernel);
    let mut layouts = answer.layouts.as_slice();
    for ((name, &count), number) in answer.names.iter().zip(&answer.counts).zip(1..) {
        let Some((layout, rest)) = layouts.split_at_checked(count as usize) else { break };
        layouts = rest;
        // Ignore errors, because the program hasn't asked for this kernel.
        if !known.contains_key(name.as_bytes())
            && let Ok(kernel) = keep(KernelId(p_kernel.0 + number), name, layout)
        {
            known.insert(name.into(), kernel);
        }
    }
    Ok(kernel)
}

/// Returns the handle of the module into which a library is loaded in the current context.
pub fn module_of(driver: &Driver, handle: Handle) -> CuResult<Handle> {
    let library = loaded(driver, handle)?;
    let context = current()?;
    let mut modules = library.modules.lock();
    if let Some(&module) = modules.get(&context.id()) {
        return Ok(module);
    }
    let id = driver.session.mint();
    driver.session.call(&CuLibraryGetModule { p_mod: id, library: library.id })?;
    let module = Module {
        id,
        context: context.id(),
        functions: Default::default(),
        library: Some(handle),
        globals: Default::default(),
        function_count: Default::default(),
    };
    let module = driver.handles.insert(Object::Module(Arc::new(module)))?;
    modules.insert(context.id(), module);
    Ok(module)
}

/// Returns the address and size of a managed variable, after mapping memory at that address in the
/// program and registering it for copying between program and worker.
fn managed(
    driver: &Driver,
    library: &Library,
    name: &str,
) -> CuResult<VcudaLibraryGetManagedAnswer> {
    if current().is_ok() {
        return managed_in_context(driver, library, name);
    }
    // cudart asks for managed variables before it creates a context. The worker needs a context to
    // read them, so the library retains a primary context until it's unloaded.
    let context = retain_primary(0)?;
    if library.holds_primary.swap(true, Ordering::Relaxed) {
        release_primary(0)?;
    }
    thread::within(context, || managed_in_context(driver, library, name))
}

/// Does what [`managed`] does, for a thread that has a current context.
fn managed_in_context(
    driver: &Driver,
    library: &Library,
    name: &str,
) -> CuResult<VcudaLibraryGetManagedAnswer> {
    let found = driver.session.call(&VcudaLibraryGetManaged { library: library.id, name })?;
    // Hold the lock while the variable is added, so that two threads don't add it twice.
    let mut variables = library.managed.lock();
    if driver.session.mirrors.contains(found.dptr) {
        return Ok(found);
    }
    windows::provide(found.dptr, found.bytes).map_err(|error| {
        say!(Error, "can't map the managed variable {name} at {:#x}: {error}", found.dptr);
        CuError::OUT_OF_MEMORY
    })?;
    // SAFETY: `provide` has mapped these pages for the variable, and they stay mapped.
    unsafe {
        driver.session.mirrors.add(&driver.session, (found.dptr, found.bytes), (library.id, name))
    }?;
    note(driver, found.dptr, found.bytes, Kind::ManagedVariable)?;
    driver.memory.managed.lock().insert(found.dptr, Managed::new(found.bytes as u64));
    variables.push(found.dptr);
    Ok(found)
}

fn kernel_count(driver: &Driver, handle: Handle) -> CuResult<u32> {
    let library: Arc<Library> = driver.handles.get(handle)?;
    if library.failed.is_some() {
        return Ok(0);
    }
    let call = CuLibraryGetKernelCount { lib: library.id };
    once(&library.kernel_count, || Ok(driver.session.call(&call)?.count))
}

/// Returns the handles of the first `count` kernels of a library.
pub fn kernels(driver: &Driver, handle: Handle, count: usize) -> CuResult<Vec<Handle>> {
    let library: Arc<Library> = driver.handles.get(handle)?;
    if library.failed.is_some() {
        return Ok(Vec::new());
    }
    let call = VcudaLibraryKernelNames { lib: library.id };
    let names = driver.session.call_with_room(&call, KERNEL_NAME_BYTES_MAX + 16)?.names;
    names.iter().take(count).map(|name| kernel(driver, handle, name)).collect()
}

entries! {
    fn cuLibraryLoadData(
        out: Out<Handle>, code: *const c_void,
        jit_options: In<u32>, jit_values: In<usize>, jit_count: u32,
        options: In<CUlibraryOption>, _values: In<usize>, count: u32,
    ) {
        out.check()?;
        driver()?;
        if code.is_null() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes arrays of `jit_count` options, and the buffers that the
        // options describe.
        let jit = unsafe { JitOptions::read(jit_count, jit_options, jit_values) }?;
        // SAFETY: the program passes an array of `count` options.
        unsafe { library_options::check(options, count, false) }?;
        // SAFETY: the program passes a pointer to an image.
        let (image, is_elf) = unsafe { (bytes_of(code), is_elf(code)) };
        load(out, image, is_elf, &jit)
    }

    fn cuLibraryLoadFromFile(
        out: Out<Handle>, path: Text,
        jit_options: In<u32>, jit_values: In<usize>, jit_count: u32,
        options: In<CUlibraryOption>, _values: In<usize>, count: u32,
    ) {
        out.check()?;
        driver()?;
        // SAFETY: the program passes arrays of `jit_count` options, and the buffers that the
        // options describe.
        let jit = unsafe { JitOptions::read(jit_count, jit_options, jit_values) }?;
        // SAFETY: the program passes an array of `count` options.
        unsafe { library_options::check(options, count, true) }?;
        let file = read_file(path)?;
        load(out, in_file(&file), file.starts_with(&ELF_MAGIC), &jit)
    }

    fn cuLibraryUnload(handle: Handle) {
        let driver = driver()?;
        let library: Arc<Library> = driver.handles.remove(handle)?;
        for (_, module) in library.modules.lock().drain() {
            registry::forget_module(module);
            if let Ok(module) = driver.handles.remove::<Arc<Module>>(module) {
                forget(driver, &module.functions, &module.globals);
            }
        }
        for (_, function) in library.functions.lock().drain() {
            let _ = driver.handles.remove::<Arc<Function>>(function);
        }
        if library.failed.is_some() {
            return Ok(());
        }
        driver.session.mirrors.forget_library(library.id);
        forget(driver, &library.kernels, &library.globals);
        for variable in library.managed.lock().drain(..) {
            driver.memory.remove(variable, |found| found.kind == Kind::ManagedVariable);
            driver.memory.managed.lock().remove(&variable);
        }
        driver.session.call(&CuLibraryUnload { library: library.id })?;
        match library.holds_primary.load(Ordering::Relaxed) {
            true => release_primary(0),
            false => Ok(()),
        }
    }

    fn cuLibraryGetKernel(out: Out<Handle>, library: Handle, name: Text) {
        out.check()?;
        out.set(kernel(driver()?, library, name.name()?)?)
    }

    fn cuLibraryGetModule(out: Out<Handle>, library: Handle) {
        out.check()?;
        out.set(module_of(context::driver()?, library)?)
    }

    fn cuLibraryGetGlobal(
        address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text,
    ) {
        let driver = context::driver()?;
        let library = loaded(driver, library)?;
        let name = name.name()?;
        let (at, len) = global(driver, &library.globals, name, || {
            let call = VcudaLibraryGetGlobal { library: library.id, name };
            let found = driver.session.call(&call)?;
            Ok((found.dptr, found.bytes))
        })?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(len);
        Ok(())
    }

    fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        let library = loaded(driver()?, library)?;
        let name = name.name()?;
        if !address.is_wanted() && !bytes.is_wanted() {
            return Err(CuError::INVALID_VALUE);
        }
        let found = managed(driver()?, &library, name)?;
        address.set_if_wanted(found.dptr);
        bytes.set_if_wanted(found.bytes);
        Ok(())
    }

    /// No device has unified function pointers.
    fn cuLibraryGetUnifiedFunction(out: Out<*mut c_void>, library: Handle, name: Text) {
        driver()?.handles.get::<Arc<Library>>(library)?;
        name.get()?;
        out.check()?;
        Err(CuError::INVALID_VALUE)
    }

    fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle) {
        count.check()?;
        count.set(kernel_count(driver()?, library)?)
    }

    fn cuLibraryEnumerateKernels(out: Out<Handle>, count: u32, library: Handle) {
        out.check()?;
        // SAFETY: the program's array has `count` elements.
        let out = unsafe { out.array(count as usize) };
        out.set_all(kernels(driver()?, library, count as usize)?)
    }

    fn cuKernelGetLibrary(out: Out<Handle>, kernel: Handle) {
        let function: Arc<Function> = driver()?.handles.get(kernel)?;
        match function.origin {
            Origin::Library(library) => out.set(library),
            Origin::Module(_) => Err(CuError::INVALID_HANDLE),
        }
    }
}
