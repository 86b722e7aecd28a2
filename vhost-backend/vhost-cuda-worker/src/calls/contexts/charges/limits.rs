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

/// The largest printf buffer that a guest can set, in bytes. The buffer is host memory. The limit
/// also ensures that the worker can keep the buffer's contents until the guest fetches them.
const MAX_PRINTF_FIFO: usize = 64 << 20;
/// The maximum nesting depth at which kernels can wait for kernels that they have launched. It
/// equals the default, which a context's charge includes. On GPUs with this feature, each further
/// level would take memory for the state of all threads.
const MAX_SYNC_DEPTH: usize = 2;
/// The first compute capability (90 for 9.0) of GPUs on which kernels can't wait for kernels that
/// they have launched.
const WITHOUT_SYNC_DEPTH: u32 = 90;
/// The maximum that a guest can set for pending launches made by kernels, eight times the default.
const MAX_PENDING_LAUNCHES: usize = 16 << 10;
/// The maximum that a guest can set for the granularity with which the L2 cache fetches memory, in
/// bytes.
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

/// Checks a limit and its new value. Returns the limit if it takes device memory. Refuses limits
/// that don't occur in this function. `waits` says whether kernels can wait for kernels that they
/// have launched.
fn checked(limit: CUlimit, value: usize, waits: bool) -> CuResult<Option<Charged>> {
    let refused = |most, error| if value > most { Err(error) } else { Ok(None) };
    match limit {
        CUlimit::CU_LIMIT_STACK_SIZE => Ok(Some(Charged::Stack)),
        CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE => Ok(Some(Charged::Heap)),
        CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE => refused(MAX_PRINTF_FIFO, CuError::INVALID_VALUE),
        // Return the error that the driver returns if it can't allocate memory for the sync depth
        // or for pending launches, CUDA_ERROR_OUT_OF_MEMORY.
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if waits => {
            refused(MAX_SYNC_DEPTH, CuError::OUT_OF_MEMORY)
        }
        CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => {
            refused(MAX_PENDING_LAUNCHES, CuError::OUT_OF_MEMORY).map(|_| Some(Charged::Pending))
        }
        CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY => {
            refused(MAX_L2_FETCH_GRANULARITY, CuError::INVALID_VALUE)
        }
        // Refuse to set cache aside for persisting data, because the data would stay there during
        // other VMs' windows and slow those VMs down. A MIG slice doesn't have this feature,
        // either.
        CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE => refused(0, CuError::UNSUPPORTED_LIMIT),
        // None of these limits can be set: the GPU has no sync depth, the size of shared memory can
        // only be queried, and the CIG limits belong to contexts that share a GPU with graphics.
        CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
        | CUlimit::CU_LIMIT_SHMEM_SIZE
        | CUlimit::CU_LIMIT_CIG_ENABLED
        | CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED => Err(CuError::UNSUPPORTED_LIMIT),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Returns whether kernels can wait for kernels that they have launched, on the current context's
/// GPU.
fn has_sync_depth(cx: &Cx<'_>) -> bool {
    let device = lock(&cx.shared.tables).device_of(cx.ctx);
    let devices = cx.shared.charges.devices(cx.driver(), cx.shared.devices);
    let device = device.and_then(|device| devices.get(device));
    device.is_some_and(|device| device.capability < WITHOUT_SYNC_DEPTH)
}

/// Sets a limit of the current context. Meanwhile, the gate lets no other call run in the context
/// that uses or changes a limit (see [`crate::calls::contexts::limit_calls`]).
pub(in crate::calls) fn cu_ctx_set_limit(
    cx: &Cx<'_>,
    call: api::CuCtxSetLimit,
    reservation: Reservation<kind::Limit>,
) -> CuResult<Settled<kind::Limit>> {
    cx.enter()?;
    let limit = CUlimit(call.limit);
    // SAFETY: the call takes no pointers and changes the current context, which has been entered.
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

/// Returns the bytes of local memory that the current context has for each thread of the GPU.
fn per_thread(cx: &Cx<'_>) -> CuResult<u64> {
    let contexts = lock(&cx.shared.charges.contexts);
    let context = contexts.get(&cx.ctx).ok_or(CuError::INVALID_CONTEXT)?;
    Ok(context.terms.per_thread())
}

/// The number of times that [`is_idle`] checks the streams, with a pause of `PAUSE` before each
/// further check. Several checks are necessary because the worker's own marks may still be in
/// streams whose work has ended. The marks take microseconds on a GPU, and longer on softgpu if
/// other programs use all CPUs.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// Returns whether the current context has no unfinished work. While a limit changes, no kernel can
/// be launched in the context, so the result stays true.
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
    // SAFETY: the context is entered. The streams are live, because a stream is removed from the
    // tables, which are locked here, before it's destroyed.
    all.all(|stream| unsafe { cx.driver().cuStreamQuery(stream) }.is_ok())
}

/// Sets a limit that takes device memory. Charges an increase before `set` calls the driver, even
/// if nothing uses the limit yet, because other threads may load modules in the meantime. Releases
/// a decrease after the call. `change` changes the context's [`Terms`], and adjusts its charge of
/// the given kind. `is_idle` says whether all kernels in the context have ended.
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
        // needed. But if a kernel is running, the driver may keep this local memory and the stacks
        // that the kernel uses.
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
