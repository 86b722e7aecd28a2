//! Entry points for contexts, primary contexts, and peer access.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use cuda_api::args::{In, Out, check_handle};
use cuda_api::error::{CuError, CuResult};
use cuda_api::export_tables::context_storage::context_ended;
use cuda_api::sys::{
    CUcontext, CUctx_flags, CUctxCreateParams, CUevent, CUexecAffinityParam, CUexecAffinitySmCount,
    CUexecAffinityType, CUflushGPUDirectRDMAWritesScope as Scope,
    CUflushGPUDirectRDMAWritesTarget as Target, CUfunc_cache, CUlimit, CUsharedconfig,
};

use super::capture::GRAPHS;
use super::entry::entries;
use crate::state::attributes::GREATEST_PRIORITY;
use crate::state::context::{CONTEXTS, Context, by_handle, current, current_if_any, with_stack};
use crate::state::device::driver;
use crate::state::event::Awaited;
use crate::state::resources::Resources;
use crate::state::{limits, primary, teardown};

/// The flags accepted when a context is created.
const FLAGS: u32 = CUctx_flags::CU_CTX_FLAGS_MASK.0;
const SCHEDULING: u32 = CUctx_flags::CU_CTX_SCHED_MASK.0;
const BLOCKING_SYNC: u32 = CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC.0;

fn handle(context: &Arc<Context>) -> CUcontext {
    context.handle as CUcontext
}

fn create(to: Out<CUcontext>, flags: c_uint, device: c_int) -> CuResult {
    driver()?.device(device)?;
    if flags & !FLAGS != 0 || flags & SCHEDULING > BLOCKING_SYNC {
        return Err(CuError::INVALID_VALUE);
    }
    let resources = Resources::new(driver()?.device(device)?)?;
    let context = Context::new(device, flags, Some(resources));
    let made = handle(&context);
    with_stack(|stack| stack.push(context));
    to.set(made)
}

/// Returns the context for a handle, or the calling thread's current context for a null handle.
fn named(context: CUcontext) -> CuResult<Arc<Context>> {
    if context.is_null() { current() } else { by_handle(context as usize) }
}

/// Records an event after all work in a context.
pub(super) fn record(context: &Context, event: CUevent) -> CuResult {
    let named = super::event::named(event)?;
    if named.context.id != context.id {
        return Err(CuError::INVALID_HANDLE);
    }
    GRAPHS.forbid_in_context(context.id)?;
    GRAPHS.forget_event(event as u64);
    named.record_context(context);
    Ok(())
}

/// Makes all later work in a context wait for an event.
pub(super) fn wait(context: &Context, event: CUevent) -> CuResult {
    let named = super::event::named(event)?;
    GRAPHS.forbid_in_context(context.id)?;
    let captured = |_| CuError::STREAM_CAPTURE_UNSUPPORTED;
    GRAPHS.forbid_captured_event(event as u64).map_err(captured)?;
    match named.pending() {
        Some(Awaited::Mark(mark)) => context.wait_for(vec![mark], Box::new(|_| {})),
        Some(shared) => context.wait_for(Vec::new(), Box::new(move |_| shared.wait())),
        None => {}
    }
    Ok(())
}

fn set_flags(context: &Context, flags: c_uint) -> CuResult {
    if flags & !FLAGS != 0 || flags & SCHEDULING > BLOCKING_SYNC {
        return Err(CuError::INVALID_VALUE);
    }
    context.flags.store(flags, Ordering::Relaxed);
    Ok(())
}

/// Destroys a primary context, if it is active.
fn end_primary(context: &Arc<Context>, retained: MutexGuard<u32>) {
    if context.active.swap(false, Ordering::AcqRel) {
        teardown::clear(context);
    }
    // Unlock first, because the destructors that `context_ended` calls may retain or release the
    // context.
    drop(retained);
    context_ended(handle(context));
}

/// Destroys a device's primary context without changing how often the program has retained it. The
/// context stays inactive until the program retains it again.
fn reset(device: c_int) -> CuResult {
    let primary = primary::of(device)?;
    let retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    end_primary(&primary.context, retained);
    Ok(())
}

/// Retains a device's primary context.
pub(super) fn retain(device: c_int) -> CuResult<Arc<Context>> {
    let primary = primary::of(device)?;
    let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    primary.context.activate()?;
    *retained += 1;
    Ok(primary.context.clone())
}

/// Returns a device's primary context, for a call without a current context. If the program hasn't
/// retained the primary context, softgpu retains it.
pub(super) fn ensure_primary(device: c_int) -> CuResult<Arc<Context>> {
    let primary = primary::of(device)?;
    let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    primary.context.activate()?;
    *retained = (*retained).max(1);
    primary.context.healthy()?;
    Ok(primary.context.clone())
}

/// Releases a device's primary context once.
pub(super) fn release(device: c_int) -> CuResult {
    let primary = primary::of(device)?;
    let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    *retained = retained.checked_sub(1).ok_or(CuError::INVALID_CONTEXT)?;
    if *retained > 0 {
        return Ok(());
    }
    end_primary(&primary.context, retained);
    Ok(())
}

/// Pushes a context onto the calling thread's stack, which makes it the current one.
/// `first_version` selects the behavior of `cuCtxPushCurrent`, which fails if the context is
/// already on the stack.
fn push(context: CUcontext, first_version: bool) -> CuResult {
    driver()?;
    check_handle(context as usize)?;
    let context = by_handle(context as usize)?;
    with_stack(|stack| {
        if first_version && stack.iter().any(|other| Arc::ptr_eq(other, &context)) {
            return Err(CuError::INVALID_CONTEXT);
        }
        stack.push(context);
        Ok(())
    })
}

fn pop(to: Out<CUcontext>) -> CuResult {
    driver()?;
    let context = with_stack(Vec::pop).ok_or(CuError::INVALID_CONTEXT)?;
    to.set_if_wanted(handle(&context));
    Ok(())
}

fn destroy(context: CUcontext) -> CuResult {
    driver()?;
    check_handle(context as usize)?;
    let context = by_handle(context as usize)?;
    if context.primary || context.green.is_some() {
        return Err(CuError::INVALID_CONTEXT);
    }
    CONTEXTS.remove(context.handle);
    context.active.store(false, Ordering::Release);
    teardown::clear(&context);
    context_ended(handle(&context));
    with_stack(|stack| {
        if stack.last().is_some_and(|c| Arc::ptr_eq(c, &context)) {
            stack.pop();
        }
    });
    Ok(())
}

entries! {
    fn cuDevicePrimaryCtxRetain(to: Out<CUcontext>, device: c_int) {
        to.set(handle(&retain(device)?))
    }

    fn cuDevicePrimaryCtxRelease(device: c_int) {
        release(device)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        release(device)
    }

    fn cuDevicePrimaryCtxReset(device: c_int) {
        reset(device)
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        reset(device)
    }

    /// Unlike `cuDevicePrimaryCtxSetFlags_v2`, fails if the primary context is active.
    fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) {
        let context = &primary::of(device)?.context;
        if flags & !FLAGS == 0 && context.active.load(Ordering::Acquire) {
            return Err(CuError::PRIMARY_CONTEXT_ACTIVE);
        }
        set_flags(context, flags)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        set_flags(&primary::of(device)?.context, flags)
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let primary = &primary::of(device)?.context;
        flags.set(primary.flags.load(Ordering::Relaxed))?;
        active.set(c_int::from(primary.active.load(Ordering::Acquire)))
    }

    /// Always fails, because a context of the first version has 32-bit device pointers
    /// (`cuda_api::first_versions`).
    fn cuCtxCreate(to: Out<CUcontext>, flags: c_uint, device: c_int) {
        to.check()?;
        if flags & !FLAGS != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        driver()?.device(device)?;
        Err(CuError::OUT_OF_MEMORY)
    }

    fn cuCtxCreate_v2(to: Out<CUcontext>, flags: c_uint, device: c_int) {
        create(to, flags, device)
    }

    fn cuCtxCreate_v3(
        to: Out<CUcontext>,
        _affinity: *const c_void,
        count: c_int,
        flags: c_uint,
        device: c_int,
    ) {
        if count != 0 {
            return Err(CuError::UNSUPPORTED_EXEC_AFFINITY);
        }
        create(to, flags, device)
    }

    fn cuCtxCreate_v4(
        to: Out<CUcontext>, params: In<CUctxCreateParams>, flags: c_uint, device: c_int,
    ) {
        let asks_for_more = |params: CUctxCreateParams| {
            !params.execAffinityParams.is_null()
                || params.numExecAffinityParams != 0
                || !params.cigParams.is_null()
        };
        if params.optional().is_some_and(asks_for_more) {
            return Err(CuError::UNSUPPORTED_EXEC_AFFINITY);
        }
        create(to, flags, device)
    }

    fn cuCtxDestroy(context: CUcontext) {
        destroy(context)
    }

    fn cuCtxDestroy_v2(context: CUcontext) {
        destroy(context)
    }

    fn cuCtxPushCurrent(context: CUcontext) {
        push(context, true)
    }

    fn cuCtxPushCurrent_v2(context: CUcontext) {
        push(context, false)
    }

    fn cuCtxPopCurrent(to: Out<CUcontext>) {
        pop(to)
    }

    fn cuCtxPopCurrent_v2(to: Out<CUcontext>) {
        pop(to)
    }

    fn cuCtxSetCurrent(context: CUcontext) {
        driver()?;
        if context.is_null() {
            with_stack(|stack| {
                stack.pop();
            });
            return Ok(());
        }
        let context = by_handle(context as usize)?;
        with_stack(|stack| {
            stack.pop();
            stack.push(context);
        });
        Ok(())
    }

    fn cuCtxGetCurrent(to: Out<CUcontext>) {
        driver()?;
        to.set(current_if_any().map_or(std::ptr::null_mut(), |c| handle(&c)))
    }

    fn cuCtxGetDevice(to: Out<c_int>) {
        driver()?;
        let context = current_if_any().ok_or(CuError::INVALID_CONTEXT)?;
        to.set(context.ordinal)
    }

    fn cuCtxGetDevice_v2(to: Out<c_int>, context: CUcontext) {
        driver()?;
        let context = if context.is_null() {
            current_if_any().ok_or(CuError::INVALID_CONTEXT)?
        } else {
            by_handle(context as usize)?
        };
        to.set(context.ordinal)
    }

    fn cuCtxGetFlags(to: Out<c_uint>) {
        to.set(current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxSetFlags(flags: c_uint) {
        set_flags(&*current()?, flags)
    }

    fn cuCtxGetId(context: CUcontext, id: Out<u64>) {
        driver()?;
        id.set(named(context)?.unique)
    }

    fn cuCtxGetApiVersion(context: CUcontext, version: Out<c_uint>) {
        driver()?;
        named(context)?;
        version.set(3020)
    }

    fn cuCtxSynchronize() {
        let context = current()?;
        GRAPHS.forbid_in_context(context.id)?;
        context.synchronize();
        context.healthy()
    }

    fn cuCtxSynchronize_v2(context: CUcontext) {
        driver()?;
        let context = named(context)?;
        GRAPHS.forbid_in_context(context.id)?;
        context.synchronize();
        context.healthy()
    }

    fn cuCtxGetLimit(value: Out<usize>, which: CUlimit) {
        let context = current()?;
        let limit = context.limits.get(which.0 as usize);
        let limit = limit.ok_or(CuError::INVALID_VALUE)?;
        value.set(limit.load(Ordering::Relaxed) as usize)
    }

    fn cuCtxSetLimit(which: CUlimit, value: usize) {
        limits::set(&*current()?, which, value as u64)
    }

    fn cuCtxGetCacheConfig(to: Out<CUfunc_cache>) {
        current()?;
        to.set(CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE)
    }

    fn cuCtxSetCacheConfig(_config: c_uint) {
        current().map(drop)
    }

    fn cuCtxGetSharedMemConfig(to: Out<CUsharedconfig>) {
        current()?;
        to.set(CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
    }

    fn cuCtxSetSharedMemConfig(_config: c_uint) {
        current().map(drop)
    }

    fn cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        current()?;
        least.set_if_wanted(0);
        greatest.set_if_wanted(GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        let context = current()?;
        let peer = by_handle(peer as usize)?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        if peer.ordinal == context.ordinal {
            return Err(CuError::PEER_ACCESS_UNSUPPORTED);
        }
        // Peer access needs no setup: kernels can always access every device's memory.
        if context.peers().insert(peer.handle) {
            Ok(())
        } else {
            Err(CuError::PEER_ACCESS_ALREADY_ENABLED)
        }
    }

    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        let context = current()?;
        let peer = by_handle(peer as usize)?;
        if context.peers().remove(&peer.handle) {
            Ok(())
        } else {
            Err(CuError::PEER_ACCESS_NOT_ENABLED)
        }
    }

    fn cuCtxRecordEvent(context: CUcontext, event: CUevent) {
        driver()?;
        record(&*by_handle(context as usize)?, event)
    }

    fn cuCtxWaitEvent(context: CUcontext, event: CUevent) {
        driver()?;
        wait(&*by_handle(context as usize)?, event)
    }

    fn cuCtxAttach(to: Out<CUcontext>, flags: c_uint) {
        let context = current()?;
        to.check()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        context.attach();
        to.set(handle(&context))
    }

    fn cuCtxDetach(context: CUcontext) {
        driver()?;
        if by_handle(context as usize)?.detach() { Ok(()) } else { destroy(context) }
    }

    /// A context can use all multiprocessors, because its affinity can't be chosen.
    fn cuCtxGetExecAffinity(affinity: Out<CUexecAffinityParam>, kind: c_uint) {
        affinity.check()?;
        let context = current()?;
        let type_ = CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT;
        if kind != type_.0 {
            return Err(CuError::UNSUPPORTED_EXEC_AFFINITY);
        }
        let mut answer = CUexecAffinityParam { type_, param: Default::default() };
        answer.param.smCount = CUexecAffinitySmCount { val: context.device()?.processors };
        affinity.set(answer)
    }

    /// No other device writes to the memory of softgpu's devices, so there is nothing to flush.
    fn cuFlushGPUDirectRDMAWrites(target: c_uint, scope: c_uint) {
        current()?;
        let known = [Scope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,
            Scope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES];
        let current = Target::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
        if target != current.0 || !known.contains(&Scope(scope)) {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(())
    }
}
