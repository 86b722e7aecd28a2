//! The state of a session that all threads of the worker share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUcontext, CUdevice, CUstream};
use protocol::ids::ContextId;

use crate::calls::code::{blob, output};
use crate::calls::commands::budget;
use crate::calls::commands::stop::Stop;
use crate::calls::contexts::charges;
use crate::calls::contexts::limit_calls::LimitCalls;
use crate::calls::gate::{InFlight, Turns};
use crate::calls::lock::lock;
use crate::calls::memory::allocations::{Memory, Unmapping};
use crate::calls::memory::registered;
use crate::calls::properties::Properties;
use crate::calls::streams::{hostfunc, value_waits};
use crate::calls::tables::driver_handle::DriverHandle;
use crate::calls::tables::handles::Tables;
use crate::calls::tables::uses::{self, Object};
use crate::driver::Driver;
use crate::executor::Session;
use crate::reply::ReplyTo;

/// The state of a session that all threads of the worker share.
pub(in crate::calls) struct Shared {
    pub(in crate::calls) driver: Driver,
    pub(in crate::calls) session: Session,
    pub(in crate::calls) devices: CUdevice,
    pub(in crate::calls) tables: Mutex<Tables>,
    pub(in crate::calls) memory: Memory,
    pub(in crate::calls) properties: Properties,
    /// A counter that is incremented whenever a context is created or destroyed. A thread that
    /// finds a new value makes its context current in the driver again.
    pub(in crate::calls) generation: AtomicU64,
    /// The primary context of each device that the worker has retained. To the guest, a primary
    /// context is active only once the guest has retained it, too.
    pub(in crate::calls) primaries: Mutex<Vec<Option<DriverHandle<CUcontext>>>>,
    /// The number of descriptors of green contexts that the session has made. The lock is held
    /// while a green context is being created or destroyed.
    pub(in crate::calls) green_descriptors: Mutex<usize>,
    pub(in crate::calls) blobs: Mutex<blob::Blobs>,
    pub(in crate::calls) budget: budget::Budget,
    pub(in crate::calls) output: Mutex<output::Output>,
    pub(in crate::calls) host_funcs: Arc<hostfunc::HostFuncs>,
    pub(in crate::calls) value_waits: value_waits::ValueWaits,
    pub(in crate::calls) turns: Turns,
    pub(in crate::calls) registered: Mutex<registered::Registered>,
    /// Whether kernels are known to print. If they are, replies to calls that wait for the GPU say
    /// whether there is output.
    pub(in crate::calls) prints: AtomicBool,
    pub(in crate::calls) charges: charges::Charges,
    pub(in crate::calls) flight: InFlight,
    /// The number of contexts that are now being destroyed.
    pub(in crate::calls) ending: AtomicUsize,
    pub(in crate::calls) uses: Arc<uses::Uses>,
    pub(in crate::calls) limit_calls: LimitCalls,
    /// The mappings of device memory that are now being unmapped and freed.
    pub(in crate::calls) unmapping: Mutex<Unmapping>,
    /// Whether a stream was destroyed before its work had ended. No call waits for such work, so
    /// memory that it could use must not be kept for reuse.
    pub(in crate::calls) has_lost_work: AtomicBool,
    pub(in crate::calls) stop: Stop,
}

impl Shared {
    /// Sets the output flag in a reply if there is kernel output for the guest to fetch.
    pub(in crate::calls) fn report_output(&self, reply: ReplyTo) -> ReplyTo {
        if lock(&self.output).waiting() > 0 { reply.with_output() } else { reply }
    }

    /// Forgets a stream that is about to be destroyed. Commands already queued in it still run to
    /// completion.
    pub(in crate::calls) fn forget_stream(&self, stream: DriverHandle<CUstream>, ctx: ContextId) {
        // SAFETY: the stream is live, because the caller destroys it only after this call.
        let is_empty = !self.uses.any_of(Object::stream(stream.0))
            && unsafe { self.driver.cuStreamQuery(stream.0) }.is_ok();
        self.has_lost_work.fetch_or(!is_empty, Ordering::Relaxed);
        self.flight.forget(stream.0, ctx);
        self.host_funcs.forget((stream.0 as u64, ctx));
        self.value_waits.forget((stream.0 as u64, ctx));
    }

    /// Returns the ordinals of the devices on which the process has contexts.
    pub(in crate::calls) fn devices_with_contexts(&self) -> BTreeSet<usize> {
        // Count the primary contexts that the worker has retained, too, because they exist even if
        // the guest hasn't retained them.
        let primaries = lock(&self.primaries);
        let retained = (0..).zip(&*primaries).filter(|(_, context)| context.is_some());
        let mut devices: BTreeSet<usize> = retained.map(|(device, _)| device).collect();
        let created = lock(&self.tables);
        let created = created.contexts.iter().map(|(_, context)| context.device);
        devices.extend(created.filter_map(|device| usize::try_from(device).ok()));
        devices
    }
}
