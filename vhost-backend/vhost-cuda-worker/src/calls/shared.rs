//! The state of a session that all threads of the worker share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUcontext, CUdevice, CUstream};
use protocol::ids::ContextId;

use super::driver_handle::DriverHandle;
use super::gate::{InFlight, Turns};
use super::handles::Tables;
use super::limit_calls::LimitCalls;
use super::lock::lock;
use super::memory::{Memory, Unmapping};
use super::properties::Properties;
use super::{blob, budget, charges, hostfunc, output, registered, uses, value_waits};
use crate::driver::Driver;
use crate::executor::Session;
use crate::reply::ReplyTo;

/// The state of a session that all threads of the worker share.
pub(super) struct Shared {
    pub(super) driver: Driver,
    pub(super) session: Session,
    pub(super) devices: CUdevice,
    pub(super) tables: Mutex<Tables>,
    pub(super) memory: Memory,
    pub(super) properties: Properties,
    /// Incremented whenever a context is created or destroyed. When a thread finds a new value, it
    /// makes its context current in the driver again.
    pub(super) generation: AtomicU64,
    /// The primary context of each device, if the worker has retained it. To the guest, it is
    /// active only after the guest has retained it, too.
    pub(super) primaries: Mutex<Vec<Option<DriverHandle<CUcontext>>>>,
    /// The number of descriptors of green contexts that the session has made. The lock is held
    /// while a green context is being created or destroyed.
    pub(super) green_descriptors: Mutex<usize>,
    pub(super) blobs: Mutex<blob::Blobs>,
    pub(super) budget: budget::Budget,
    pub(super) output: Mutex<output::Output>,
    pub(super) host_funcs: Arc<hostfunc::HostFuncs>,
    pub(super) value_waits: value_waits::ValueWaits,
    pub(super) turns: Turns,
    pub(super) registered: Mutex<registered::Registered>,
    /// Whether kernels are known to print. If so, replies to calls that wait for the GPU say
    /// whether there is output.
    pub(super) prints: AtomicBool,
    pub(super) charges: charges::Charges,
    pub(super) flight: InFlight,
    /// The number of contexts that are now being destroyed.
    pub(super) ending: AtomicUsize,
    pub(super) uses: Arc<uses::Uses>,
    pub(super) limit_calls: LimitCalls,
    /// The mappings of device memory that are now being unmapped and freed.
    pub(super) unmapping: Mutex<Unmapping>,
}

impl Shared {
    /// Sets the output flag in a reply if there is kernel output for the guest to fetch.
    pub(super) fn report_output(&self, reply: ReplyTo) -> ReplyTo {
        if lock(&self.output).waiting() > 0 { reply.with_output() } else { reply }
    }

    /// Forgets a stream that is about to be destroyed. Commands already queued in it still run to
    /// completion.
    pub(super) fn forget_stream(&self, stream: DriverHandle<CUstream>, ctx: ContextId) {
        self.flight.forget(stream.0, ctx);
        self.host_funcs.forget((stream.0 as u64, ctx));
        self.value_waits.forget((stream.0 as u64, ctx));
    }

    /// Returns the ordinals of the devices on which the process has contexts.
    pub(super) fn devices_with_contexts(&self) -> BTreeSet<usize> {
        // A worker has a primary context even if the guest hasn't retained it.
        let primaries = lock(&self.primaries);
        let retained = (0..).zip(&*primaries).filter(|(_, context)| context.is_some());
        let mut devices: BTreeSet<usize> = retained.map(|(device, _)| device).collect();
        let created = lock(&self.tables);
        let created = created.contexts.iter().map(|(_, context)| context.device);
        devices.extend(created.filter_map(|device| usize::try_from(device).ok()));
        devices
    }
}
