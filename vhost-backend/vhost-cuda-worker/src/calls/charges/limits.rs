//! Sets the limits of a context, such as the stack size, and charges for the memory that they take.

use cuda_api::sys::CUlimit;
use protocol::calls as api;

use super::account::Terms;
use super::reserve::change_terms;
use super::settle::{Reservation, Settled, kind};
use crate::calls::cx::Cx;
use crate::driver::{CuError, CuResult};
use host_ipc::messages::Charge;

/// The number of different `CU_LIMIT_*` values, from `CU_LIMIT_STACK_SIZE` (0) to
/// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`.
const LIMITS: u32 = 7;
const STACK_SIZE: u32 = 0;
const PRINTF_FIFO_SIZE: u32 = 1;
const MALLOC_HEAP_SIZE: u32 = 2;
const DEV_RUNTIME_PENDING_LAUNCH_COUNT: u32 = 4;
const PERSISTING_L2_CACHE_SIZE: u32 = 6;
/// The largest printf buffer that a guest can set, in bytes. The buffer is host memory, and the
/// worker must be able to keep its contents until the guest fetches them.
const MAX_PRINTF_FIFO: usize = 64 << 20;
/// The largest limit that a guest can set for pending launches made by kernels: eight times the
/// default. CUDA doesn't document how much memory a pending launch takes, so these launches aren't
/// charged to the VM. The parameters of this many launches (4 KiB each) take a quarter of
/// `memory.slack`.
const MAX_PENDING_LAUNCHES: usize = 16 << 10;

pub(in crate::calls) fn cu_ctx_set_limit(
    cx: &Cx<'_>,
    call: api::CuCtxSetLimit,
    reservation: Reservation<kind::Limit>,
) -> CuResult<Settled<kind::Limit>> {
    cx.enter()?;
    let value = call.value as u64;
    match call.limit {
        // Setting the stack limit also makes the driver free the local memory that earlier launches
        // needed.
        STACK_SIZE => set_limit(cx, call, Charge::Local, reservation, |terms| {
            (terms.stack, terms.local) = (value, 0);
        }),
        MALLOC_HEAP_SIZE => {
            set_limit(cx, call, Charge::Heap, reservation, |terms| terms.heap = value)
        }
        PRINTF_FIFO_SIZE if call.value > MAX_PRINTF_FIFO => Err(CuError::INVALID_VALUE),
        // The driver returns this error if it can't allocate the memory for the launches.
        DEV_RUNTIME_PENDING_LAUNCH_COUNT if call.value > MAX_PENDING_LAUNCHES => {
            Err(CuError::OUT_OF_MEMORY)
        }
        // Data that persists in the cache stays there during other VMs' windows, and slows them
        // down. A MIG slice doesn't have this feature, either.
        PERSISTING_L2_CACHE_SIZE if call.value > 0 => Err(CuError::UNSUPPORTED_LIMIT),
        1..LIMITS => {
            // SAFETY: the call takes no pointers.
            unsafe { cx.driver().cuCtxSetLimit(CUlimit(call.limit), call.value)? };
            Ok(reservation.takes_none())
        }
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Sets a limit that takes device memory. An increase is charged before the driver is called, and a
/// decrease is released afterwards. Limits are set one at a time, on the ring reader's thread, but
/// other threads may load modules and build graphs meanwhile. Therefore an increase is charged even
/// if nothing uses the limit yet.
fn set_limit(
    cx: &Cx<'_>,
    call: api::CuCtxSetLimit,
    kind: Charge,
    reservation: Reservation<kind::Limit>,
    change: impl Fn(&mut Terms),
) -> CuResult<Settled<kind::Limit>> {
    let before = terms(cx)?;
    let mut after = before;
    change(&mut after);
    let grows = after.heap > before.heap || after.per_thread() > before.per_thread();
    // SAFETY: the call takes no pointers.
    let set = || unsafe { cx.driver().cuCtxSetLimit(CUlimit(call.limit), call.value) };
    if !grows {
        set()?;
        change_terms(cx, cx.ctx, kind, &change)?;
        return Ok(reservation.charged());
    }
    change_terms(cx, cx.ctx, kind, &change)?;
    let reserved = reservation.reserved(|| {
        change_terms(cx, cx.ctx, kind, |terms| {
            (terms.stack, terms.heap) = (before.stack, before.heap);
            terms.local = terms.local.max(before.local);
        })
    });
    match set() {
        Ok(()) => Ok(reserved.settle()),
        Err(error) => {
            reserved.undo()?;
            Err(error)
        }
    }
}

fn terms(cx: &Cx<'_>) -> CuResult<Terms> {
    let contexts = crate::calls::lock(&cx.shared.charges.contexts);
    contexts.get(&cx.ctx).map(|context| context.terms).ok_or(CuError::INVALID_CONTEXT)
}
