//! Charges for the modules and libraries that a session loads.
//!
//! A module takes memory for its variables when it is loaded. A library takes that memory
//! separately in each context, when any part of the library is first used there. Code is loaded at
//! the same time or, with lazy loading, kernel by kernel.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cuda_api::fatbin::FATBIN_MAGIC;
use cuda_api::sys::CUmoduleLoadingMode;
use protocol::ids::ContextId;

use super::eager::{forget_everywhere, load_everywhere};
use super::footprint;
use super::load::Load;
use super::parts::{add_load, give_back_module, wait_to_fill};
use super::settle::{Reservation, Reserved, Settled, kind};
use super::taken::Footprint;
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

/// The size in bytes from which decompressing a fatbin takes longer than starting a thread.
const SLOW: usize = 64 << 10;

/// The largest image, in bytes, after whose decompression a decompressor is kept for the next
/// image. After a larger image, it's dropped, because it would keep too much memory.
const KEPT: usize = 16 << 20;

/// Computes an upper bound for the device memory that an image takes.
fn bound(cx: &Cx<'_>, image: &[u8]) -> CuResult<Footprint> {
    let kept = &cx.shared.charges.loads.decompressor;
    let mut decompressor = lock(kept).take().unwrap_or_default();
    let footprint = footprint::footprint(image, &mut decompressor);
    if decompressor.longest() <= KEPT {
        *lock(kept) = Some(decompressor);
    }
    let mut footprint = footprint.map_err(|error| {
        tracing::warn!(session = cx.shared.session.label, "refusing to load an image: {error}");
        CuError::from(&error)
    })?;
    if !loads_lazily(cx) {
        footprint.code = footprint.all_code();
        footprint.kernels = vec![];
    }
    Ok(footprint)
}

/// Returns the compute capabilities of the session's devices, without their dots: 90 for 9.0.
pub(in crate::calls) fn capabilities(cx: &Cx<'_>) -> Vec<u32> {
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    devices.iter().map(|device| device.capability).collect()
}

fn loads_lazily(cx: &Cx<'_>) -> bool {
    *cx.shared.charges.loads.lazy.get_or_init(|| {
        let mut mode = CUmoduleLoadingMode(0);
        // SAFETY: the pointer is to a local variable.
        let known = unsafe { cx.driver().cuModuleGetLoadingMode(&mut mode) };
        known.is_ok() && mode == CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING
    })
}

/// Describes an image that is about to be loaded, so that its memory can be charged. Doesn't charge
/// anything yet.
pub(in crate::calls) fn new_load(cx: &Cx<'_>, image: &[u8]) -> CuResult<Load> {
    Ok(described(cx, bound(cx, image)?))
}

fn described(cx: &Cx<'_>, takes: Footprint) -> Load {
    let number = cx.shared.charges.loads.last.fetch_add(1, Ordering::Relaxed) + 1;
    Load { number, takes: Arc::new(takes) }
}

/// Describes a library, and calls `load`, which passes the library to the driver. With lazy
/// loading, a library takes no device memory until it's used in a context, so `load` may run before
/// the library's memory is known. Computing the description and loading a fatbin both require
/// decompressing it, which takes milliseconds, so they run at the same time. If the worker must
/// then refuse the image, it calls `unload` with the loaded library.
///
/// With eager loading, all contexts are charged for the library before the driver gets it.
pub(in crate::calls) fn new_load_during<T>(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    image: &[u8],
    load: impl FnOnce() -> CuResult<T>,
    unload: impl FnOnce(T),
) -> CuResult<(Load, T, Settled<kind::Module>)> {
    if !loads_lazily(cx) {
        let library = new_load(cx, image)?;
        wait_to_fill(cx, &library);
        let loaded = load_everywhere(cx, &library, load)?;
        return Ok((library, loaded, reservation.charged()));
    }
    let at_once = image.len() >= SLOW && image.starts_with(&FATBIN_MAGIC.to_le_bytes());
    let (takes, loaded) = bound_and_load(at_once, || bound(cx, image), load);
    match (takes, loaded) {
        (Ok(takes), Some(loaded)) => {
            loaded.map(|library| (described(cx, takes), library, reservation.charged_at_use()))
        }
        (Err(error), Some(Ok(library))) => {
            unload(library);
            Err(error)
        }
        (Err(error), _) => Err(error),
        (Ok(_), None) => Err(CuError::UNKNOWN),
    }
}

/// Calls `bound` and, unless it fails, `load`. If `at_once` is set, calls `load` without waiting
/// for `bound`, which runs on another thread.
fn bound_and_load<T>(
    at_once: bool,
    bound: impl Fn() -> CuResult<Footprint> + Sync,
    load: impl FnOnce() -> T,
) -> (CuResult<Footprint>, Option<T>) {
    std::thread::scope(|scope| {
        // If starting another thread fails, for example because of `pids.max`, this thread calls
        // `bound` itself.
        let start = || {
            std::thread::Builder::new().name("footprint".into()).spawn_scoped(scope, &bound).ok()
        };
        match if at_once { start() } else { None } {
            Some(other) => {
                let loaded = load();
                (other.join().unwrap_or(Err(CuError::UNKNOWN)), Some(loaded))
            }
            None => {
                let takes = bound();
                let loaded = takes.is_ok().then(load);
                (takes, loaded)
            }
        }
    })
}

/// Charges the current context for a module, before the driver loads it.
pub(in crate::calls) fn reserve_module(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    load: &Load,
) -> CuResult<Reserved<kind::Module, impl FnOnce() -> CuResult>> {
    add_load(cx, load)?;
    Ok(reservation.reserved(|| {
        give_back_module(cx, cx.ctx, load);
        Ok(())
    }))
}

/// Charges the current context for a library's variables and for the code that is loaded with them,
/// before any part of the library is used in the context. The charge is released when the library
/// is unloaded or the context is destroyed.
pub(in crate::calls) fn reserve_load(
    cx: &Cx<'_>,
    reservation: Reservation<kind::Module>,
    load: &Load,
) -> CuResult<Settled<kind::Module>> {
    add_load(cx, load)?;
    Ok(reservation.charged())
}

/// Releases the charges for a library in all contexts, after the library was unloaded.
pub(in crate::calls) fn give_back_library(cx: &Cx<'_>, load: &Load) {
    forget_everywhere(cx, load);
    let all: Vec<ContextId> = lock(&cx.shared.charges.contexts).keys().copied().collect();
    for ctx in all {
        give_back_module(cx, ctx, load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_loads_an_image_while_its_memory_is_computed() {
        let here = std::thread::current().id();
        let (start, started) = std::sync::mpsc::channel();
        let started = std::sync::Mutex::new(started);
        let bound = || {
            lock(&started).recv().unwrap();
            assert_ne!(std::thread::current().id(), here);
            Ok(Footprint { data: 7, ..Footprint::default() })
        };
        let (takes, loaded) = bound_and_load(true, bound, || start.send(()));
        assert_eq!((takes.unwrap().data, loaded), (7, Some(Ok(()))));
    }

    #[test]
    fn a_refused_image_is_not_loaded_unless_both_happen_at_once() {
        let refuse = || Err(CuError::NOT_SUPPORTED);
        let (takes, loaded) = bound_and_load(false, refuse, || ());
        assert_eq!((takes, loaded), (Err(CuError::NOT_SUPPORTED), None));
        let (takes, loaded) = bound_and_load(true, refuse, || ());
        assert_eq!((takes, loaded), (Err(CuError::NOT_SUPPORTED), Some(())));
    }
}
