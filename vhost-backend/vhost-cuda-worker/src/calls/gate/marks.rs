//! The gate's view of the driver's streams and events.

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use crate::calls::driver_handle::DriverHandle;

/// Records marks, which are events, and queries whether marks have been reached.
pub(in crate::calls) trait Marks {
    /// Records a mark in a stream of a context. Returns `None` if the driver refuses.
    fn record(&mut self, stream: CUstream, ctx: ContextId) -> Option<DriverHandle<CUevent>>;

    /// Returns whether a mark has been reached, or its context has failed.
    fn is_reached(&self, mark: DriverHandle<CUevent>) -> bool;

    /// Takes back a mark that has been reached.
    fn give_back(&mut self, ctx: ContextId, mark: DriverHandle<CUevent>);

    /// Returns whether a stream is empty, or its context has failed.
    fn is_empty(&self, stream: DriverHandle<CUstream>) -> bool;
}
