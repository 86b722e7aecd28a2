//! The type of the driver's handles.

/// A handle of the driver. The driver API may be called with it from any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DriverHandle<H>(pub H);

// SAFETY: a handle is an opaque name. The driver API is thread-safe, and the worker never
// dereferences handles.
unsafe impl<H> Send for DriverHandle<H> {}
// SAFETY: as above.
unsafe impl<H> Sync for DriverHandle<H> {}
