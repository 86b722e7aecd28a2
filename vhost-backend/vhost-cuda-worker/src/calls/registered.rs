//! Host memory registered with the GPU.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::ids::ContextId;

use crate::region::Region;

/// `CU_MEMHOSTREGISTER_PORTABLE` and `CU_MEMHOSTREGISTER_DEVICEMAP`.
pub(super) const REGISTER_FLAGS: u32 = 1 | 2;

/// A registered range of host memory.
pub(super) struct Registration {
    pub(super) region: Arc<Region>,
    pub(super) at: u64,
    pub(super) dptr: u64,
    /// The context in which the memory was registered. When that context is destroyed, the
    /// registration ends.
    pub(super) ctx: ContextId,
}

impl Registration {
    /// Returns the registration of a whole region, which the worker makes itself. The guest can't
    /// use it in calls.
    pub(super) fn of_all(region: &Arc<Region>) -> Self {
        Self { region: region.clone(), at: region.base() as u64, dptr: 0, ctx: ContextId::NONE }
    }
}

/// All registered host memory, by its address in the guest process. A registration keeps its pages
/// mapped.
#[derive(Default)]
pub(super) struct Registered {
    pub(super) by_vaddr: HashMap<u64, Registration>,
}
