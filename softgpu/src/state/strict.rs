//! Strict mode: with `SOFTGPU_STRICT=1`, softgpu aborts the process when it uses the driver API in
//! a way that NVIDIA's driver doesn't check and that may crash NVIDIA's driver or corrupt its
//! memory.
//!
//! These uses are:
//! - a call with the handle of an object that was destroyed, or that was freed together with its
//!   context;
//! - the destruction of an object while a call on another thread uses it;
//! - the destruction of a context that still has modules, instantiated graphs, arrays, or texture
//!   objects;
//! - a call that frees memory or a graph that doesn't exist.
//!
//! Without strict mode, softgpu's calls return errors, wait, or destroy the objects. Tests run
//! workers in strict mode, because a guest must not be able to make its worker use the driver in
//! these ways.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_api::sys::CUresult;

use super::kind::Kind;

/// How an object ended, for the message of strict mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Destroyed,
    WithOwner,
}

thread_local! {
    /// The entry point that the calling thread has called. It's `None` on stream threads, so
    /// kernels, which may use old texture objects, aren't checked.
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// The handles that the call in progress on this thread uses.
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

/// A guard that exists while a call is in progress. Nested calls of entry points count as part of
/// the outermost one. The flag says whether this is the outermost call in strict mode.
pub(crate) struct Call(bool);

/// Records the start of a call if strict mode is on.
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

/// Records that the calling thread's call in progress uses an object. Does nothing if there is no
/// such call.
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

/// Aborts if the calling thread's call destroys an object that a call on another thread uses.
pub(crate) fn removed(kind: Kind, handle: usize) {
    let Some(call) = CALL.get() else { return };
    let own = USED.with_borrow(|used| used.contains(&handle));
    if in_use().get(&handle).is_some_and(|count| *count > usize::from(own)) {
        abort(call, kind, handle, "is in use by a call on another thread");
    }
}

/// Aborts if the calling thread's call has got the handle of an object that was destroyed or freed.
pub(crate) fn stale(kind: Kind, handle: usize, end: End) {
    let Some(call) = CALL.get() else { return };
    match end {
        End::Destroyed => abort(call, kind, handle, "was destroyed"),
        End::WithOwner => abort(call, kind, handle, "ended together with its context or module"),
    }
}

/// A guard that suspends strict mode's checks on the calling thread. It restores them when it's
/// dropped.
pub(crate) struct Suspended(Option<&'static str>);

/// Suspends strict mode's checks while a context is destroyed in which a kernel has failed. The
/// program couldn't destroy the objects in that context before, because all calls return the
/// kernel's error.
pub(crate) fn suspend() -> Suspended {
    Suspended(CALL.take())
}

impl Drop for Suspended {
    fn drop(&mut self) {
        CALL.set(self.0);
    }
}

/// Aborts if the calling thread's call destroys a context that still has objects.
pub(crate) fn left(kind: Kind, count: usize) {
    if let Some(call) = CALL.get() {
        eprintln!("softgpu: SOFTGPU_STRICT: {call}: {count} {kind:?} left in the context");
        std::process::abort();
    }
}

/// The calls that free memory, addresses, or graphs. In strict mode, the thing that they free must
/// exist.
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

/// Aborts if a call failed because the thing that it frees doesn't exist.
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
