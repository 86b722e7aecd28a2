//! Host memory that is registered with the GPU.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::ids::ContextId;
use protocol::windows::PAGE_BYTES;

use crate::region::Region;

/// The flags of all registrations: `CU_MEMHOSTREGISTER_PORTABLE` and
/// `CU_MEMHOSTREGISTER_DEVICEMAP`.
pub(in crate::calls) const REGISTER_FLAGS: u32 = 1 | 2;

/// Maps all pages of a range before the driver pins them. With this system call, the kernel maps
/// many pages at once. Without it, the driver's request would cause a page fault for each page.
/// Failures are ignored, because the driver then maps the remaining pages, or fails.
pub(in crate::calls) fn populate(at: *mut u8, len: usize) {
    let start = at.map_addr(|address| address & !(PAGE_BYTES as usize - 1));
    let len = (at.addr() - start.addr()).saturating_add(len);
    // SAFETY: the kernel checks the range, and populating pages for reading doesn't change their
    // contents.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_POPULATE_READ) };
}

/// A range of host memory that is registered with the GPU.
pub(in crate::calls) struct Registration {
    pub(in crate::calls) region: Arc<Region>,
    pub(in crate::calls) at: u64,
    pub(in crate::calls) dptr: u64,
    /// The context in which the memory was registered. The registration ends when that context is
    /// destroyed.
    pub(in crate::calls) ctx: ContextId,
}

impl Registration {
    /// Returns the worker's own registration of a whole region. The guest can't use the memory in
    /// calls by means of this registration.
    pub(in crate::calls) fn of_all(region: &Arc<Region>) -> Self {
        Self { region: region.clone(), at: region.base() as u64, dptr: 0, ctx: ContextId::NONE }
    }
}

/// All host memory that the guest has registered, by its address in the guest process. Each
/// registration keeps its region mapped.
#[derive(Default)]
pub(in crate::calls) struct Registered {
    pub(in crate::calls) by_vaddr: HashMap<u64, Registration>,
}
