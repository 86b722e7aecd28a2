//! Gives GPUs access to memory in the device memory window.

use cuda_api::sys::{CUmemAccess_flags, CUmemAccessDesc};

use super::peers::Accessors;
use super::physical::location;
use super::plan::Mapping;
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};

/// Gives a GPU on which the session has created a context access to the memory of the session's
/// other GPUs.
pub(in crate::calls) fn add_accessor(cx: &Cx<'_>, device: i32) {
    let memory = &cx.shared.memory;
    let Some(_no_mapping) = memory.peers.add(device) else { return };
    let mappings = lock(&memory.plan).mappings();
    for mapping in mappings {
        if mapping.device == device || !memory.peers.can_access(device, mapping.device) {
            continue;
        }
        // SAFETY: the addresses are in the device memory window. If another thread has unmapped
        // this mapping, nothing else can be mapped at its addresses while `_no_mapping` exists.
        let set = unsafe {
            cx.driver().cuMemSetAccess(mapping.addr, mapping.len as usize, &access(device), 1)
        };
        if let Err(error) = set {
            let session = &cx.shared.session.label;
            tracing::debug!(session, device, "no access to memory of another GPU: {error}");
        }
    }
}

/// Gives the GPUs in `used`, which have had a context, access to a mapping, if they can access the
/// memory of the mapping's GPU. The mapping's own GPU may not be among them, if the memory belongs
/// to another process.
///
/// # Safety
///
/// The addresses must be in the device memory window, and belong only to this mapping, which must
/// be mapped.
pub(super) unsafe fn grant(cx: &Cx<'_>, mapping: &Mapping, used: &Accessors<'_>) -> CuResult {
    let Mapping { addr, len, device: holder, .. } = *mapping;
    let peers = &cx.shared.memory.peers;
    let others = used.iter().filter(|other| **other != holder && peers.can_access(**other, holder));
    let own = used.is_empty() || used.contains(&holder);
    let mut all: Vec<_> = own.then_some(access(holder)).into_iter().collect();
    all.extend(others.map(|other| access(*other)));
    let set = |accesses: &[CUmemAccessDesc]| {
        // SAFETY: the caller guarantees that the addresses belong only to this mapping. The pointer
        // and the count are those of a slice.
        unsafe { cx.driver().cuMemSetAccess(addr, len as usize, accesses.as_ptr(), accesses.len()) }
    };
    match set(&all) {
        // This fails if the context of another GPU has been destroyed. Give access only to the
        // mapping's own GPU then, because the memory is useful even if other GPUs can't access it.
        Err(error) if error != CuError::OUT_OF_MEMORY && all.len() > 1 => set(&all[..1]),
        set => set,
    }
}

fn access(device: i32) -> CUmemAccessDesc {
    CUmemAccessDesc {
        location: location(device),
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}
