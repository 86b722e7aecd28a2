//! What all threads of the worker share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUcontext, CUdevice};

use super::driver_handle::DriverHandle;
use super::gate::InFlight;
use super::handles::Tables;
use super::memory::Memory;
use super::{blob, charges, hostfunc, output, registered, uses};
use crate::driver::Driver;
use crate::executor::Session;

/// What all threads of the worker share.
pub(super) struct Shared {
    pub(super) driver: Driver,
    pub(super) session: Session,
    pub(super) devices: CUdevice,
    pub(super) tables: Mutex<Tables>,
    pub(super) memory: Memory,
    /// Counts contexts that have ended.
    pub(super) generation: AtomicU64,
    /// By device: its primary context, while the worker retains it. The guest sees it active only
    /// once it has retained it itself.
    pub(super) primaries: Mutex<Vec<Option<DriverHandle<CUcontext>>>>,
    pub(super) blobs: Mutex<blob::Blobs>,
    pub(super) output: Mutex<output::Output>,
    pub(super) host_funcs: Arc<hostfunc::HostFuncs>,
    pub(super) registered: Mutex<registered::Registered>,
    /// Kernels may print: whoever waits for them is told what they have printed.
    pub(super) prints: AtomicBool,
    pub(super) charges: charges::Charges,
    pub(super) flight: InFlight,
    /// Contexts whose end has begun and that the driver has not ended yet.
    pub(super) ending: AtomicUsize,
    pub(super) uses: uses::ActiveCalls,
    /// Mappings that are on their way back to the driver and the account.
    pub(super) giving_back: AtomicUsize,
}
