//! Keeps track of the memory that the calls of a session may use.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use cuda_api::sys::CUmemAllocationGranularity_flags;
use protocol::ids::{ContextId, LibraryId, ModuleId};

use super::charged::Exporting;
use super::gpu_free::GpuFree;
use super::peers::Peers;
use super::physical::properties;
use super::plan::{Freeing, Mapping, Plan, WINDOW};
use super::space::Space;
use super::spans::Spans;
use crate::calls::lock;
use crate::driver::{CuError, CuResult, Driver};
use crate::executor::EngineError;

/// Memory outside the device memory window that the calls of a session may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::calls) enum Foreign {
    /// Host memory that the guest has registered.
    Host,
    /// A variable of a module or of a library. `ctx` is the context in which the variable exists.
    Global { module: Option<ModuleId>, library: Option<LibraryId>, ctx: ContextId },
}

/// The memory that the calls of a session may use.
pub(in crate::calls) struct Memory {
    pub plan: Mutex<Plan>,
    /// The addresses and the physical memory that the guest manages itself.
    pub space: Mutex<Space>,
    pub foreign: Mutex<Spans<Foreign>>,
    pub peers: Peers,
    pub gpu_free: GpuFree,
    /// Whether there is a thread that frees kept memory when the broker recalls it. Only the ring
    /// reader's thread uses this flag.
    pub(super) is_watched: AtomicBool,
    /// A lock that is held while memory is being exported, so that no call returns the name of an
    /// export that isn't complete. It's locked before the other locks.
    pub exporting: Mutex<Exporting>,
}

impl Memory {
    /// Reserves the addresses of the device memory window. No context needs to be current.
    pub(in crate::calls) fn new(driver: &Driver, devices: i32) -> Result<Self, EngineError> {
        let failed = |call, error: CuError| EngineError::Call {
            path: driver.library().path().to_owned(),
            call,
            result: error.0,
        };
        let mut granule = 64 << 10;
        for device in 0..devices {
            let mut minimum = 0;
            // SAFETY: the pointers are to local variables.
            unsafe {
                driver.cuMemGetAllocationGranularity(
                    &mut minimum,
                    &properties(device),
                    CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM,
                )
            }
            .map_err(|error| failed("cuMemGetAllocationGranularity", error))?;
            granule = granule.max(minimum);
        }
        let (mut at, len) = (0, (WINDOW.end - WINDOW.start) as usize);
        // SAFETY: the driver writes only to a local variable, and a reservation doesn't affect
        // existing mappings.
        unsafe { driver.cuMemAddressReserve(&mut at, len, 0, WINDOW.start, 0) }
            .map_err(|error| failed("cuMemAddressReserve", error))?;
        if at != WINDOW.start {
            return Err(EngineError::Window { path: driver.library().path().to_owned(), at });
        }
        let plan = Mutex::new(Plan::new(granule as u64));
        let space = Mutex::new(Space::new(granule as u64));
        let peers = Peers::new(driver, devices);
        let peers = peers.map_err(|error| failed("cuDeviceCanAccessPeer", error))?;
        let (foreign, exporting, gpu_free, is_watched) = Default::default();
        Ok(Self { plan, space, foreign, peers, gpu_free, is_watched, exporting })
    }

    /// Fails unless all `len` bytes at `addr` are memory that the session's calls may use. The
    /// worker's own memory never is.
    pub(in crate::calls) fn check(&self, addr: u64, len: u64) -> CuResult {
        let named = if WINDOW.contains(&addr) {
            lock(&self.plan).covers(addr, len) || lock(&self.space).covers(addr, len)
        } else {
            lock(&self.foreign).covers(addr, len)
        };
        if named || len == 0 { Ok(()) } else { Err(CuError::INVALID_VALUE) }
    }

    /// Returns whether an address is in host memory that a call may use. Variables of modules are
    /// outside the device memory window, but they aren't host memory.
    pub(in crate::calls) fn is_host(&self, addr: u64) -> bool {
        !WINDOW.contains(&addr) && lock(&self.foreign).at(addr) == Some(&Foreign::Host)
    }

    /// Records that freed memory is no longer in use. Returns the mapping that the caller must
    /// unmap, if there is one. This function doesn't unmap it, because unmapping may block.
    pub(in crate::calls) fn freed(&self, freeing: Freeing) -> Option<Mapping> {
        lock(&self.plan).ended(freeing)
    }

    /// Removes the entries of variables for which `gone` returns true, so that calls can't use
    /// them.
    pub(in crate::calls) fn forget_globals(&self, gone: impl Fn(&Foreign) -> bool) {
        let mut foreign = lock(&self.foreign);
        for start in foreign.starts(gone) {
            foreign.remove(start);
        }
    }

    /// Removes the entries of all module variables in a context that has been destroyed.
    pub(in crate::calls) fn forget_globals_of_context(&self, ended: ContextId) {
        self.forget_globals(
            |global| matches!(global, Foreign::Global { ctx, .. } if *ctx == ended),
        );
    }
}
