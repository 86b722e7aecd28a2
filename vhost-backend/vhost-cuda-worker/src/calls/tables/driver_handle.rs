//! A wrapper for the driver's handles.

/// A handle from the driver, wrapped so that it can be used on any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) struct DriverHandle<H>(pub H);

// SAFETY: a handle is an opaque name. The driver API is thread-safe, and the worker never
// dereferences handles.
unsafe impl<H> Send for DriverHandle<H> {}
// SAFETY: as above.
unsafe impl<H> Sync for DriverHandle<H> {}
