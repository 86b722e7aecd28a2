//! The set of values on which the conditional nodes of one graph depend.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_api::sys::CUgraph;
use protocol::ids::ContextId;
use protocol::limits::GRAPH_VALUES_MAX;

use crate::calls::lock;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::driver::{CuError, CuResult};

/// The number of values that exist in the session's graphs.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The values of one graph, on which its conditional nodes depend.
pub(in crate::calls) struct Values {
    /// The driver's graph for which the values were created.
    pub real: DriverHandle<CUgraph>,
    pub ctx: ContextId,
    state: Mutex<Lifetime>,
}

#[derive(Default)]
struct Lifetime {
    handles: HashSet<u64>,
    /// Whether the driver's graph currently contains the nodes of an executable graph.
    busy: bool,
    /// Whether the guest has destroyed the values.
    ended: bool,
}

impl Values {
    /// Creates an empty set of values for a driver graph.
    pub(in crate::calls) fn new(real: CUgraph, ctx: ContextId) -> Self {
        Self { real: DriverHandle(real), ctx, state: Mutex::default() }
    }

    /// Returns whether `handle` is one of these values.
    pub(in crate::calls) fn contain(&self, handle: u64) -> bool {
        lock(&self.state).handles.contains(&handle)
    }

    /// Reserves the driver's graph for the nodes of an executable graph in a context.
    pub(in crate::calls) fn begin(&self, ctx: ContextId) -> CuResult {
        let mut state = lock(&self.state);
        if state.busy || state.ended || self.ctx != ctx {
            return Err(CuError::INVALID_VALUE);
        }
        state.busy = true;
        Ok(())
    }

    /// Ends the reservation that `begin` made, after the caller has removed the nodes. The caller
    /// must destroy the driver's graph if this returns true.
    #[must_use]
    pub(in crate::calls) fn finish(&self) -> bool {
        let mut state = lock(&self.state);
        state.busy = false;
        state.ended
    }

    /// Records that the guest has destroyed the values. The caller must destroy the driver's graph
    /// if this returns true.
    #[must_use]
    pub(in crate::calls) fn end(&self) -> bool {
        let mut state = lock(&self.state);
        state.ended = true;
        !state.busy
    }

    /// Calls `create`, which creates a value in the driver, and adds the returned handle to these
    /// values.
    pub(in crate::calls) fn add(
        &self,
        ctx: ContextId,
        create: impl FnOnce() -> CuResult<u64>,
    ) -> CuResult<u64> {
        let mut state = lock(&self.state);
        if state.ended || self.ctx != ctx {
            return Err(CuError::INVALID_VALUE);
        }
        if COUNT.fetch_add(1, Ordering::Relaxed) >= GRAPH_VALUES_MAX {
            COUNT.fetch_sub(1, Ordering::Relaxed);
            return Err(CuError::OUT_OF_MEMORY);
        }
        let created = create();
        if !created.is_ok_and(|handle| state.handles.insert(handle)) {
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
        created
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        COUNT.fetch_sub(lock(&self.state).handles.len(), Ordering::Relaxed);
    }
}
