//! The gate's interface to streams and events in the driver.

use cuda_api::sys::{CUevent, CUstream};

use protocol::ids::ContextId;

use crate::calls::tables::driver_handle::DriverHandle;

/// Records marks, and queries whether the GPU has reached them. A mark is an event that shows when
/// the commands before it in its stream have finished.
pub(in crate::calls) trait Marks {
    /// Records a mark in a stream of the context. Returns `None` if the driver refuses.
    fn record(&mut self, stream: CUstream, ctx: ContextId) -> Option<DriverHandle<CUevent>>;

    /// Records a mark in a stream, as [`Marks::record`] does, some time after the stream's last
    /// command was queued. In that time, the legacy stream may have come to depend on other
    /// streams, and a mark in it would make later commands of those streams wait. So an
    /// implementation may use another stream that waits for the legacy stream. May return `None` at
    /// the first call.
    fn record_late(&mut self, stream: CUstream, ctx: ContextId) -> Option<DriverHandle<CUevent>>;

    /// Returns true if the GPU has reached the mark, or if the mark's context has failed.
    fn is_reached(&self, mark: DriverHandle<CUevent>) -> bool;

    /// Returns a mark that is no longer needed, so that its event can be reused.
    fn give_back(&mut self, ctx: ContextId, mark: DriverHandle<CUevent>);

    /// Returns true if no work is left in the stream of this context, or if the context has failed.
    fn is_empty(&self, stream: CUstream, ctx: ContextId) -> bool;
}
