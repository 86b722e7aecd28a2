//! Contexts.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use cuda_api::sys::{CUcontext, CUctx_flags, CUevent};

use super::{Answer, CUresult, cuda, get, put, put_if};
use crate::state::context::{CONTEXTS, Context, by_handle, current, current_if_any, with_stack};
use crate::state::device::driver;
use crate::state::stream::Stream;
use crate::state::{primary, teardown};

/// The flags that a context can be created with.
const FLAGS: u32 = CUctx_flags::CU_CTX_FLAGS_MASK.0;

fn handle(context: &Arc<Context>) -> CUcontext {
    context.handle as CUcontext
}

fn create(to: *mut CUcontext, flags: c_uint, device: c_int) -> Answer {
    driver()?.device(device)?;
    if flags & !FLAGS != 0 || flags & 7 > 4 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let context = Context::new(device, flags, false);
    let made = handle(&context);
    with_stack(|stack| stack.push(context));
    put(to, made)
}

/// The context of a handle, or the thread's current context for null.
fn named(context: CUcontext) -> Result<Arc<Context>, CUresult> {
    if context.is_null() { current() } else { by_handle(context as usize) }
}

fn set_flags(context: &Context, flags: c_uint) -> Answer {
    if flags & !FLAGS != 0 || flags & 7 > 4 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    context.flags.store(flags, Ordering::Relaxed);
    Ok(())
}

fn reset(device: c_int) -> Answer {
    let primary = primary::of(device)?;
    let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    *retained = 0;
    if primary.context.active.swap(false, Ordering::AcqRel) {
        teardown::clear(&primary.context);
    }
    Ok(())
}

fn release(device: c_int) -> Answer {
    let primary = primary::of(device)?;
    let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
    *retained = retained.checked_sub(1).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    if *retained == 0 && primary.context.active.swap(false, Ordering::AcqRel) {
        teardown::clear(&primary.context);
    }
    Ok(())
}

fn push(context: CUcontext) -> Answer {
    driver()?;
    let context = by_handle(context as usize)?;
    with_stack(|stack| stack.push(context));
    Ok(())
}

fn pop(to: *mut CUcontext) -> Answer {
    driver()?;
    let context = with_stack(Vec::pop).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    put_if(to, handle(&context));
    Ok(())
}

fn destroy(context: CUcontext) -> Answer {
    driver()?;
    let context = by_handle(context as usize)?;
    if context.primary {
        return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
    CONTEXTS.remove(context.handle);
    context.active.store(false, Ordering::Release);
    with_stack(|stack| {
        if stack.last().is_some_and(|c| Arc::ptr_eq(c, &context)) {
            stack.pop();
        }
    });
    teardown::clear(&context);
    Ok(())
}

cuda! {
    fn cuDevicePrimaryCtxRetain(to: *mut CUcontext, device: c_int) {
        let primary = primary::of(device)?;
        let mut retained = primary.retained.lock().unwrap_or_else(PoisonError::into_inner);
        *retained += 1;
        primary.context.active.store(true, Ordering::Release);
        put(to, handle(&primary.context))
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

    fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) {
        set_flags(&primary::of(device)?.context, flags)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        set_flags(&primary::of(device)?.context, flags)
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        let primary = &primary::of(device)?.context;
        put(flags, primary.flags.load(Ordering::Relaxed))?;
        put(active, c_int::from(primary.active.load(Ordering::Acquire)))
    }

    fn cuCtxCreate(to: *mut CUcontext, flags: c_uint, device: c_int) {
        create(to, flags, device)
    }

    fn cuCtxCreate_v2(to: *mut CUcontext, flags: c_uint, device: c_int) {
        create(to, flags, device)
    }

    fn cuCtxCreate_v3(
        to: *mut CUcontext,
        _affinity: *const c_void,
        count: c_int,
        flags: c_uint,
        device: c_int,
    ) {
        if count != 0 {
            return Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        }
        create(to, flags, device)
    }

    fn cuCtxCreate_v4(to: *mut CUcontext, params: *const [*const c_void; 3], flags: c_uint, device: c_int) {
        // Execution affinity and CIG are two pointers and a count.
        if !params.is_null() && get(params)?.iter().any(|p| !p.is_null()) {
            return Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
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
        push(context)
    }

    fn cuCtxPushCurrent_v2(context: CUcontext) {
        push(context)
    }

    fn cuCtxPopCurrent(to: *mut CUcontext) {
        pop(to)
    }

    fn cuCtxPopCurrent_v2(to: *mut CUcontext) {
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

    fn cuCtxGetCurrent(to: *mut CUcontext) {
        driver()?;
        put(to, current_if_any().map_or(std::ptr::null_mut(), |c| handle(&c)))
    }

    fn cuCtxGetDevice(to: *mut c_int) {
        driver()?;
        let context = current_if_any().ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        put(to, context.ordinal)
    }

    fn cuCtxGetDevice_v2(to: *mut c_int, context: CUcontext) {
        driver()?;
        let context = if context.is_null() {
            current_if_any().ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?
        } else {
            by_handle(context as usize)?
        };
        put(to, context.ordinal)
    }

    fn cuCtxGetFlags(to: *mut c_uint) {
        put(to, current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxSetFlags(flags: c_uint) {
        set_flags(&*current()?, flags)
    }

    fn cuCtxGetId(context: CUcontext, id: *mut u64) {
        driver()?;
        put(id, named(context)?.id)
    }

    fn cuCtxGetApiVersion(context: CUcontext, version: *mut c_uint) {
        driver()?;
        named(context)?;
        put(version, 3020)
    }

    fn cuCtxSynchronize() {
        let context = current()?;
        super::capture::GRAPHS.forbid_in_context(context.id)?;
        context.synchronize();
        context.healthy()
    }

    fn cuCtxSynchronize_v2(context: CUcontext) {
        driver()?;
        let context = named(context)?;
        super::capture::GRAPHS.forbid_in_context(context.id)?;
        context.synchronize();
        context.healthy()
    }

    fn cuCtxGetLimit(value: *mut usize, which: c_uint) {
        let context = current()?;
        let limit = context.limits.get(which as usize);
        let limit = limit.ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)?;
        put(value, limit.load(Ordering::Relaxed) as usize)
    }

    fn cuCtxSetLimit(which: c_uint, value: usize) {
        let context = current()?;
        let limit = context.limits.get(which as usize);
        let limit = limit.ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)?;
        limit.store(value as u64, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetCacheConfig(to: *mut c_uint) {
        current()?;
        put(to, 0)
    }

    fn cuCtxSetCacheConfig(_config: c_uint) {
        current().map(drop)
    }

    fn cuCtxGetSharedMemConfig(to: *mut c_uint) {
        current()?;
        put(to, 1)
    }

    fn cuCtxSetSharedMemConfig(_config: c_uint) {
        current().map(drop)
    }

    fn cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        current()?;
        put_if(least, 0);
        put_if(greatest, -5);
        Ok(())
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        let context = current()?;
        let peer = by_handle(peer as usize)?;
        if flags != 0 || peer.ordinal == context.ordinal {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // Kernels can access the memory of every device anyway.
        Ok(())
    }

    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        current()?;
        by_handle(peer as usize).map(drop)
    }

    fn cuCtxRecordEvent(context: CUcontext, event: CUevent) {
        driver()?;
        let stream = Stream::legacy(&named(context)?);
        super::event::record(event, &stream, 0)
    }

    fn cuCtxWaitEvent(context: CUcontext, event: CUevent) {
        driver()?;
        let stream = Stream::legacy(&named(context)?);
        super::event::wait_on(&stream, event, 0)
    }

    fn cuCtxAttach(to: *mut CUcontext, _flags: c_uint) {
        put(to, handle(&current()?))
    }

    fn cuCtxDetach(context: CUcontext) {
        by_handle(context as usize).map(drop)
    }

    fn cuCtxGetExecAffinity(_affinity: *mut c_void, _kind: c_uint) {
        current()?;
        Err(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY)
    }

    fn cuFlushGPUDirectRDMAWrites(_target: c_uint, _scope: c_uint) {
        current()?;
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuCoredumpGetAttribute(_which: c_uint, _value: *mut c_void, _size: *mut usize) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}
