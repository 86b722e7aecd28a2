//! The engine that executes the calls of a session.

use std::ffi::{c_int, c_void};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuda_api::sys::{CUcontext, CUdevice_attribute, CUstreamCaptureMode};
use protocol::ids::ContextId;
use rustix::thread::set_current_timer_slack;

use host_ipc::gate::GateMap;

use crate::calls::code::output;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::events::OBSERVER;
use crate::calls::commands::shared::Shared;
use crate::calls::commands::stop::Phase;
use crate::calls::contexts::charges::begin_charges;
use crate::calls::contexts::limit_calls::LimitCalls;
use crate::calls::gate::{Admission, Cursor, Gate, Ticket, Turns};
use crate::calls::generated;
use crate::calls::lock;
use crate::calls::memory::allocations::{Memory, start_moving};
use crate::calls::memory::host;
use crate::calls::properties::Properties;
use crate::calls::streams::thread_streams::thread_stream;
use crate::calls::tables::driver_handle::DriverHandle;
use crate::driver::{CuError, Driver, OBEY_EVICTIONS};
use crate::executor::{Command, Engine, EngineError, Executor, Pending, Prepare, Session};
use crate::ledger::{Asked, Question, be_reader, take_question};
use crate::region::{Region, RegionKind};
use crate::reply::{ReplyTo, take_unfinished};

/// Loads the driver library and initializes it, with the primary context of the first device if
/// `prepare` says so, so that the worker can serve a session without delay. If the driver must be a
/// client of an MPS daemon, fails unless it is: the driver reports no error if it can't reach the
/// daemon, but then MPS's limits don't apply.
pub fn open(library: &Path, prepare: Prepare) -> Result<Box<dyn Engine>, EngineError> {
    let output = output::Output::capture();
    let driver = Driver::open(library)?;
    let failed = |call, error: CuError| EngineError::Call {
        path: driver.library().path().to_owned(),
        call,
        result: error.0,
    };
    let (mut devices, mut context) = (0, None);
    // SAFETY: the pointers are to local variables.
    unsafe {
        driver.cuInit(0).map_err(|error| failed("cuInit", error))?;
        driver.cuDeviceGetCount(&mut devices).map_err(|error| failed("cuDeviceGetCount", error))?;
        if prepare.context {
            let mut retained = std::ptr::null_mut();
            driver
                .cuDevicePrimaryCtxRetain(&mut retained, 0)
                .map_err(|error| failed("cuDevicePrimaryCtxRetain", error))?;
            context = Some(DriverHandle(retained));
        }
    }
    if prepare.mps {
        let (mut used, attribute) = (0, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
        // SAFETY: the pointer is to a local variable.
        let known = unsafe { driver.cuDeviceGetAttribute(&mut used, attribute, 0) };
        if known.is_err() || used == 0 {
            return Err(EngineError::WithoutMps);
        }
    }
    let memory = Memory::new(&driver, devices)?;
    let properties = Properties::read(&driver, devices)
        .map_err(|error| failed("reading device properties", error))?;
    Ok(Box::new(Warm { driver, devices, context, memory, properties, output }))
}

struct Warm {
    driver: Driver,
    devices: i32,
    context: Option<DriverHandle<CUcontext>>,
    memory: Memory,
    properties: Properties,
    output: output::Output,
}

impl Engine for Warm {
    fn obey_evictions(&self, page: &Arc<GateMap>) {
        let Some(symbol) = self.driver.library().symbol(OBEY_EVICTIONS) else { return };
        // SAFETY: the library has a function of this name only if it's softgpu, whose function has
        // this type.
        let obey = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int, *mut u64, *mut u64)>(
                symbol,
            )
        };
        // Never unmap the page, because the kernels access it until this process ends.
        std::mem::forget(page.clone());
        for (device, gate) in (0..self.devices).zip(&page.gpus) {
            // SAFETY: the words are in the page, which is never unmapped, and both processes and
            // softgpu access them only atomically.
            unsafe { obey(device, gate.off.as_ptr(), gate.running.as_ptr()) };
        }
    }

    fn begin(self: Box<Self>, session: Session) -> Result<Box<dyn Executor>, EngineError> {
        // Allow driver calls that are unsafe during stream capture, so that this thread can query a
        // stream that is capturing.
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is to a local variable. A library without capture modes refuses the
        // call.
        let _ = unsafe { self.driver.cuThreadExchangeStreamCaptureMode(&mut mode) };
        // Make short sleeps accurate. If setting the timer slack fails, sleeps just take longer.
        let _ = set_current_timer_slack(NonZero::new(1000));
        let mut primaries = vec![None; self.devices as usize];
        if session.context_charged {
            primaries[0] = self.context;
        } else if self.context.is_some() {
            // SAFETY: the context was retained once, and there is nothing in it.
            let ended = unsafe { self.driver.cuDevicePrimaryCtxRelease(0) };
            ended.map_err(|error| EngineError::Call {
                path: self.driver.library().path().to_owned(),
                call: "cuDevicePrimaryCtxRelease",
                result: error.0,
            })?;
        }
        let turns = Turns::new(session.waker.clone(), session.gate.clone());
        let limit_calls = LimitCalls::new(session.waker.clone());
        let retained = primaries.first().is_some_and(Option::is_some);
        let gate = Gate::new(session.gate.clone(), self.devices as usize);
        let shared = Arc::new(Shared {
            driver: self.driver,
            session,
            devices: self.devices,
            tables: Mutex::default(),
            memory: self.memory,
            properties: self.properties,
            generation: AtomicU64::new(0),
            primaries: Mutex::new(primaries),
            green_descriptors: Mutex::default(),
            blobs: Mutex::default(),
            budget: Default::default(),
            output: Mutex::new(self.output),
            host_funcs: Arc::default(),
            value_waits: Default::default(),
            turns,
            registered: Mutex::default(),
            prints: AtomicBool::new(false),
            charges: Default::default(),
            flight: Default::default(),
            ending: AtomicUsize::new(0),
            uses: Default::default(),
            limit_calls,
            unmapping: Mutex::default(),
            has_lost_work: AtomicBool::default(),
            stop: Default::default(),
        });
        if retained {
            begin_charges(
                &Cx { shared: &shared, thread: 0, ctx: ContextId::NONE },
                ContextId::NONE,
                0,
            );
        }
        start_moving(&shared);
        // Mark this thread as the ring reader only now. Before a session begins, this thread may
        // block, because no call waits for it.
        be_reader();
        Ok(Box::new(Calls { deferred: Deferred::new(shared.clone()), shared, gate }))
    }
}

/// The longest time that a worker may wait for windows before it exits. The VM's memory becomes
/// free only when the worker exits, and the broker kills workers that take much longer.
const EXIT_WITHIN: Duration = Duration::from_millis(500);

/// The executor of a session. It runs on the ring reader's thread.
struct Calls {
    shared: Arc<Shared>,
    gate: Gate,
    deferred: Deferred,
}

impl Calls {
    /// Reads the scheduler's grants, and runs the held commands that may now go to the driver.
    /// Returns when to poll again.
    fn poll_gate(&mut self) -> Pending {
        let Calls { shared, gate, deferred } = self;
        let now = host_ipc::gate::now();
        let look = gate.read(now);
        if gate.verdict() != 0 {
            deferred.fail_waits(CuError(gate.verdict()));
        }
        let cx = Cx { shared, thread: 0, ctx: ContextId::NONE };
        gate.give_turns(&shared.turns, now);
        if look {
            gate.look(&cx, deferred.events());
            if let Some(ctx) = deferred.events().take_wanted() {
                let cx = Cx { thread: OBSERVER, ctx, ..cx };
                // Create the observer's stream. If the VM's quota has no room for it, the legacy
                // stream counts as busy as long as any stream that synchronizes with it is.
                let _ = cx.enter().and_then(|_| thread_stream(&cx));
            }
        }
        let mut cursor = Cursor::default();
        while let Some((held, ticket)) = gate.next(&cx, deferred.events(), &mut cursor) {
            let uses = held.uses();
            let undecided = held.run_with(|command, reply, decision| {
                let ledger = &shared.session.ledger;
                ledger
                    .with_decision(decision, || run(gate, deferred, shared, command, ticket, reply))
            });
            match undecided {
                None => gate.ran_held(&cursor, &uses),
                Some(held) => gate.hold_again(&cursor, held),
            }
        }
        gate.notify_scheduler(now)
    }

    /// Returns whether no work of the session is in flight, no thread uses the driver, and no call
    /// waits for anything but a turn on a GPU. Such calls have not begun, and don't begin before the
    /// gate is polled again.
    fn is_quiet(&mut self) -> bool {
        let Calls { shared, gate, deferred } = self;
        let cx = Cx { shared, thread: 0, ctx: ContextId::NONE };
        if gate.has_next() || !gate.is_idle(&cx, deferred.events()) {
            return false;
        }
        // Answer the calls that have waited for this work.
        deferred.poll_waiters();
        let _ = deferred.poll_waits();
        deferred.awaits_nothing()
            && shared.session.mirrors.busy() <= gate.waiting_turns()
            && lock(&shared.unmapping).is_empty()
            && shared.ending.load(Ordering::SeqCst) == 0
    }
}

/// How often the reader checks whether the session's work has ended, while it's about to stop.
const QUIET_CHECK: Duration = Duration::from_millis(1);

/// Runs a command that the gate has admitted, and then returns the ticket to the gate. If the
/// command couldn't run because the broker must first decide about its memory, sends the question
/// to the broker, and returns the pending question with the reply channel.
#[inline]
fn run(
    gate: &mut Gate,
    deferred: &mut Deferred,
    shared: &Arc<Shared>,
    command: &Command<'_>,
    ticket: Ticket,
    reply: ReplyTo,
) -> Option<(Asked, ReplyTo)> {
    generated::dispatch(deferred, command, ticket.pass(), reply);
    let cx = Cx { shared, thread: command.thread, ctx: command.ctx };
    gate.ran(&cx, deferred.events(), ticket);
    take_question().and_then(|question| undecided(shared, question))
}

/// Sends the question to the broker if the command that has just run is unfinished, that is, if it
/// left its reply channel to be used after the broker's decision.
#[cold]
fn undecided(shared: &Shared, question: Question) -> Option<(Asked, ReplyTo)> {
    let reply = take_unfinished()?;
    let session = &shared.session;
    Some((session.ledger.ask_later(question, &session.waker), reply))
}

impl Executor for Calls {
    fn execute(&mut self, command: &Command<'_>, reply: ReplyTo) {
        let Calls { shared, gate, deferred } = self;
        let cx = Cx { shared, thread: command.thread, ctx: command.ctx };
        match gate.admit(&cx, deferred.events(), command, reply) {
            Admission::Run(ticket, reply) => {
                if let Some(undecided) = run(gate, deferred, shared, command, ticket, reply) {
                    gate.hold_undecided(&cx, command, undecided);
                }
            }
            Admission::Answer(result, reply) => reply.finish(result, &[]),
            Admission::Held => {}
        }
    }

    fn poll(&mut self) -> Pending {
        let others = self.poll_gate().min(self.deferred.poll_old_async_frees());
        self.deferred.poll_waiters();
        let next = others.min(self.deferred.poll_waits());
        match self.shared.stop.phase() {
            Phase::Runs => next,
            _ => next.min(Pending::Within(QUIET_CHECK)),
        }
    }

    fn is_stopped(&mut self) -> bool {
        match self.shared.stop.phase() {
            Phase::Runs => false,
            Phase::Stops => self.is_quiet() && self.shared.stop.set_stopped(),
            Phase::Stopped => true,
        }
    }

    fn set_needs_memory(&mut self, needs: bool) {
        let session = &self.shared.session;
        session.gate.page.residency.set_needs(needs);
        if needs {
            session.ledger.report_residency();
        }
    }

    fn turn_ns(&mut self) -> Option<u64> {
        self.gate.turn_ns()
    }

    fn next_host_func(&mut self) -> Option<u64> {
        // After the scheduler has ended the session, the guest gets no more host functions to run.
        if self.gate.verdict() != 0 { None } else { self.shared.host_funcs.next() }
    }

    fn host_func_ended(&mut self) {
        self.shared.host_funcs.end();
    }

    fn is_full(&self) -> bool {
        self.gate.holds_too_much() || self.shared.stop.phase() != Phase::Runs
    }

    fn verdict(&self) -> u32 {
        self.gate.verdict()
    }

    fn before_exit(&self) -> Box<dyn FnOnce() + Send> {
        let shared = self.shared.clone();
        Box::new(move || {
            // When the process exits, the driver destroys the contexts, so wait for a window on
            // each device.
            let deadline = Instant::now() + EXIT_WITHIN;
            for device in shared.devices_with_contexts() {
                let left = deadline.saturating_duration_since(Instant::now());
                let work = shared.turns.wait_for_context_within(device, left);
                // Don't drop `work`, because dropping it would report that the contexts have been
                // destroyed. The scheduler assumes that they have been when this process has
                // exited.
                std::mem::forget(work);
                // The driver also frees the session's memory at exit, so this is the last chance to
                // charge the VM for the GPU time of clearing it.
                shared.turns.charge_owed(device);
            }
        })
    }

    fn region_attached(&mut self, region: &Arc<Region>, arena: usize) {
        if region.kind() == RegionKind::Ring {
            self.deferred.attach_arena(region, arena);
        }
    }

    fn region_detaching(&mut self, region: Arc<Region>) {
        let arena = match region.kind() {
            RegionKind::Ring => self.deferred.detach_arena(),
            _ => None,
        };
        host::detach(&self.deferred, region, arena);
    }
}
