//! Access of the session's GPUs to one another's memory.
//!
//! In CUDA, a copy between two GPUs needs no preparation, and `cuCtxEnablePeerAccess` lets kernels on
//! one GPU access all memory of another. Memory from cuMemCreate is different: each mapping lists the
//! GPUs that can access it, and a copy needs such access, too. So memory that the worker maps can
//! be accessed by all GPUs on which the session has had a context, if the hardware permits it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use cuda_api::sys::{CUmemAccess_flags, CUmemAccessDesc};

use super::plan::Mapping;
use super::session::properties;
use crate::calls::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuResult, Driver};

/// Access of the session's GPUs to one another's memory.
pub(in crate::calls) struct Peers {
    /// For each GPU, whether it can access the memory of each GPU.
    can_access: Vec<Vec<bool>>,
    /// The GPUs on which the session has had a context.
    used: RwLock<Vec<i32>>,
}

/// The GPUs that can access new memory. No GPU is added while this exists, so its holder can map
/// memory and list it in the plan, where [`Peers::add`] looks for mappings.
pub(super) struct Accessors<'a>(RwLockReadGuard<'a, Vec<i32>>);

impl Peers {
    /// Asks the driver which of the GPUs can access one another's memory.
    pub(super) fn new(driver: &Driver, devices: i32) -> CuResult<Self> {
        let can_access = |device: i32, holder: i32| {
            let mut can = 0;
            if device != holder {
                // SAFETY: the pointer is to a local variable.
                unsafe { driver.cuDeviceCanAccessPeer(&mut can, device, holder)? };
            }
            Ok(device == holder || can != 0)
        };
        let row = |device| (0..devices).map(|holder| can_access(device, holder)).collect();
        let can_access = (0..devices).map(row).collect::<CuResult<_>>()?;
        Ok(Self { can_access, used: RwLock::default() })
    }

    /// Returns whether a GPU can access another one's memory. Every GPU can access its own.
    pub(super) fn can_access(&self, device: i32, holder: i32) -> bool {
        let row = usize::try_from(device).ok().and_then(|device| self.can_access.get(device));
        let can = usize::try_from(holder).ok().and_then(|holder| row?.get(holder));
        can.copied().unwrap_or(false)
    }

    /// Returns the GPUs that can access memory that is mapped now.
    pub(super) fn accessors(&self) -> Accessors<'_> {
        Accessors(self.used.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn used(&self) -> RwLockWriteGuard<'_, Vec<i32>> {
        self.used.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives a GPU, on which the session has created a context, access to the memory of other GPUs.
pub(in crate::calls) fn add_accessor(cx: &Cx<'_>, device: i32) {
    let memory = &cx.shared.memory;
    if memory.peers.can_access.len() < 2 {
        return;
    }
    let mut used = memory.peers.used();
    if used.contains(&device) {
        return;
    }
    used.push(device);
    let mappings = lock(&memory.plan).mappings();
    for mapping in mappings {
        if mapping.device == device || !memory.peers.can_access(device, mapping.device) {
            continue;
        }
        // SAFETY: the addresses are in the window. If the mapping has been unmapped meanwhile, they
        // are unmapped, because nothing is mapped while `used` is locked.
        let set = unsafe {
            cx.driver().cuMemSetAccess(mapping.addr, mapping.len as usize, &access(device), 1)
        };
        if let Err(error) = set {
            let session = &cx.shared.session.label;
            tracing::debug!(session, device, "no access to memory of another GPU: {error}");
        }
    }
}

/// Gives the mapping's own GPU access to it, and all others that have a context and can have access.
///
/// # Safety
/// The addresses must be in the window, and belong only to this mapping, which must be mapped.
pub(super) unsafe fn grant(
    cx: &Cx<'_>,
    mapping: &Mapping,
    Accessors(used): &Accessors<'_>,
) -> CuResult {
    let Mapping { addr, len, device: holder, .. } = *mapping;
    let peers = &cx.shared.memory.peers;
    let others = used.iter().filter(|other| **other != holder && peers.can_access(**other, holder));
    let mut all = vec![access(holder)];
    all.extend(others.map(|other| access(*other)));
    let set = |accesses: &[CUmemAccessDesc]| {
        // SAFETY: the caller vouches for the addresses. The pointer is to a slice of this length.
        unsafe { cx.driver().cuMemSetAccess(addr, len as usize, accesses.as_ptr(), accesses.len()) }
    };
    match set(&all) {
        // Another GPU's context may have been destroyed. The memory is useful without that GPU.
        Err(_) if all.len() > 1 => set(&all[..1]),
        set => set,
    }
}

fn access(device: i32) -> CUmemAccessDesc {
    CUmemAccessDesc {
        location: properties(device).location,
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    }
}
