//! Sets the limits of a context, such as the stack size, and charges for the memory that they take.

use std::time::Duration;

use cuda_api::sys::CUlimit;
use protocol::calls as api;

use super::account::Terms;
use super::clearing::wait_to_resize;
use super::reserve::change_terms;
use super::settle::{Reservation, Settled, kind};
use crate::calls::commands::cx::Cx;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};
use host_ipc::messages::Charge;

/// The largest printf buffer that a guest can set, in bytes. The buffer is host memory, and the
/// worker must be able to keep its contents until the guest fetches them.
const MAX_PRINTF_FIFO: usize = 64 << 20;
/// The largest depth up to which kernels can wait for the kernels that they launch. It is the
/// default, which a context's charge includes. On GPUs with such waits, each further level takes
/// memory for the state of all threads.
const MAX_SYNC_DEPTH: usize = 2;
/// The first compute capability without such waits.
const WITHOUT_SYNC_DEPTH: u32 = 90;
/// The largest limit that a guest can set for pending launches made by kernels: eight times the
/// default.
const MAX_PENDING_LAUNCHES: usize = 16 << 10;
/// The largest granularity with which the L2 cache fetches memory, in bytes.
const MAX_L2_FETCH_GRANULARITY: usize = 128;

/// A limit that takes device memory.
#[derive(Clone, Copy)]
pub(super) enum Charged {
    Stack,
    Heap,
    Pending,
}

impl Charged {
    fn kind(self) -> Charge {
        match self {
            Self::Stack => Charge::Local,
            Self::Heap | Self::Pending => Charge::Heap,
        }
    }

    fn of(self, terms: &mut Terms) -> &mut u64 {
        match self {
            Self::Stack => &mut terms.stack,
            Self::Heap => &mut terms.heap,
            Self::Pending => &mut terms.pending,
        }
    }
}

/// Checks a limit and its new value. Returns the limit if it takes device memory. Limits that aren't
/// listed here are refused. `waits` says whether kernels can wait for the kernels that they launch.
fn checked(limit: CUlimit, value: usize, waits: bool) -> CuResult<Option<Charged>> {
    let refused = |most, error| if value > most { Err(error) } else { Ok(None) };
    match limit {
        CUlimit::CU_LIMIT_STACK_SIZE => Ok(Some(Charged::Stack)),
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => Ok(Some(Charged::Heap)),
        CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => refused(MAX_PRINTF_FIFO, CuError::INVALID_VALUE),
        // If the driver can't allocate memory for the sync depth or for pending launches, it
        // returns CUDA_ERROR_OUT_OF_MEMORY, so return the same error here.
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if waits => {
            refused(MAX_SYNC_DEPTH, CuError::OUT_OF_MEMORY)
        }
        CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => {
            refused(MAX_PENDING_LAUNCHES, CuError::OUT_OF_MEMORY).map(|_| Some(Charged::Pending))
        }
        CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => {
            refused(MAX_L2_FETCH_GRANULARITY, CuError::INVALID_VALUE)
        }
        // Data that persists in the cache stays there during other VMs' windows, and slows them
        // down. A MIG slice doesn't have this feature, either.
        CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE => refused(0, CuError::UNSUPPORTED_LIMIT),
        // The GPU has no sync depth, the size of shared memory can only be queried, and the CIG
        // limits belong to contexts that share a GPU with graphics.
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
        | CUlimit::CU_LIMIT_SHMEM_SIZE
        | CUlimit::CU_LIMIT_CIG_ENABLED
        | CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED => Err(CuError::UNSUPPORTED_LIMIT),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Returns whether kernels can wait for the kernels that they launch, on the current context's GPU.
fn has_sync_depth(cx: &Cx<'_>) -> bool {
    let device = lock(&cx.shared.tables).device_of(cx.ctx);
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    let device = device.and_then(|device| devices.get(device));
    device.is_some_and(|device| device.capability < WITHOUT_SYNC_DEPTH)
}

/// Sets a limit. The gate lets no other call that uses or changes a limit run in the context
/// meanwhile (see [`crate::calls::contexts::limit_calls`]).
pub(in crate::calls) fn cu_ctx_set_limit(
    cx: &Cx<'_>,
    call: api::CuCtxSetLimit,
    reservation: Reservation<kind::Limit>,
) -> CuResult<Settled<kind::Limit>> {
    cx.enter()?;
    let limit = CUlimit(call.limit);
    // SAFETY: the call takes no pointers.
    let set = || unsafe { cx.driver().cuCtxSetLimit(limit, call.value) };
    match checked(limit, call.value, has_sync_depth(cx))? {
        None => {
            set()?;
            Ok(reservation.takes_none())
        }
        Some(charged) => {
            let change = |kind, change: &dyn Fn(&mut Terms)| change_terms(cx, cx.ctx, kind, change);
            let value = call.value as u64;
            let resized = match charged {
                Charged::Stack => per_thread(cx)?.abs_diff(value),
                Charged::Heap | Charged::Pending => 0,
            };
            set_charged(
                charged,
                value,
                || is_idle(cx),
                change,
                || {
                    if resized > 0 {
                        wait_to_resize(cx, resized);
                    }
                    set()
                },
            )?;
            Ok(reservation.charged())
        }
    }
}

/// Returns the bytes of local memory that the current context has for each thread.
fn per_thread(cx: &Cx<'_>) -> CuResult<u64> {
    let contexts = lock(&cx.shared.charges.contexts);
    let context = contexts.get(&cx.ctx).ok_or(CuError::INVALID_CONTEXT)?;
    Ok(context.terms.per_thread())
}

/// The number of times that [`is_idle`] looks at the streams, and the pause in between. The worker's
/// own marks may still be in streams whose work has ended. They take microseconds on a GPU, and
/// longer on softgpu if other programs use all CPUs.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// Returns whether the current context has nothing left to do. No kernel can be launched in it
/// meanwhile.
fn is_idle(cx: &Cx<'_>) -> bool {
    (0..LOOKS).any(|look| {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        are_empty(cx)
    })
}

/// Returns whether all streams of the current context are empty.
fn are_empty(cx: &Cx<'_>) -> bool {
    let tables = &mut *lock(&cx.shared.tables);
    let streams = tables.streams.values_mut().filter(|stream| stream.ctx == cx.ctx);
    let streams = streams.map(|stream| stream.real.0);
    let of_threads = tables.thread_streams.in_context(cx.ctx).map(|stream| stream.real.0);
    let mut all = streams.chain(of_threads).chain([std::ptr::null_mut()]);
    // SAFETY: the context is entered, and the streams are live, because a stream is removed from the
    // tables before it is destroyed.
    all.all(|stream| unsafe { cx.driver().cuStreamQuery(stream) }.is_ok())
}

/// Sets a limit that takes device memory. An increase is charged before `set` calls the driver, and
/// a decrease is released afterwards. `change` changes the context's [`Terms`], and adjusts its
/// charge of the given kind. An increase is charged even if nothing uses the limit yet, because
/// other threads may load modules meanwhile. `is_idle` says whether all kernels in the context have
/// ended.
pub(super) fn set_charged(
    limit: Charged,
    value: u64,
    is_idle: impl FnOnce() -> bool,
    change: impl Fn(Charge, &dyn Fn(&mut Terms)) -> CuResult,
    set: impl FnOnce() -> CuResult,
) -> CuResult {
    let before = std::cell::Cell::new(Terms::default());
    change(limit.kind(), &|terms| {
        before.set(*terms);
        let of = limit.of(terms);
        *of = value.max(*of);
    })?;
    let mut before = before.get();
    let frees = matches!(limit, Charged::Stack) && before.per_thread() > value;
    let is_idle = frees && is_idle();
    let done = set();
    let now = if done.is_ok() { value } else { *limit.of(&mut before) };
    change(limit.kind(), &|terms| {
        *limit.of(terms) = now;
        // Setting the stack limit also makes the driver free the local memory that earlier launches
        // needed. While a kernel runs, the driver may keep both this memory and the stacks that the
        // kernel uses.
        if let (Charged::Stack, Ok(())) = (limit, done) {
            terms.local = if is_idle { 0 } else { terms.local.max(before.stack) };
        }
    })?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_between_kernels_get_no_more_memory_than_by_default() {
        let limit = CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH;
        for (value, waits, expected) in [
            (2, true, None),
            (3, true, Some(CuError::OUT_OF_MEMORY)),
            (usize::MAX, true, Some(CuError::OUT_OF_MEMORY)),
            (2, false, Some(CuError::UNSUPPORTED_LIMIT)),
        ] {
            assert_eq!(checked(limit, value, waits).err(), expected, "{value} {waits}");
        }
    }
}
