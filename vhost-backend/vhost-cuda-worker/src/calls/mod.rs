//! The body of each call.
//!
//! | module | what |
//! |---|---|
//! | `generated/dispatch` | from a command's number to its body |
//! | `dispatch` | what that is made of |
//! | `cx` | what a body works with; the current context |
//! | `driver_handle`, `id_map`, `lock` | small types that the others share |
//! | `handles`, `claims` | what a guest's ids stand for; whose an id is |
//! | `pending` | waiting for the GPU |
//! | `gate` | what may go to the driver now, and what is held |
//! | `charges` | what is charged beside allocations |
//! | `memory`, `copy`, `host` | device memory, copies, registered host memory |
//! | `context`, `uses`, `stream` | contexts, and who is at work in one; streams and events |
//! | `image`, `blob`, `module`, `launch` | code and its kernels |
//! | `graph`, `graph_node`, `graph_shape` | graphs |
//! | `facts`, `output`, `hostfunc` | attributes, what kernels print, host functions |
//!
//! Bodies of posted and of quick calls run on the ring reader's thread, those of blocking calls on
//! the thread that mirrors the guest's. All that they share stands in `Shared`, under locks that
//! are never held across a call of the driver that may take long.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use cuda_api::sys::{CUcontext, CUdevice};

use super::driver::{CuError, Driver};
use super::executor::{Command, Engine, EngineError, Executor, Pending, Session};
use super::region::{Region, RegionKind};
use super::reply::ReplyTo;
use cx::Cx;
use driver_handle::DriverHandle;
use gate::flight;
use handles::Tables;
use lock::lock;
use memory::Memory;
use protocol::ids::ContextId;

mod blob;
mod charges;
mod claims;
mod context;
mod copy;
mod cx;
mod dispatch;
mod driver_handle;
mod facts;
pub(crate) mod gate;
#[path = "generated/dispatch.rs"]
mod generated;
mod graph;
mod graph_node;
mod graph_shape;
mod handles;
mod host;
mod hostfunc;
mod id_map;
mod image;
mod launch;
mod lock;
mod memory;
mod module;
mod output;
mod pending;
mod stream;
#[cfg(test)]
mod tests;
mod uses;

pub use gate::GateEnd;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const CAPTURE_MODE_RELAXED: u32 = 2;

/// Loads a driver library and makes it warm: initialised, with the first device's primary context.
pub fn open(library: &Path) -> Result<Box<dyn Engine>, EngineError> {
    let output = output::Output::capture();
    let driver = Driver::open(library)?;
    let failed = |call, error: CuError| EngineError::Call {
        path: driver.path().to_owned(),
        call,
        result: error.0,
    };
    let (mut devices, mut context) = (0, std::ptr::null_mut());
    // SAFETY: the pointers are those of locals.
    unsafe {
        driver.cuInit(0).map_err(|error| failed("cuInit", error))?;
        driver.cuDeviceGetCount(&mut devices).map_err(|error| failed("cuDeviceGetCount", error))?;
        driver
            .cuDevicePrimaryCtxRetain(&mut context, 0)
            .map_err(|error| failed("cuDevicePrimaryCtxRetain", error))?;
    }
    let memory = Memory::new(&driver, devices)?;
    Ok(Box::new(Warm { driver, devices, context: DriverHandle(context), memory, output }))
}

struct Warm {
    driver: Driver,
    devices: i32,
    context: DriverHandle<CUcontext>,
    memory: Memory,
    output: output::Output,
}

impl Engine for Warm {
    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError> {
        // This thread queries streams of which some may be capturing.
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is that of a local. A library without captures has no modes.
        let _ = unsafe { self.driver.cuThreadExchangeStreamCaptureMode(&mut mode) };
        // Short sleeps are to be as short as they say; errors only make them longer.
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000) };
        let mut primaries = vec![None; self.devices as usize];
        if session.context_charged {
            primaries[0] = Some(self.context);
        } else {
            // SAFETY: it was retained once, and nothing is in it.
            let ended = unsafe { self.driver.cuDevicePrimaryCtxRelease(0) };
            ended.map_err(|error| EngineError::Call {
                path: self.driver.path().to_owned(),
                call: "cuDevicePrimaryCtxRelease",
                result: error.0,
            })?;
        }
        let gate = gate::Gate::new(session.gate.clone(), self.devices as usize);
        let shared = Arc::new(Shared {
            driver: self.driver,
            session,
            devices: self.devices,
            tables: Mutex::default(),
            memory: self.memory,
            generation: AtomicU64::new(0),
            primaries: Mutex::new(primaries),
            blobs: Mutex::default(),
            output: Mutex::new(self.output),
            host_funcs: Arc::default(),
            registered: Mutex::default(),
            prints: AtomicBool::new(false),
            charges: Default::default(),
            flight_due: Default::default(),
            ending: AtomicUsize::new(0),
            uses: Default::default(),
            giving_back: AtomicUsize::new(0),
        });
        Ok(Box::new(Calls {
            shared,
            waits: Default::default(),
            arena: None,
            async_frees: Default::default(),
            watch: Default::default(),
            retries: Default::default(),
            gate,
        }))
    }
}

/// What all threads of the worker share.
struct Shared {
    driver: Driver,
    session: Session,
    devices: CUdevice,
    tables: Mutex<Tables>,
    memory: Memory,
    /// Counts contexts that have ended.
    generation: AtomicU64,
    /// By device: its primary context, while the worker retains it. The guest sees it active only
    /// once it has retained it itself.
    primaries: Mutex<Vec<Option<DriverHandle<CUcontext>>>>,
    blobs: Mutex<blob::Blobs>,
    output: Mutex<output::Output>,
    host_funcs: Arc<hostfunc::HostFuncs>,
    registered: Mutex<host::Registered>,
    /// Kernels may print: whoever waits for them is told what they have printed.
    prints: AtomicBool,
    charges: charges::Charges,
    flight_due: flight::FlightDue,
    /// Contexts whose end has begun and that the driver has not ended yet.
    ending: AtomicUsize,
    uses: uses::Uses,
    /// Mappings that are on their way back to the driver and the account.
    giving_back: AtomicUsize,
}

/// The executor: what only the ring reader's thread touches.
struct Calls {
    shared: Arc<Shared>,
    waits: pending::Waits,
    arena: Option<copy::Arena>,
    async_frees: memory::AsyncFrees,
    watch: output::Watch,
    retries: memory::Retries,
    gate: gate::Gate,
}

impl Calls {
    /// Runs a job on the thread that mirrors a guest thread, with its context.
    fn job(&self, thread: u32, ctx: ContextId, job: impl FnOnce(&Cx<'_>) + Send + 'static) {
        let shared = self.shared.clone();
        let done = self.shared.session.mirrors.run(thread, move || {
            job(&Cx { shared: &shared, thread, ctx });
            // The driver may have written what kernels printed, and nobody may ever ask for it.
            lock(&shared.output).waiting();
        });
        // At debug: a guest can have it said as often as it likes.
        if let Err(error) = done {
            tracing::debug!(session = self.shared.session.label, "{error}");
        }
    }

    /// As `job`, for one that must not be left undone: without a guest thread, or with one, it
    /// does not run there if the guest has too many.
    fn own_job(
        &self,
        thread: Option<u32>,
        ctx: ContextId,
        job: impl FnOnce(&Cx<'_>) + Send + 'static,
    ) {
        let shared = self.shared.clone();
        self.shared.session.mirrors.run_always(thread, move || {
            job(&Cx { shared: &shared, thread: thread.unwrap_or(u32::MAX), ctx });
        });
    }

    /// As `job`, for one that answers a command.
    fn on_mirror(
        &self,
        thread: u32,
        ctx: ContextId,
        reply: ReplyTo,
        job: impl FnOnce(&Cx<'_>, ReplyTo) + Send + 'static,
    ) {
        self.job(thread, ctx, move |cx| job(cx, reply));
    }
}

impl Executor for Calls {
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo) {
        self.admit(command, reply);
    }

    fn poll(&mut self) -> Pending {
        let others = [self.poll_gate(), self.poll_async_frees()];
        self.poll_retries();
        let waits = self.poll_waits();
        others.into_iter().fold(waits, |soonest, other| match (soonest, other) {
            (Pending::Nothing, other) | (_, other @ Pending::Soon) => other,
            (Pending::Within(a), Pending::Within(b)) => Pending::Within(a.min(b)),
            (soonest, _) => soonest,
        })
    }

    fn next_host_func(&mut self) -> Option<u64> {
        // In a context that has failed none is called.
        if self.gate.verdict() != 0 { None } else { self.shared.host_funcs.next() }
    }

    fn host_func_ended(&mut self) {
        self.shared.host_funcs.end();
    }

    fn is_full(&self) -> bool {
        self.holds_too_much()
    }

    fn verdict(&self) -> u32 {
        self.gate.verdict()
    }

    fn region_attached(&mut self, region: &Arc<Region>, arena: usize) {
        if region.kind() == RegionKind::Ring {
            self.arena = Some(copy::Arena::new(&self.shared, region.clone(), arena));
        }
    }

    fn region_detaching(&mut self, region: Arc<Region>) {
        let arena = match region.kind() {
            RegionKind::Ring => self.arena.take().and_then(|arena| arena.registration()),
            _ => None,
        };
        self.detach(region, arena);
    }
}
