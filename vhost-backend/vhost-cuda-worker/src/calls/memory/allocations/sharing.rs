//! Calls that export device memory to other sessions of the VM, and import memory from them.
//!
//! The guest gets the name of an export, a random token. It passes the token to another guest
//! process, which may import the memory because it knows the token. The importing worker first
//! joins the charge for the memory, and only then gets the driver's descriptor of the memory.
//! Therefore, the memory stays charged until the last worker has freed it.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use cuda_api::sys::CUmemAllocationHandleType as Handles;
use host_ipc::messages::{Exported, ShareId, Token};
use protocol::calls as api;

use super::allocate::{give_back, make, refuse_after_fault};
use super::charged::{Charged, Exporting, SharedMemory};
use super::plan::Mapping;
use super::space::{Created, Properties};
use super::virtual_memory;
use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::lock;
use crate::calls::tables::token::new_token;
use crate::driver::{CuError, CuResult};
use crate::ledger::JoinError;

const HANDLE_FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Physical memory that is being exported.
struct Export {
    token: Token,
    file: OwnedFd,
    len: u64,
    properties: Properties,
    /// The share under which the memory is charged, or `None` if the memory is charged to this
    /// session alone.
    share: Option<ShareId>,
}

enum Begun {
    /// The memory was exported before, under this name.
    Before(Token),
    Now(Export),
}

/// Begins to export physical memory, and chooses the token. The caller must hold the lock that
/// keeps the memory from being freed. It must release the lock after this returns, because no
/// thread may wait for the broker while it holds the lock. If the guest frees the memory before the
/// caller has recorded the result of [`end_export`], the thread that frees it waits for that.
fn begin_export(
    cx: &Cx<'_>,
    (real, len): (u64, u64),
    properties: Properties,
    charged: &mut Charged,
    exporting: &mut Exporting,
) -> CuResult<Begun> {
    *charged = exporting.known(*charged, real);
    let share = match *charged {
        Charged::Shared(SharedMemory { token: Some(token), .. }) => {
            return Ok(Begun::Before(token));
        }
        Charged::Shared(SharedMemory { share, .. }) => Some(share),
        Charged::Alone | Charged::Kept | Charged::Unknown => None,
    };
    let mut fd = -1;
    let to: *mut c_void = (&raw mut fd).cast();
    // SAFETY: the handle is live, and for this type of handle, the driver writes a file descriptor,
    // for which `fd` has room.
    unsafe { cx.driver().cuMemExportToShareableHandle(to, real, HANDLE_FILE, 0)? };
    // SAFETY: the driver has just opened the descriptor for its caller, so nothing else owns it.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    let token = new_token()?;
    *charged = Charged::Unknown;
    Ok(Begun::Now(Export { token, file, len, properties, share }))
}

/// Completes an export that `begin_export` began: makes the charge a shared one, and exports the
/// memory. Returns how the memory is charged now. The result is an error if the VM shares or
/// exports too many objects.
fn end_export(cx: &Cx<'_>, export: Export) -> (Charged, CuResult) {
    let Export { token, file, len, properties, share } = export;
    let Properties { device, handle_types, compression } = properties;
    let session = &cx.shared.session;
    let Some(share) = share.or_else(|| session.ledger.share(device, len)) else {
        return (Charged::Alone, Err(CuError::OUT_OF_MEMORY));
    };
    let device = device as u32;
    let thing = Exported::Memory { share, device, bytes: len, handle_types, compression };
    let (token, result) = match session.exchange.export(token, thing, Some(file)) {
        true => (Some(token), Ok(())),
        false => (None, Err(CuError::OUT_OF_MEMORY)),
    };
    (Charged::Shared(SharedMemory { share, token }), result)
}

/// Ends the export of memory that may have been freed in the meantime.
fn forget_export(cx: &Cx<'_>, exporting: &mut Exporting, real: u64, charged: Charged) {
    charged.withdraw(&cx.shared.session);
    exporting.record(real, charged.without_name());
}

/// Exports the allocation that contains an address.
pub(in crate::calls) fn vcuda_ipc_get_mem_handle(
    cx: &Cx<'_>,
    call: api::VcudaIpcGetMemHandle,
) -> CuResult<api::VcudaIpcGetMemHandleAnswer> {
    cx.enter_any()?;
    let memory = &cx.shared.memory;
    let mut exporting = lock(&memory.exporting);
    let mut plan = lock(&memory.plan);
    let (start, size, mapping) = plan.exportable(call.ptr).ok_or(CuError::INVALID_VALUE)?;
    let properties = Properties { device: mapping.device, handle_types: 0, compression: 0 };
    let (real, offset) = (mapping.handle, start - mapping.addr);
    let physical = (real, mapping.len);
    let begun = begin_export(cx, physical, properties, &mut mapping.charged, &mut exporting)?;
    drop(plan);
    let export = match begun {
        Begun::Before(token) => {
            return Ok(api::VcudaIpcGetMemHandleAnswer { token, offset, size });
        }
        Begun::Now(export) => export,
    };
    let token = export.token;
    let (charged, result) = end_export(cx, export);
    let mut plan = lock(&memory.plan);
    match plan.exportable(call.ptr).filter(|(.., mapping)| mapping.handle == real) {
        Some((.., mapping)) => mapping.charged = charged,
        None => {
            forget_export(cx, &mut exporting, real, charged);
            return Err(CuError::INVALID_VALUE);
        }
    }
    result.map(|()| api::VcudaIpcGetMemHandleAnswer { token, offset, size })
}

/// Another session's memory that this session has imported.
struct Import {
    real: u64,
    share: ShareId,
    device: i32,
    bytes: u64,
    compression: u32,
}

/// Imports memory, if the guest knows its name, and if `is_fitting` accepts its device and length.
/// The worker doesn't trust the length that the exporting worker claims: it compares it with the
/// ledger, and the driver checks the lengths of mappings.
fn import(
    cx: &Cx<'_>,
    token: Token,
    is_fitting: impl FnOnce(i32, u64) -> CuResult,
) -> CuResult<Import> {
    let session = &cx.shared.session;
    let thing = session.exchange.import(token);
    let Some(Exported::Memory { share, device, bytes, compression, .. }) = thing else {
        return Err(CuError::INVALID_VALUE);
    };
    let device = i32::try_from(device).map_err(|_| CuError::INVALID_VALUE)?;
    cx.check_device(device)?;
    lock(&cx.shared.memory.space).check_len(bytes)?;
    is_fitting(device, bytes)?;
    let charged = session.ledger.join(device, share).map_err(|error| match error {
        JoinError::OutOfMemory => CuError::OUT_OF_MEMORY,
        JoinError::Gone => CuError::INVALID_VALUE,
    })?;
    let real = match charged == bytes {
        true => fetch(cx, token),
        false => Err(CuError::INVALID_VALUE),
    };
    let real = real.inspect_err(|_| session.ledger.leave(device, share))?;
    Ok(Import { real, share, device, bytes, compression })
}

/// Gets the driver's descriptor of memory from the exporting worker, and imports the memory.
fn fetch(cx: &Cx<'_>, token: Token) -> CuResult<u64> {
    let file = cx.shared.session.exchange.fetch(token).ok_or(CuError::INVALID_VALUE)?;
    let mut real = 0;
    let descriptor = file.as_raw_fd() as usize as *mut c_void;
    // SAFETY: the driver writes only to a local variable. The descriptor is open. The driver checks
    // the type of its file, and doesn't use it after the call.
    unsafe { cx.driver().cuMemImportFromShareableHandle(&mut real, descriptor, HANDLE_FILE)? };
    Ok(real)
}

/// Maps an allocation of another session.
pub(in crate::calls) fn vcuda_ipc_open_mem_handle(
    cx: &Cx<'_>,
    call: api::VcudaIpcOpenMemHandle,
) -> CuResult<api::VcudaIpcOpenMemHandleAnswer> {
    let api::VcudaIpcOpenMemHandle { token, offset, size } = call;
    let current = cx.enter()?.device;
    refuse_after_fault(cx)?;
    if cx.shared.session.exchange.is_own(token) {
        return Err(CuError::INVALID_CONTEXT);
    }
    let plan = &cx.shared.memory.plan;
    let is_fitting = |device, bytes| {
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= bytes);
        if size == 0 || !is_inside {
            return Err(CuError::INVALID_VALUE);
        }
        if !cx.shared.memory.peers.can_access(current, device) {
            return Err(CuError::PEER_ACCESS_UNSUPPORTED);
        }
        if lock(plan).has_room() { Ok(()) } else { Err(CuError::OUT_OF_MEMORY) }
    };
    let Import { real, share, device, bytes, .. } = import(cx, token, is_fitting)?;
    let charged = Charged::Shared(SharedMemory { share, token: None });
    let addr = lock(plan).addresses(bytes);
    let Some(addr) = addr else {
        let properties = Properties { device, handle_types: 0, compression: 0 };
        virtual_memory::give_back(cx, Created { real, len: bytes, properties, charged });
        return Err(CuError::OUT_OF_MEMORY);
    };
    let mapping = Mapping { addr, len: bytes, handle: real, device, charged };
    let accessors = cx.shared.memory.peers.accessors();
    make(cx, mapping, &accessors).inspect_err(|_| lock(plan).give_addresses(addr, bytes))?;
    // If the context has been destroyed in the meantime, free the memory here, because it wasn't
    // freed with the context.
    if cx.enter().is_err() {
        give_back(cx, mapping);
        return Err(CuError::INVALID_CONTEXT);
    }
    let ptr = lock(plan).imported(cx.ctx, (offset, size), mapping);
    Ok(api::VcudaIpcOpenMemHandleAnswer { ptr })
}

/// Unmaps an allocation of another session, after all work that may use it has ended.
pub(in crate::calls) fn vcuda_ipc_close_mem_handle(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaIpcCloseMemHandle,
    reply: ReplyTo,
) {
    super::cu_mem_free_v2(deferred, cx, api::CuMemFreeV2 { dptr: call.dptr }, reply);
}

/// Exports physical memory that the guest has created with an exportable handle type.
pub(in crate::calls) fn vcuda_mem_export(
    cx: &Cx<'_>,
    call: api::VcudaMemExport,
) -> CuResult<api::VcudaMemExportAnswer> {
    cx.enter_any()?;
    let memory = &cx.shared.memory;
    let mut exporting = lock(&memory.exporting);
    let mut space = lock(&memory.space);
    let created = space.exportable(call.handle)?;
    let (real, properties) = (created.real, created.properties);
    let physical = (real, created.len);
    let begun = begin_export(cx, physical, properties, &mut created.charged, &mut exporting)?;
    let (token, result) = match begun {
        Begun::Before(token) => (token, Ok(())),
        Begun::Now(export) => {
            drop(space);
            let token = export.token;
            let (charged, result) = end_export(cx, export);
            space = lock(&memory.space);
            match space.exportable(call.handle).ok().filter(|created| created.real == real) {
                Some(created) => created.charged = charged,
                None => {
                    forget_export(cx, &mut exporting, real, charged);
                    return Err(CuError::INVALID_VALUE);
                }
            }
            (token, result)
        }
    };
    result?;
    let _ = space.set_exported(token, true);
    Ok(api::VcudaMemExportAnswer { token })
}

/// Ends the export of physical memory, because the guest has closed all its files for the export.
pub(in crate::calls) fn vcuda_mem_withdraw(cx: &Cx<'_>, call: api::VcudaMemWithdraw) -> CuResult {
    let memory = &cx.shared.memory;
    let unused = {
        let _one_at_a_time = lock(&memory.exporting);
        lock(&memory.space).set_exported(call.token, false)
    };
    unused.into_iter().for_each(|created| virtual_memory::give_back(cx, created));
    Ok(())
}

/// Imports physical memory of another session, and returns the guest's handle for it.
pub(in crate::calls) fn vcuda_mem_import(
    cx: &Cx<'_>,
    call: api::VcudaMemImport,
) -> CuResult<api::VcudaMemImportAnswer> {
    cx.enter_any()?;
    let space = &cx.shared.memory.space;
    let is_fitting = |_, _| match lock(space).has_room_for_physical() {
        true => Ok(()),
        false => Err(CuError::OUT_OF_MEMORY),
    };
    let Import { real, share, device, bytes, compression } = import(cx, call.token, is_fitting)?;
    // An importer can't export the memory again. NVIDIA's driver doesn't allow that, either.
    let properties = Properties { device, handle_types: 0, compression };
    let charged = Charged::Shared(SharedMemory { share, token: None });
    let handle = lock(space).create(Created { real, len: bytes, properties, charged });
    Ok(api::VcudaMemImportAnswer { handle })
}
