//! Registrations of host memory with the GPU.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::ids::ContextId;

use crate::region::Region;

/// `CU_MEMHOSTREGISTER_PORTABLE` and `CU_MEMHOSTREGISTER_DEVICEMAP`.
pub(super) const REGISTER_FLAGS: u32 = 1 | 2;

/// One registration.
pub(super) struct Registration {
    pub(super) region: Arc<Region>,
    pub(super) at: u64,
    pub(super) dptr: u64,
    /// The context in which it was made. The registration ends with that context.
    pub(super) ctx: ContextId,
}

impl Registration {
    /// The registration of a whole region by the worker itself. The guest can't name it.
    pub(super) fn of_all(region: &Arc<Region>) -> Self {
        Self { region: region.clone(), at: region.base() as u64, dptr: 0, ctx: ContextId::NONE }
    }
}

/// Registered memory, by its address in the guest process. A registration keeps its pages mapped.
#[derive(Default)]
pub(super) struct Registered {
    pub(super) by_vaddr: HashMap<u64, Registration>,
}
