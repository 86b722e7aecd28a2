//! The library's state between init and shutdown: the connection to the device, and the device's
//! first reply.

use crate::args::Arg;
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::nvmlDevice_t;
use guest_transport::facts::Snapshot;
use guest_transport::log::say;
use guest_transport::{ClosedInChildren, Transport};
use parking_lot::Mutex;
use protocol::uapi::Gpu;
use std::sync::Once;

/// The state that init creates.
struct State {
    /// The number of init calls minus the number of shutdown calls.
    count: u32,
    /// The id of the process that opened the transport. After fork, a child must open its own
    /// transport.
    process: u32,
    transport: Box<dyn Transport>,
    /// The device's reply at init, which is used for facts about GPUs that don't change.
    first: Snapshot,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

static DESCRIPTORS: ClosedInChildren = ClosedInChildren::new();

fn keep_from_children(descriptors: &[i32]) {
    DESCRIPTORS.set(descriptors);
    static ONCE: Once = Once::new();
    // SAFETY: the handler is async-signal-safe: it only swaps atomics and calls close().
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}

extern "C" fn in_child() {
    DESCRIPTORS.close();
}

/// The handle of the first GPU. Handles must be unique and not null.
const HANDLE: usize = 0x6e76_6d6c_0000;

/// A GPU's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

impl Arg for Handle {
    type C = nvmlDevice_t;

    unsafe fn from_c(c: nvmlDevice_t) -> Self {
        Self(c as usize)
    }
}

impl Handle {
    /// Returns the handle of the GPU with this index, in the form that programs get.
    pub fn of(index: usize) -> nvmlDevice_t {
        Self::at(index).0 as nvmlDevice_t
    }

    /// Returns the handle of the GPU with this index.
    pub fn at(index: usize) -> Self {
        Self(HANDLE + index)
    }

    /// Returns the GPU's index, which may be out of range.
    pub fn index(self) -> NvmlResult<usize> {
        self.0.checked_sub(HANDLE).ok_or(NvmlError::INVALID_ARGUMENT)
    }
}

fn open() -> NvmlResult<State> {
    let failed = |error: guest_transport::TransportError| {
        say!(Error, "NVML: {error}");
        NvmlError::from(error)
    };
    let transport = guest_transport::open().map_err(failed)?;
    let first = ask(&*transport)?;
    keep_from_children(&transport.descriptors());
    Ok(State { count: 1, process: std::process::id(), transport, first })
}

fn ask(transport: &dyn Transport) -> NvmlResult<Snapshot> {
    Snapshot::query(transport).map_err(|error| {
        say!(Error, "NVML: {error}");
        NvmlError::from(error)
    })
}

pub fn init() -> NvmlResult {
    let mut state = STATE.lock();
    match &mut *state {
        Some(state) => state.count += 1,
        None => *state = Some(open()?),
    }
    Ok(())
}

pub fn shutdown() -> NvmlResult {
    let mut guard = STATE.lock();
    let state = guard.as_mut().ok_or(NvmlError::UNINITIALIZED)?;
    state.count -= 1;
    if state.count == 0
        && let Some(state) = guard.take()
    {
        if state.process == std::process::id() {
            keep_from_children(&[]);
        } else {
            leave_to_parent(state);
        }
    }
    Ok(())
}

/// Leaks the parent's state in a child after fork. In the child, the parent's descriptors may
/// already be closed and its mappings unmapped, and their numbers and addresses may have been
/// reused. In that case, dropping the state would close other descriptors or unmap other memory.
fn leave_to_parent(state: State) {
    std::mem::forget(state);
}

/// Fails if the library hasn't been initialized.
pub fn check() -> NvmlResult {
    STATE.lock().as_ref().map(drop).ok_or(NvmlError::UNINITIALIZED)
}

/// Calls `use_it` with the device's reply at init, for facts that don't change.
pub fn first<T>(use_it: impl FnOnce(&Snapshot) -> NvmlResult<T>) -> NvmlResult<T> {
    use_it(&STATE.lock().as_ref().ok_or(NvmlError::UNINITIALIZED)?.first)
}

/// Returns the state that a GPU had at init.
pub fn gpu(handle: Handle) -> NvmlResult<Gpu> {
    let index = handle.index()?;
    first(|snapshot| snapshot.gpus.get(index).copied().ok_or(NvmlError::INVALID_ARGUMENT))
}

/// Queries the device and returns its current reply.
pub fn now() -> NvmlResult<Snapshot> {
    let mut guard = STATE.lock();
    let state = guard.as_mut().ok_or(NvmlError::UNINITIALIZED)?;
    if state.process != std::process::id() {
        let opened = State { count: state.count, ..open()? };
        leave_to_parent(std::mem::replace(state, opened));
    }
    ask(&*state.transport)
}

/// Queries the device and returns a GPU's current state.
pub fn gpu_now(handle: Handle) -> NvmlResult<Gpu> {
    let index = handle.index()?;
    now()?.gpus.get(index).copied().ok_or(NvmlError::GPU_IS_LOST)
}
