//! Strict mode: with `SOFTGPU_STRICT=1`, the process is aborted when it uses the driver API in a way
//! that NVIDIA's driver doesn't check and that may crash it or corrupt its memory.
//!
//! These are a call with the handle of an object that was destroyed, or that ended together with its
//! context; the destruction of an object while a call on another thread uses it; and the end of a
//! context in which there are still modules, instantiated graphs, arrays, or texture objects. Without
//! strict mode, softgpu's calls return errors, wait, or destroy the objects. Tests run workers in
//! strict mode, because a guest must not be able to make its worker do any of this.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_api::sys::CUresult;

use super::kind::Kind;

/// How an object ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Destroyed,
    WithOwner,
}

thread_local! {
    /// The entry point that the thread is in. Stream threads are in none, and neither are kernels,
    /// which may use old texture objects.
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// The handles that this entry point uses.
    static USED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The number of calls in progress that use a handle, by handle.
static IN_USE: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Returns whether strict mode is on.
fn enabled() -> bool {
    static ENABLED: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("SOFTGPU_STRICT").is_some_and(|v| v != "0"));
    *ENABLED
}

fn in_use() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard for one call of an entry point. Calls that an entry point makes are part of it.
pub(crate) struct Call(bool);

/// Records that the thread is in an entry point, if strict mode is on.
pub(crate) fn enter(name: &'static str) -> Call {
    let outermost = enabled() && CALL.get().is_none();
    if outermost {
        CALL.set(Some(name));
    }
    Call(outermost)
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.0 {
            let mut counts = in_use();
            for handle in USED.take() {
                if let Some(count) = counts.get_mut(&handle) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(&handle);
                    }
                }
            }
            CALL.set(None);
        }
    }
}

/// Records that the entry point that the thread is in, if any, uses an object until it returns.
pub(crate) fn used(handle: usize) {
    if CALL.get().is_some() {
        USED.with_borrow_mut(|used| {
            if !used.contains(&handle) {
                used.push(handle);
                *in_use().entry(handle).or_default() += 1;
            }
        });
    }
}

/// Aborts if the entry point that the thread is in destroys an object that a call on another thread
/// uses.
pub(crate) fn removed(kind: Kind, handle: usize) {
    let Some(call) = CALL.get() else { return };
    let own = USED.with_borrow(|used| used.contains(&handle));
    if in_use().get(&handle).is_some_and(|count| *count > usize::from(own)) {
        abort(call, kind, handle, "is in use by a call on another thread");
    }
}

/// Aborts if an entry point got the handle of an object that has ended.
pub(crate) fn stale(kind: Kind, handle: usize, end: End) {
    let Some(call) = CALL.get() else { return };
    match end {
        End::Destroyed => abort(call, kind, handle, "was destroyed"),
        End::WithOwner => abort(call, kind, handle, "ended together with its context or module"),
    }
}

/// A guard that suspends the checks of the thread's entry point.
pub(crate) struct Suspended(Option<&'static str>);

/// Suspends the checks while a context ends in which a kernel has failed. The program could not destroy
/// its objects, because the calls return the kernel's error.
pub(crate) fn suspend() -> Suspended {
    Suspended(CALL.take())
}

impl Drop for Suspended {
    fn drop(&mut self) {
        CALL.set(self.0);
    }
}

/// Aborts if the entry point that the thread is in ends a context that still has objects.
pub(crate) fn left(kind: Kind, count: usize) {
    if let Some(call) = CALL.get() {
        eprintln!("softgpu: SOFTGPU_STRICT: {call}: {count} {kind:?} left in the context");
        std::process::abort();
    }
}

/// The calls that free something that has an address instead of a handle. They must not fail because
/// it doesn't exist.
const FREES: [&str; 8] = [
    "cuMemFree_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemHostUnregister",
    "cuMemUnmap",
    "cuMemAddressFree",
    "cuGraphDestroy",
    "cuGraphDestroyNode",
];

/// Aborts if an entry point has failed because the thing that it frees doesn't exist.
pub(crate) fn failed(call: &'static str, result: CUresult) {
    let missing = [
        CUresult::CUDA_ERROR_INVALID_VALUE,
        CUresult::CUDA_ERROR_INVALID_HANDLE,
        CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    ];
    if enabled() && FREES.contains(&call) && missing.contains(&result) {
        eprintln!("softgpu: SOFTGPU_STRICT: {call}: freed something that does not exist");
        std::process::abort();
    }
}

fn abort(call: &str, kind: Kind, handle: usize, state: &str) -> ! {
    eprintln!("softgpu: SOFTGPU_STRICT: {call}: the {kind:?} {handle:#x} {state}");
    std::process::abort();
}
