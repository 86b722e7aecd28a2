//! Calls for modules and libraries, and for the variables in them.

use std::sync::atomic::Ordering;

use cuda_api::sys::CUlibrary;
use protocol::calls as api;
use protocol::ids::{LibraryId, ModuleId};

use crate::calls::ReplyTo;
use crate::calls::code::image::{c_name, discard, image, part_for};
use crate::calls::code::jit::Jit;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::contexts::charges::{
    Load, Reservation, Settled, give_back_library, give_back_module, kind, new_load,
    new_load_during, reserve_load, reserve_module,
};
use crate::calls::lock;
use crate::calls::memory::allocations::Foreign;
use crate::calls::tables::claims::{LIBRARIES, MODULES, claim};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::ending::{begin_end, end_on_mirror};
use crate::calls::tables::handles::{Library, Module};
use crate::driver::{CuError, CuResult};

pub(in crate::calls) fn vcuda_blob_put(cx: &Cx<'_>, call: api::VcudaBlobPut<'_>) -> CuResult {
    lock(&cx.shared.blobs).put(call.blob, call.total, call.offset, call.data)
}

pub(in crate::calls) fn module(cx: &Cx<'_>, id: ModuleId) -> CuResult<Module> {
    lock(&cx.shared.tables).modules.get(id).cloned()
}

/// Returns a library's handle and the description under which its memory is charged. Both are read
/// under one lock, so that they belong to the same library.
fn library_and_load(cx: &Cx<'_>, id: LibraryId) -> CuResult<(CUlibrary, Load)> {
    let library = lock(&cx.shared.tables).libraries.get(id)?.clone();
    Ok((library.real.0, library.load))
}

pub(in crate::calls) fn vcuda_module_load(
    cx: &Cx<'_>,
    call: api::VcudaModuleLoad<'_>,
    reservation: Reservation<kind::Module>,
) -> (CuResult<Settled<kind::Module>>, api::VcudaModuleLoadAnswer) {
    let mut answer = api::VcudaModuleLoadAnswer::default();
    let result = cx.enter().and_then(|_| {
        let id = claim(cx, MODULES, call.module).inspect_err(|_| discard(cx, call.blob))?;
        let _part = part_for(cx, call.blob, call.image);
        let image = image(cx, call.blob, call.image)?;
        let mut jit = Jit::new(call.options, call.log_max)?;
        let load = new_load(cx, image.bytes())?;
        let reserved = reserve_module(cx, reservation, &load)?;
        let mut module = std::ptr::null_mut();
        let (count, options, values) = jit.parts();
        // SAFETY: the image is a complete private copy, followed by zeros. The options are plain
        // values and the logs' buffers, which `jit` owns until `logs` is called below.
        let loaded = unsafe {
            cx.driver().cuModuleLoadDataEx(&mut module, image.as_ptr(), count, options, values)
        };
        (answer.error, answer.info) = jit.logs();
        loaded?;
        let settled = reserved.settle();
        cx.shared.prints.fetch_or(load.may_print(), Ordering::Relaxed);
        id.list(Module { real: DriverHandle(module), ctx: cx.ctx, library: None, load });
        Ok(settled)
    });
    (result, answer)
}

pub(in crate::calls) fn cu_module_unload(
    _: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuModuleUnload,
    reply: ReplyTo,
) {
    let begun = begin_end(cx, MODULES, call.hmod, |tables, module| {
        if module.library.is_some() {
            return Err(CuError::INVALID_HANDLE);
        }
        tables.forget_parts_of_module(call.hmod);
        Ok(())
    });
    end_on_mirror(cx, begun, reply, move |cx, module| {
        cx.shared.memory.forget_globals(
            |global| matches!(global, Foreign::Global { module: Some(id), .. } if *id == call.hmod),
        );
        // SAFETY: the module was live, and it was removed from the tables, so no other call can use
        // it any more.
        unsafe { cx.driver().cuModuleUnload(module.real.0)? };
        give_back_module(cx, module.ctx, &module.load);
        Ok(())
    });
}

pub(in crate::calls) fn vcuda_module_get_global(
    cx: &Cx<'_>,
    call: api::VcudaModuleGetGlobal<'_>,
) -> CuResult<api::VcudaModuleGetGlobalAnswer> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let module = module(cx, call.hmod)?;
    let (mut dptr, mut bytes) = (0, 0);
    // SAFETY: the module is live, because objects that a call has looked up aren't destroyed before
    // the call ends (`tables/uses.rs`). The other pointers are to local variables.
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
        // The variable that was recorded at this address no longer exists, because its context was
        // destroyed.
        Some((_, Foreign::Global { .. })) => drop(foreign.remove(dptr)),
        _ => {}
    }
    if foreign.insert(dptr, bytes as u64, global) { Ok(()) } else { Err(CuError::UNKNOWN) }
}

pub(in crate::calls) fn vcuda_library_load(
    cx: &Cx<'_>,
    call: api::VcudaLibraryLoad<'_>,
    reservation: Reservation<kind::Module>,
) -> (CuResult<Settled<kind::Module>>, api::VcudaLibraryLoadAnswer) {
    let mut answer = api::VcudaLibraryLoadAnswer::default();
    let result = cx.enter_any().and_then(|()| {
        let id = claim(cx, LIBRARIES, call.library).inspect_err(|_| discard(cx, call.blob))?;
        let _part = part_for(cx, call.blob, call.image);
        // The library options aren't passed to the driver, because they describe how the guest
        // stores the image or contain pointers to the guest's memory.
        let image = image(cx, call.blob, call.image)?;
        let mut jit = Jit::new(call.options, call.log_max)?;
        let (count, options, values) = jit.parts();
        let load = || {
            let mut library = std::ptr::null_mut();
            // SAFETY: the image is a complete private copy, followed by zeros. The JIT options are
            // plain values and the logs' buffers, which `jit` owns during the call. No library
            // options are passed.
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
            loaded.map(|()| library)
        };
        let unload = |library| {
            // SAFETY: the library was just loaded, and no other code has its handle yet.
            let _ = unsafe { cx.driver().cuLibraryUnload(library) };
        };
        let loaded = new_load_during(cx, reservation, image.bytes(), load, unload);
        (answer.error, answer.info) = jit.logs();
        let (load, library, settled) = loaded?;
        cx.shared.prints.fetch_or(load.may_print(), Ordering::Relaxed);
        id.list(Library { real: DriverHandle(library), load, kernels: Default::default() });
        Ok(settled)
    });
    (result, answer)
}

pub(in crate::calls) fn cu_library_unload(
    _: &mut Deferred,
    cx: &Cx<'_>,
    call: api::CuLibraryUnload,
    reply: ReplyTo,
) {
    let begun = begin_end(cx, LIBRARIES, call.library, |tables, _| {
        tables.forget_parts_of_library(call.library);
        Ok(())
    });
    end_on_mirror(cx, begun, reply, move |cx, library| {
        cx.shared.memory.forget_globals(
            |g| matches!(g, Foreign::Global { library: Some(id), .. } if *id == call.library),
        );
        // SAFETY: the library was live, and it was removed from the tables, so no other call can
        // use it any more.
        unsafe { cx.driver().cuLibraryUnload(library.real.0)? };
        give_back_library(cx, &library.load);
        Ok(())
    });
}

pub(in crate::calls) fn cu_library_get_module(
    cx: &Cx<'_>,
    call: api::CuLibraryGetModule,
    reservation: Reservation<kind::Module>,
) -> CuResult<Settled<kind::Module>> {
    cx.enter()?;
    let id = claim(cx, MODULES, call.p_mod)?;
    let (library, load) = library_and_load(cx, call.library)?;
    let settled = reserve_load(cx, reservation, &load)?;
    let mut module = std::ptr::null_mut();
    // SAFETY: the library is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The pointer is to a local variable.
    unsafe { cx.driver().cuLibraryGetModule(&mut module, library)? };
    id.list(Module { real: DriverHandle(module), ctx: cx.ctx, library: Some(call.library), load });
    Ok(settled)
}

pub(in crate::calls) fn vcuda_library_get_global(
    cx: &Cx<'_>,
    call: api::VcudaLibraryGetGlobal<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaLibraryGetGlobalAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let (library, load) = library_and_load(cx, call.library)?;
    let settled = reserve_load(cx, reservation, &load)?;
    let (mut dptr, mut bytes) = (0, 0);
    // SAFETY: the library is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The other pointers are to local variables.
    unsafe {
        cx.driver().cuLibraryGetGlobal(&mut dptr, &mut bytes, library, name.as_ptr())?;
    }
    list_global(cx, dptr, bytes, None, Some(call.library))?;
    Ok((api::VcudaLibraryGetGlobalAnswer { dptr, bytes }, settled))
}

pub(in crate::calls) fn vcuda_library_get_managed(
    cx: &Cx<'_>,
    call: api::VcudaLibraryGetManaged<'_>,
    reservation: Reservation<kind::Module>,
) -> CuResult<(api::VcudaLibraryGetManagedAnswer, Settled<kind::Module>)> {
    cx.enter()?;
    let name = c_name(call.name)?;
    let (library, load) = library_and_load(cx, call.library)?;
    let settled = reserve_load(cx, reservation, &load)?;
    let (mut module, mut dptr, mut bytes) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the library is live, because objects that a call has looked up aren't destroyed
    // before the call ends (`tables/uses.rs`). The other pointers are to local variables.
    // (cuLibraryGetModule loads the library into the context, because the driver otherwise doesn't
    // find managed variables.)
    unsafe {
        cx.driver().cuLibraryGetModule(&mut module, library)?;
        cx.driver().cuLibraryGetManaged(&mut dptr, &mut bytes, library, name.as_ptr())?;
    }
    list_global(cx, dptr, bytes, None, Some(call.library))?;
    Ok((api::VcudaLibraryGetManagedAnswer { dptr, bytes }, settled))
}
