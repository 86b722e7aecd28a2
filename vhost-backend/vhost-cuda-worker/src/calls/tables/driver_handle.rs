//! A wrapper for the driver's handles.

/// A handle from the driver, wrapped so that it can be used on any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) struct DriverHandle<H>(pub H);

// SAFETY: a handle is an opaque value that the worker never dereferences, and the driver API is
// thread-safe, so any thread may pass it to the driver.
unsafe impl<H> Send for DriverHandle<H> {}
// SAFETY: a handle is an opaque value that the worker never dereferences, and the driver API is
// thread-safe, so several threads may pass it to the driver at once.
unsafe impl<H> Sync for DriverHandle<H> {}
