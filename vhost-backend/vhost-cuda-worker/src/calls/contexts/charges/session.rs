//! Tracks the charges of a session for memory other than its allocations, by context.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use cuda_api::sys::CUdevice_attribute;
use host_ipc::messages::Charge;
use protocol::ids::ContextId;

use super::account::{KINDS, Terms};
use super::load::{Loads, Need, Part};
use super::settle::{Reservation, Settled, kind};
use crate::calls::lock;
use crate::driver::{CuError, CuResult, Driver};
use crate::ledger::LedgerClient;

const PROCESSORS: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
const THREADS_PER_PROCESSOR: CUdevice_attribute =
    CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
const MAJOR: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
const MINOR: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;

/// The charges of a session for memory other than its allocations, by context.
#[derive(Default)]
pub(in crate::calls) struct Charges {
    /// The charges of each context. The id [`ContextId::NONE`] means the first device's primary
    /// context, while the worker has retained it and the guest hasn't.
    pub(super) contexts: Mutex<HashMap<ContextId, OfContext>>,
    pub(super) loads: Loads,
    /// The largest [`Need`] for which local memory is already charged. A kernel with at most this
    /// need can be launched unchecked. A kernel with a larger need must pass `admit_kernel`.
    floor: AtomicU64,
    /// The properties of all devices, indexed by the worker's ordinal. Queried at the first use.
    devices: OnceLock<Vec<Device>>,
}

/// The properties of a device that determine charges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    /// The number of threads that the device can run at once.
    pub(super) threads: u64,
    /// The compute capability without its dot: 90 for 9.0.
    pub(super) capability: u32,
}

pub(super) struct OfContext {
    pub(super) device: i32,
    pub(super) terms: Terms,
    /// The number of bytes reserved for each kind of charge, in the order of [`KINDS`].
    pub(super) charged: [u64; KINDS.len()],
    /// The charged parts of modules and libraries in this context, with their size in bytes. The
    /// sum of the sizes is `terms.modules`.
    pub(super) parts: HashMap<Part, u64>,
    /// The number of bytes reserved for arrays in this context.
    pub(super) arrays: u64,
}

/// Returns the number of threads that a device can run at once, given the number of its
/// multiprocessors and the number of threads of each. If the driver doesn't report one of these
/// numbers (0), returns the maximum, so that local memory beyond the default isn't free of charge.
fn threads(processors: u32, per_processor: u32) -> u64 {
    match u64::from(processors) * u64::from(per_processor) {
        0 => u64::MAX,
        threads => threads,
    }
}

fn place(kind: Charge) -> usize {
    KINDS.iter().position(|of| *of == kind).expect("a kind that contexts are charged for")
}

impl Charges {
    /// Settles the charge for a launch's local memory if the kernel's `need` doesn't exceed the
    /// local memory that is already charged. Otherwise, returns the reservation.
    #[inline]
    pub(in crate::calls) fn has_room_for(
        &self,
        need: Need,
        reservation: Reservation<kind::Local>,
    ) -> Result<Settled<kind::Local>, Reservation<kind::Local>> {
        if need.0 <= self.floor.load(Ordering::Relaxed) {
            Ok(reservation.has_room())
        } else {
            Err(reservation)
        }
    }

    pub(super) fn devices(&self, driver: &Driver, count: i32) -> &[Device] {
        self.devices.get_or_init(|| {
            let ask = |attribute, device| {
                let mut value = 0;
                // SAFETY: the pointer is to a local variable.
                match unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) } {
                    Ok(()) => value.max(0) as u32,
                    Err(_) => 0,
                }
            };
            let device = |device| Device {
                threads: threads(ask(PROCESSORS, device), ask(THREADS_PER_PROCESSOR, device)),
                capability: 10 * ask(MAJOR, device) + ask(MINOR, device),
            };
            (0..count).map(device).collect()
        })
    }

    /// Lets `change` modify the resources that a context uses, and adjusts the context's charge of
    /// the given kind. If the charge grows, reserves the difference; if it shrinks, releases the
    /// difference. Then calls `listed` to change the list of the charged parts of modules and
    /// libraries. If the VM's quota has no room, changes nothing.
    ///
    /// No lock is held while the ledger decides. Another thread may change the resources in the
    /// meantime, so `change` is called again after the decision.
    pub(super) fn change(
        &self,
        (ledger, devices): (&LedgerClient, &[Device]),
        ctx: ContextId,
        kind: Charge,
        mut change: impl FnMut(&mut Terms, &HashMap<Part, u64>),
        listed: impl FnOnce(&mut HashMap<Part, u64>),
    ) -> CuResult {
        // The device, and the bytes that are reserved beyond those that the context is charged for.
        let mut more: Option<(i32, u64)> = None;
        let give_back = |more: Option<(i32, u64)>| {
            if let Some((device, bytes)) = more {
                ledger.release(device, bytes, kind);
            }
        };
        loop {
            let mut contexts = lock(&self.contexts);
            let Some(context) = contexts.get_mut(&ctx) else {
                drop(contexts);
                give_back(more);
                return Err(CuError::INVALID_CONTEXT);
            };
            let mut terms = context.terms;
            change(&mut terms, &context.parts);
            let threads = devices.get(context.device as usize).map_or(u64::MAX, |of| of.threads);
            let due = terms.due(kind, threads);
            let charged = &mut context.charged[place(kind)];
            let lacking = due.saturating_sub(*charged);
            // Use the reserved bytes only if they are for the context's device. The guest may have
            // created another context with the same id on another GPU in the meantime.
            let is_same = |(device, _): &(i32, u64)| *device == context.device;
            let reserved = more.filter(is_same).map_or(0, |(_, bytes)| bytes);
            if lacking > reserved {
                let device = context.device;
                drop(contexts);
                if more.is_some_and(|(of, _)| of != device) {
                    give_back(more.take());
                }
                if let Err(error) = ledger.reserve(device, lacking - reserved, kind) {
                    give_back(more);
                    return Err(error.into());
                }
                more = Some((device, lacking));
                continue;
            }
            let unused = reserved - lacking + charged.saturating_sub(due);
            let device = context.device;
            let elsewhere = more.filter(|(of, _)| *of != device);
            *charged = due;
            context.terms = terms;
            listed(&mut context.parts);
            self.set_floor(&contexts);
            drop(contexts);
            give_back(elsewhere);
            give_back(Some((device, unused)).filter(|_| unused > 0));
            return Ok(());
        }
    }

    pub(super) fn set_floor(&self, contexts: &HashMap<ContextId, OfContext>) {
        let only = Self::only(contexts);
        let floor = only.map_or(Need::NONE, |(_, of)| Need::of_kernel(of.terms.per_thread()));
        self.floor.store(floor.0, Ordering::Relaxed);
    }

    /// Returns the session's context if the session has only one. With several contexts, every
    /// launch must be checked for its own context. The entry [`ContextId::NONE`] doesn't count,
    /// because nothing is launched in it.
    fn only(contexts: &HashMap<ContextId, OfContext>) -> Option<(ContextId, &OfContext)> {
        let mut listed = contexts.iter().filter(|(ctx, _)| **ctx != ContextId::NONE);
        let (ctx, only) = listed.next()?;
        listed.next().is_none().then_some((*ctx, only))
    }

    /// Calls `record` if `ctx` is the session's only context. No other context can be added during
    /// the call.
    pub(super) fn if_only(&self, ctx: ContextId, record: impl FnOnce()) {
        let contexts = lock(&self.contexts);
        if Self::only(&contexts).is_some_and(|(only, _)| only == ctx) {
            record();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_its_number_of_threads_a_device_has_no_local_memory_beyond_the_default() {
        assert_eq!(threads(132, 2048), 132 * 2048);
        let mut terms = Terms::default();
        for unknown in [threads(0, 2048), threads(132, 0), threads(0, 0)] {
            terms.stack = 1024;
            assert_eq!(terms.due(Charge::Local, unknown), 0);
            terms.stack = 1025;
            assert_eq!(terms.due(Charge::Local, unknown), u64::MAX);
        }
    }
}
