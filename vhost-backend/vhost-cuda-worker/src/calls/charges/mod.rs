//! What a session is charged for beside the memory that it allocates: contexts, code and
//! variables, stacks and local memory, the heap of kernels' malloc, streams,
//! graphs.
//!
//! | module | what |
//! |---|---|
//! | `account` | what a context holds, and what that takes |
//! | `footprint`, `cubin`, `ptx` | what a load takes, from the image |
//! | `load`, `taken` | a module or library that is loaded, and what it takes |
//! | `loads` | charges of modules, libraries and their kernels |
//! | `limits` | charges of the limits of a context |
//! | `settle` | the proof that a call has settled its charge |
//!
//! All of it is reserved before the driver is asked to take it, and given back after the driver
//! has let go of it, so the VM's quota is not exceeded. docs/memory.md says how each is bounded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use protocol::ids::ContextId;

use super::cx::Cx;
use super::lock;
use crate::driver::{CuError, CuResult, Driver};
use crate::ledger::Ledger;
use host_ipc::messages::Charge;

mod account;
mod cubin;
mod footprint;
mod limits;
mod load;
mod loads;
mod ptx;
mod settle;
mod taken;

use account::{KINDS, Terms};
pub(super) use load::{Code, Load, UNKNOWN_NEED};
use load::{Loads, Part};
pub(super) use settle::{ChargedReply, Reservation, Reserved, Settled, kind};

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`, `…_MAX_THREADS_PER_MULTIPROCESSOR`,
/// `…_COMPUTE_CAPABILITY_MAJOR`, `…_MINOR`.
const PROCESSORS: u32 = 16;
const THREADS_PER_PROCESSOR: u32 = 39;
const MAJOR: u32 = 75;
const MINOR: u32 = 76;

/// The session's charges.
#[derive(Default)]
pub(super) struct Charges {
    contexts: Mutex<HashMap<ContextId, OfContext>>,
    loads: Loads,
    /// Kernels that need no more than this may be launched without a look; see
    /// [`Cx::admit_kernel`].
    floor: AtomicU64,
    /// Counts contexts that have begun.
    begun: AtomicU64,
    /// By ordinal: what one runs, once it was asked.
    devices: OnceLock<Vec<Device>>,
}

/// What the charges depend on.
#[derive(Clone, Copy, Debug)]
struct Device {
    /// Threads that run at once at most.
    threads: u64,
    /// Compute capability: 90 for 9.0.
    capability: u32,
}

struct OfContext {
    device: i32,
    terms: Terms,
    /// By place in [`KINDS`]: what is reserved for it.
    charged: [u64; KINDS.len()],
    /// What its modules' bytes are made of.
    parts: HashMap<Part, u64>,
}

fn place(kind: Charge) -> usize {
    KINDS.iter().position(|of| *of == kind).expect("a kind that contexts are charged for")
}

impl Charges {
    /// The fast check of a launch: settles its charge if every context has the local memory that
    /// the kernel needs.
    #[inline]
    pub(super) fn has_room_for(
        &self,
        need: u64,
        reservation: Reservation<kind::Local>,
    ) -> Result<Settled<kind::Local>, Reservation<kind::Local>> {
        if need <= self.floor.load(Ordering::Relaxed) {
            Ok(reservation.has_room())
        } else {
            Err(reservation)
        }
    }

    fn devices(&self, driver: &Driver, count: i32) -> &[Device] {
        self.devices.get_or_init(|| {
            let ask = |attribute, device| {
                let mut value = 0;
                // SAFETY: the pointer is that of a local.
                match unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) } {
                    Ok(()) => value.max(0) as u32,
                    Err(_) => 0,
                }
            };
            let device = |device| Device {
                threads: u64::from(ask(PROCESSORS, device))
                    * u64::from(ask(THREADS_PER_PROCESSOR, device)),
                capability: 10 * ask(MAJOR, device) + ask(MINOR, device),
            };
            (0..count).map(device).collect()
        })
    }

    /// Changes what a context holds: reserves what that takes more, or gives back what it takes
    /// less. Nothing has changed if there is no room.
    fn change(
        &self,
        (ledger, devices): (&Ledger, &[Device]),
        ctx: ContextId,
        kind: Charge,
        change: impl FnOnce(&mut Terms, &HashMap<Part, u64>),
        listed: impl FnOnce(&mut HashMap<Part, u64>),
    ) -> CuResult {
        let mut contexts = lock(&self.contexts);
        let context = contexts.get_mut(&ctx).ok_or(CuError::INVALID_CONTEXT)?;
        let mut terms = context.terms;
        change(&mut terms, &context.parts);
        let threads = devices.get(context.device as usize).map_or(0, |device| device.threads);
        let due = terms.due(kind, threads);
        let charged = &mut context.charged[place(kind)];
        if due > *charged {
            ledger
                .reserve(context.device, due - *charged, kind)
                .map_err(|_| CuError::OUT_OF_MEMORY)?;
        } else if due < *charged {
            ledger.release(context.device, *charged - due, kind);
        }
        *charged = due;
        context.terms = terms;
        listed(&mut context.parts);
        self.set_floor(&contexts);
        Ok(())
    }

    fn set_floor(&self, contexts: &HashMap<ContextId, OfContext>) {
        // With several contexts each launch must look which one it is for.
        let floor = match contexts.len() {
            1 => contexts.values().map(|context| load::need(context.terms.per_thread())).sum(),
            _ => 0,
        };
        self.floor.store(floor, Ordering::Relaxed);
    }
}

impl Cx<'_> {
    fn change(&self, ctx: ContextId, kind: Charge, change: impl FnOnce(&mut Terms)) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let account = (&self.shared.session.ledger, devices);
        charges.change(account, ctx, kind, |terms, _| change(terms), |_| {})
    }

    /// Before something is loaded into a context, which may have been there before.
    fn add_part(&self, ctx: ContextId, part: Part, bytes: u64) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Module,
            |terms, parts| {
                let before = parts.get(&part).copied().unwrap_or(0);
                terms.modules = (terms.modules - before).saturating_add(bytes);
            },
            |parts| {
                parts.insert(part, bytes);
            },
        )
    }

    /// Before a load that uses the heap: whether it is a user that its context did not have.
    fn add_heap_user(&self, ctx: ContextId, load: u64) -> CuResult<bool> {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        let mut is_new = false;
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Heap,
            |terms, parts| {
                is_new = !parts.contains_key(&Part::Image(load));
                terms.heap_users = terms.heap_users.saturating_add(is_new.into());
            },
            |_| {},
        )?;
        Ok(is_new)
    }

    /// After all parts of a load were unloaded from a context.
    fn remove_parts(&self, ctx: ContextId, load: u64) -> CuResult {
        let charges = &self.shared.charges;
        let devices = charges.devices(self.driver(), self.shared.devices);
        charges.change(
            (&self.shared.session.ledger, devices),
            ctx,
            Charge::Module,
            |terms, parts| {
                let rest = parts.iter().filter(|(part, _)| part.load() != load);
                terms.modules = rest.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
            },
            |parts| parts.retain(|part, _| part.load() != load),
        )
    }

    /// Reserves device memory for an allocation.
    pub(super) fn reserve_memory(
        &self,
        reservation: Reservation<kind::Memory>,
        device: i32,
        bytes: u64,
    ) -> CuResult<Reserved<kind::Memory, impl FnOnce() -> CuResult>> {
        let ledger = &self.shared.session.ledger;
        ledger.reserve(device, bytes, Charge::Memory).map_err(|_| CuError::OUT_OF_MEMORY)?;
        Ok(reservation.reserved(move || {
            ledger.release(device, bytes, Charge::Memory);
            Ok(())
        }))
    }

    /// Before the driver makes a context on a device.
    pub(super) fn reserve_context(
        &self,
        reservation: Reservation<kind::Context>,
        device: i32,
    ) -> CuResult<Reserved<kind::Context, impl FnOnce() -> CuResult>> {
        let bytes = self.shared.session.context_bytes(device);
        if bytes != 0 {
            let reserved = self.shared.session.ledger.reserve(device, bytes, Charge::Context);
            reserved.map_err(|_| CuError::OUT_OF_MEMORY)?;
        }
        Ok(reservation.reserved(move || {
            self.give_back_context(device);
            Ok(())
        }))
    }

    /// After the driver has ended a context, or failed to make it.
    pub(super) fn give_back_context(&self, device: i32) {
        let bytes = self.shared.session.context_bytes(device);
        if bytes != 0 {
            self.shared.session.ledger.release(device, bytes, Charge::Context);
        }
    }

    /// The guest has a new context, whose own bytes are reserved.
    pub(super) fn begin_charges(&self, ctx: ContextId, device: i32) {
        let new = OfContext {
            device,
            terms: Terms::default(),
            charged: [0; KINDS.len()],
            parts: HashMap::new(),
        };
        let mut contexts = lock(&self.shared.charges.contexts);
        contexts.insert(ctx, new);
        self.shared.charges.set_floor(&contexts);
        drop(contexts);
        // Kernels that were launched in another context have not been looked at for this one.
        let mut tables = lock(&self.shared.tables);
        self.shared.charges.begun.fetch_add(1, Ordering::AcqRel);
        for function in tables.functions.values_mut() {
            function.need = UNKNOWN_NEED;
        }
    }

    /// The driver has ended a context, and let go of all that it held.
    pub(super) fn end_charges(&self, ctx: ContextId) {
        let mut contexts = lock(&self.shared.charges.contexts);
        let Some(ended) = contexts.remove(&ctx) else { return };
        self.shared.charges.set_floor(&contexts);
        for (kind, bytes) in KINDS.into_iter().zip(ended.charged) {
            if bytes != 0 {
                self.shared.session.ledger.release(ended.device, bytes, kind);
            }
        }
    }

    /// Before a stream is made in the current context.
    pub(super) fn reserve_stream(
        &self,
        reservation: Reservation<kind::Stream>,
    ) -> CuResult<Reserved<kind::Stream, impl FnOnce() -> CuResult>> {
        self.change(self.ctx, Charge::Stream, Terms::add_stream)?;
        Ok(reservation.reserved(|| {
            self.forget_stream(self.ctx);
            Ok(())
        }))
    }

    /// Before a graph of so many nodes is instantiated in the current context.
    pub(super) fn reserve_graph(
        &self,
        reservation: Reservation<kind::Graph>,
        nodes: usize,
    ) -> CuResult<Reserved<kind::Graph, impl FnOnce() -> CuResult>> {
        self.change(self.ctx, Charge::Graph, |terms| terms.add_nodes(nodes as u64))?;
        Ok(reservation.reserved(move || {
            self.forget_graph(self.ctx, nodes);
            Ok(())
        }))
    }

    /// A graph of a context is gone, or was not made. The driver keeps what it took for the next.
    pub(super) fn forget_graph(&self, ctx: ContextId, nodes: usize) {
        let _ = self.change(ctx, Charge::Graph, |terms| {
            terms.nodes = terms.nodes.saturating_sub(nodes as u64);
        });
    }

    /// A stream of a context is gone. The driver keeps what it took for the next one.
    pub(super) fn forget_stream(&self, ctx: ContextId) {
        let _ = self.change(ctx, Charge::Stream, |terms| {
            terms.streams = terms.streams.saturating_sub(1);
        });
    }
}
