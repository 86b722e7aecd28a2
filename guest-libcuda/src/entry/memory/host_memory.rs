//! Pinned host memory: memory allocated in the address window for pinned memory, and registered
//! memory.

use crate::context::{self, current};
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::log::say;
use crate::memory::slabs::{self, Class, Piece, Slab};
use crate::memory::{Allocation, Kind, Memory};
use crate::objects::Context;
use crate::thread;
use crate::transport::TransportError;
use crate::windows::{self, PAGE};
use cuda_api::args::Out;
use cuda_api::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
    CUdevice_attribute,
};
use protocol::calls::{CuCtxSynchronize, VcudaHostRegister, VcudaHostUnregister};
use protocol::uapi::{ERR_LIMIT, ERR_MEMORY, ERR_UNSUPPORTED};
use std::sync::atomic::Ordering;

const ALLOC_FLAGS: u32 =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
const REGISTER_FLAGS: u32 =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

/// Converts an error from the transport to a CUDA error.
fn refused(error: TransportError) -> CuError {
    say!(Warn, "can't pin memory: {error}");
    match error {
        TransportError::Ended { .. } => CuError::DEVICE_UNAVAILABLE,
        TransportError::Unsupported { .. }
        | TransportError::NotShareable { .. }
        | TransportError::Refused { status: ERR_UNSUPPORTED, .. } => CuError::NOT_SUPPORTED,
        TransportError::Refused { status: ERR_LIMIT | ERR_MEMORY, .. }
        | TransportError::OutOfMemory { .. } => CuError::OUT_OF_MEMORY,
        TransportError::System { source, .. } => match source.raw_os_error() {
            Some(libc::EFAULT | libc::EINVAL) => CuError::INVALID_VALUE,
            Some(libc::EACCES | libc::EPERM) => CuError::NOT_SUPPORTED,
            _ => CuError::OUT_OF_MEMORY,
        },
        _ => CuError::UNKNOWN,
    }
}

fn allocate(out: Out<usize>, bytes: usize, flags: u32) -> CuResult {
    crate::capture::forbid_unsafe()?;
    out.check()?;
    if bytes == 0 || flags & !ALLOC_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = context::driver()?;
    let at = match bytes <= slabs::LARGEST {
        true => cut(driver, bytes, flags)?,
        false => pin(driver, bytes, flags, |region| Kind::Pinned { region })?,
    };
    out.set(at)
}

/// Allocates a small piece from a slab of pinned memory. Adds a slab if no slab has room.
fn cut(driver: &Driver, bytes: usize, flags: u32) -> CuResult<usize> {
    let context = current()?;
    let class = Class { context: context.owner().handle(), flags };
    let mut slabs = driver.memory.slabs.lock();
    let piece = match slabs.take(class, bytes) {
        Some(piece) => piece,
        None => {
            let len = slabs.next_len(class);
            let Attached { at, region, device_address } = attach(driver, len, flags)?;
            slabs.add(Slab::new(class, at, len, region, device_address));
            slabs.take(class, bytes).ok_or(CuError::OUT_OF_MEMORY)?
        }
    };
    let Piece { at, device_address } = piece;
    driver.memory.insert(allocated(context, (at, bytes), device_address, flags, Kind::PinnedPiece));
    Ok(at)
}

/// Allocates pinned memory and registers it with the GPU. `kind` returns the kind of the memory,
/// given its region.
pub fn pin(
    driver: &Driver,
    bytes: usize,
    flags: u32,
    kind: impl FnOnce(u32) -> Kind,
) -> CuResult<usize> {
    let Attached { at, region, device_address } = attach(driver, bytes, flags)?;
    let allocation = allocated(current()?, (at, bytes), device_address, flags, kind(region));
    driver.memory.insert(allocation);
    Ok(at)
}

/// Describes pinned memory for the map of the program's memory.
fn allocated(
    context: &Context,
    (at, bytes): (usize, usize),
    device_address: u64,
    flags: u32,
    kind: Kind,
) -> Allocation {
    Allocation {
        base: at as u64,
        len: bytes as u64,
        kind,
        device_address,
        // NVIDIA's driver doesn't report the flag PORTABLE.
        flags: flags & !CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP,
        context: context.owner().handle(),
        device: context.device,
        id: 0,
        sync_memops: matches!(kind, Kind::Managed { .. }),
    }
}

/// Pinned memory that the GPU can access.
struct Attached {
    at: usize,
    region: u32,
    device_address: u64,
}

fn attach(driver: &Driver, bytes: usize, flags: u32) -> CuResult<Attached> {
    let len = bytes.checked_next_multiple_of(PAGE).ok_or(CuError::OUT_OF_MEMORY)?;
    let at = driver.memory.pinned.take(len).ok_or(CuError::OUT_OF_MEMORY)?;
    let transport = driver.session.transport()?;
    let region = transport.alloc_pinned(at, len).map_err(|error| {
        driver.memory.pinned.give(at, len);
        refused(error)
    })?;
    let register = VcudaHostRegister { vaddr: at as u64, len, flags };
    let device_address = match driver.session.call(&register) {
        Ok(answer) => answer.dptr,
        Err(error) => {
            if transport.release(region, at, len).is_ok() {
                driver.memory.pinned.give(at, len);
            }
            return Err(error);
        }
    };
    Ok(Attached { at, region, device_address })
}

fn free(at: usize) -> CuResult {
    crate::capture::forbid_unsafe()?;
    let driver = context::driver_unless_ended()?;
    if at == 0 {
        return Ok(());
    }
    let found = driver.memory.remove(at as u64, |found| found.kind.is_pinned());
    let found = found.ok_or(CuError::INVALID_VALUE)?;
    match found.kind {
        Kind::Pinned { region } => unpin(driver, &found, region),
        _ => give_back(driver, at, found.len as usize),
    }
}

/// Returns a piece to its slab. Releases the slab if it's unused and not kept.
fn give_back(driver: &Driver, at: usize, bytes: usize) -> CuResult {
    // Wait for copies that still use the memory, as NVIDIA's driver does.
    let result = wait_for_all(driver);
    let unused = driver.memory.slabs.lock().give(at, bytes);
    match unused {
        Some(slab) => {
            let vaddr = slab.at as u64;
            let unregistered = driver.session.call_always(&VcudaHostUnregister { vaddr }, 0);
            release_slab(driver, &slab)?;
            result.and(unregistered)
        }
        None => result,
    }
}

/// Waits for all work in all contexts, unless the session has sent no work since the last wait of
/// this kind.
fn wait_for_all(driver: &Driver) -> CuResult {
    let Memory { idle, .. } = &driver.memory;
    let sent = driver.session.sent();
    if idle.load(Ordering::Relaxed) == sent {
        return Ok(());
    }
    let mut result = Ok(());
    for context in Context::all_alive() {
        let wait = || driver.session.call_always(&CuCtxSynchronize {}, 0);
        result = result.and(thread::within(context, wait));
    }
    if result.is_ok() {
        idle.store(sent, Ordering::Relaxed);
    }
    result
}

fn release_slab(driver: &Driver, slab: &Slab) -> CuResult {
    let &Slab { at, len, region, .. } = slab;
    driver.session.transport()?.release(region, at, len).map_err(refused)?;
    driver.memory.pinned.give(at, len);
    Ok(())
}

/// Frees memory from [`pin`] that has been removed from the map of the program's memory.
pub fn unpin(driver: &Driver, found: &Allocation, region: u32) -> CuResult {
    // The call waits for copies that still use the memory, as NVIDIA's driver does.
    let result = driver.session.call_always(&VcudaHostUnregister { vaddr: found.base }, 0);
    release_pinned(driver, found, region)?;
    result
}

/// Releases the pages and the addresses of memory from [`pin`].
fn release_pinned(driver: &Driver, found: &Allocation, region: u32) -> CuResult {
    let (at, len) = (found.base as usize, (found.len as usize).next_multiple_of(PAGE));
    driver.session.transport()?.release(region, at, len).map_err(refused)?;
    driver.memory.pinned.give(at, len);
    Ok(())
}

/// Releases the pages of registered memory, unless they contain other registered memory.
fn release_registered(driver: &Driver, region: u32, page: usize, pages: usize) -> CuResult {
    let unused = pages != PAGE || driver.memory.registering.lock().leave(page);
    if unused {
        driver.session.transport()?.release(region, page, pages).map_err(refused)?;
    }
    Ok(())
}

/// Releases the pages of host memory whose context has been destroyed. The memory has been removed
/// from the map of the program's memory, and isn't registered with the GPU any more.
pub fn forget(driver: &Driver, gone: Vec<Allocation>, slabs: Vec<Slab>) {
    let warn =
        |error: CuError| say!(Warn, "can't release the memory of a destroyed context: {error}");
    // If a region can't be released, its pages and its addresses stay in use.
    for slab in slabs {
        release_slab(driver, &slab).unwrap_or_else(warn);
    }
    for memory in gone {
        let released = match memory.kind {
            Kind::Managed { region } => {
                driver.memory.managed.lock().remove(&memory.base);
                release_pinned(driver, &memory, region)
            }
            Kind::Pinned { region } => release_pinned(driver, &memory, region),
            Kind::Registered { region, page, pages } => {
                release_registered(driver, region, page, pages)
            }
            _ => Ok(()),
        };
        released.unwrap_or_else(warn);
    }
}

/// Returns whether all pages of an interval are mapped.
fn is_mapped(page: usize, bytes: usize) -> bool {
    let mut resident = [0; 1024];
    (page..page + bytes).step_by(resident.len() * PAGE).all(|at| {
        let len = (page + bytes - at).min(resident.len() * PAGE);
        // SAFETY: mincore doesn't access the memory at the address, and the result has a byte for
        // each page.
        unsafe { libc::mincore(at as *mut _, len, resident.as_mut_ptr()) == 0 }
    })
}

fn register(at: usize, bytes: usize, flags: u32) -> CuResult {
    crate::capture::forbid_unsafe()?;
    if at == 0 || bytes == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = context::driver()?;
    let context = current()?;
    let read_only = flags & CU_MEMHOSTREGISTER_READ_ONLY != 0;
    let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED;
    if read_only && driver.device(context.device)?.attribute(supported.0)? == 0 {
        return Err(CuError::NOT_SUPPORTED);
    }
    let page = at & !(PAGE - 1);
    let end = at.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(PAGE));
    let pages = end.ok_or(CuError::INVALID_VALUE)? - page;
    let mut registering = driver.memory.registering.lock();
    // Other registered memory can lie in the same pages, but not in the same bytes.
    driver.memory.check_unregistered(at as u64, bytes as u64)?;
    if windows::is_pinned(page) {
        // The memory is in an unused part of a slab.
        return Err(CuError::INVALID_VALUE);
    }
    let pin = || {
        driver.session.transport()?.pin_user(page, pages).map_err(|error| {
            let why = refused(error);
            // A worker could write to pages that the program must not change.
            let unsupported = read_only && why == CuError::INVALID_VALUE && is_mapped(page, pages);
            if unsupported { CuError::NOT_SUPPORTED } else { why }
        })
    };
    let region = if pages == PAGE { registering.join(page, pin)? } else { pin()? };
    let call = VcudaHostRegister { vaddr: at as u64, len: bytes, flags };
    let device_address = match driver.session.call(&call) {
        Ok(answer) => answer.dptr,
        Err(error) => {
            let unused = pages != PAGE || registering.leave(page);
            drop(registering);
            if unused {
                driver.session.transport()?.release(region, page, pages).map_err(refused)?;
            }
            return Err(error);
        }
    };
    if device_address != at as u64 {
        // The memory has a different address in the worker. Reserve that address here, so that the
        // program can't map other memory there. If the program already has memory there, reserving
        // fails, and copies still work with the program's own address.
        let _ = windows::keep(device_address, bytes);
    }
    driver.memory.insert(Allocation {
        base: at as u64,
        len: bytes as u64,
        kind: Kind::Registered { region, page, pages },
        device_address,
        flags: flags & CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP,
        context: context.owner().handle(),
        device: context.device,
        id: 0,
        sync_memops: false,
    });
    Ok(())
}

fn unregister(at: usize) -> CuResult {
    crate::capture::forbid_unsafe()?;
    let driver = context::driver_unless_ended()?;
    let is_registered = |found: &Allocation| matches!(found.kind, Kind::Registered { .. });
    let found = driver.memory.remove(at as u64, is_registered);
    let other = |found: &Allocation| found.kind.is_pinned() || is_registered(found);
    let found = found.ok_or_else(|| match driver.memory.find(at as u64).filter(other) {
        // The address is inside a registered range, or it's that of allocated memory.
        Some(_) => CuError::INVALID_VALUE,
        None if at == 0 => CuError::INVALID_VALUE,
        None => CuError::HOST_MEMORY_NOT_REGISTERED,
    })?;
    let Kind::Registered { region, page, pages } = found.kind else {
        return Err(CuError::HOST_MEMORY_NOT_REGISTERED);
    };
    // Unregistering waits for copies that still use the memory, so other threads must be able to
    // register memory meanwhile.
    let result = driver.session.call_always(&VcudaHostUnregister { vaddr: at as u64 }, 0);
    release_registered(driver, region, page, pages)?;
    result
}

fn host(driver: &Driver, at: usize) -> CuResult<Allocation> {
    let found = driver.memory.find(at as u64).filter(|found| !found.kind.is_device());
    found.ok_or(CuError::INVALID_VALUE)
}

entries! {
    fn cuMemHostAlloc(out: Out<usize>, bytes: usize, flags: u32) { allocate(out, bytes, flags) }

    /// Unlike `cuMemHostAlloc`, accepts a size of 0, for which there is no memory.
    fn cuMemAllocHost_v2(out: Out<usize>, bytes: usize) {
        if bytes != 0 {
            return allocate(out, bytes, 0);
        }
        context::driver()?;
        out.set(0)
    }

    fn cuMemFreeHost(at: usize) { free(at) }
    /// The first version ignores the flags that later versions added.
    fn cuMemHostRegister(at: usize, bytes: usize, flags: u32) {
        register(at, bytes, flags & (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP))
    }
    fn cuMemHostRegister_v2(at: usize, bytes: usize, flags: u32) { register(at, bytes, flags) }
    fn cuMemHostUnregister(at: usize) { unregister(at) }

    fn cuMemHostGetDevicePointer_v2(out: Out<u64>, at: usize, flags: u32) {
        out.check()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let found = host(context::driver()?, at)?;
        if matches!(found.kind, Kind::Managed { .. }) {
            return Err(CuError::INVALID_VALUE);
        }
        out.set(found.device_address + (at as u64 - found.base))
    }

    fn cuMemHostGetFlags(flags: Out<u32>, at: usize) {
        flags.check()?;
        flags.set(host(context::driver()?, at)?.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_interval_can_be_looked_up() {
        let pages = vec![1u8; 3000 * PAGE];
        let first = (pages.as_ptr() as usize).next_multiple_of(PAGE);
        assert!(is_mapped(first, 2999 * PAGE));
        assert!(!is_mapped(first, 1 << 60));
    }
}
