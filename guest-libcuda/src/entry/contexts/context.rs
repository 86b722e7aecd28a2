//! Entry points for contexts: primary contexts, contexts that the program creates, and each
//! thread's context stack.

use crate::context::{self, current};
use crate::device::{Device, Primary};
use crate::driver::{Driver, driver};
use crate::entry::contexts::ended::forget_objects;
use crate::entry::memory::host_memory;
use crate::error::{CuError, CuResult};
use crate::graph::GRAPHS;
use crate::handles::{Handle, Object};
use crate::objects::{Context, Event};
use crate::session::Work;
use crate::settled;
use crate::thread;
use cuda_api::args::{In, Out, check_handle};
use cuda_api::export_tables::context_storage;
use cuda_api::sys::{
    CUctx_flags, CUctxCreateParams, CUdevice_attribute, CUexecAffinityParam, CUexecAffinitySmCount,
    CUexecAffinityType, CUflushGPUDirectRDMAWritesScope as Scope,
    CUflushGPUDirectRDMAWritesTarget as Target,
};
use parking_lot::MutexGuard;
use protocol::calls::{
    VcudaCtxCreate, VcudaCtxDestroy, VcudaCtxPeerAccess, VcudaCtxRecordEvent, VcudaCtxWaitEvent,
    VcudaGreenCtxRecordEvent, VcudaGreenCtxWaitEvent, VcudaPrimaryCtxRelease,
    VcudaPrimaryCtxRetain, VcudaPrimaryCtxSetFlags,
};
use std::sync::Arc;

const FLAGS: u32 = CUctx_flags::CU_CTX_FLAGS_MASK.0;
const SCHEDULING: u32 = CUctx_flags::CU_CTX_SCHED_MASK.0;
const BLOCKING_SYNC: u32 = CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC.0;

/// Returns the context with this handle, or the current context if the handle is 0.
fn context_of(driver: &Driver, handle: Handle) -> CuResult<&'static Context> {
    if handle == 0 { current() } else { named(driver, handle) }
}

/// Returns the context with this handle.
pub fn named(driver: &Driver, handle: Handle) -> CuResult<&'static Context> {
    let context: &Context = driver.handles.get(handle).map_err(|_| CuError::INVALID_CONTEXT)?;
    if context.is_alive() { Ok(context) } else { Err(CuError::CONTEXT_IS_DESTROYED) }
}

/// Marks a context as destroyed, and removes its memory and errors from this library's records.
fn end_context(driver: &Driver, context: &'static Context) {
    context.end();
    driver.session.mirrors.forget_context(context.id());
    forget_objects(driver, context);
    let (on_host, slabs) = driver.memory.forget_context(context.handle());
    driver.session.forget_errors();
    driver.flush_output();
    host_memory::forget(driver, on_host, slabs);
}

/// Removes the values that libraries stored for a destroyed context, and calls their destructors.
fn context_ended(context: &Context) {
    context_storage::context_ended(core::ptr::with_exposed_provenance_mut(context.handle()));
}

/// Destroys a device's primary context, if it exists.
fn end_primary(driver: &Driver, device: &Device, primary: MutexGuard<Primary>) -> CuResult {
    let context = device.primary_context;
    let mut result = Ok(());
    if context.is_alive() {
        let release = VcudaPrimaryCtxRelease { dev: device.number, ctx: context.id() };
        result = driver.session.call_always(&release, 0);
        end_context(driver, context);
    }
    // Unlock first, because the destructors that `context_ended` calls may call functions that take
    // this lock to retain or release the context.
    drop(primary);
    context_ended(context);
    result
}

/// Creates a device's primary context in the worker, under a new id, unless it exists.
fn begin_primary(driver: &Driver, device: &Device) -> CuResult {
    if device.primary_context.is_alive() {
        return Ok(());
    }
    let id = driver.session.mint();
    let retain = VcudaPrimaryCtxRetain { dev: device.number, ctx: id };
    driver.session.call_always(&retain, 0)?;
    device.primary_context.revive(id);
    Ok(())
}

/// Destroys a device's primary context. The number of retains stays the same, but the context stays
/// destroyed until it's retained again.
fn reset_primary(number: i32) -> CuResult {
    let driver = driver()?;
    let device = driver.device(number)?;
    end_primary(driver, device, device.primary.lock())
}

/// Releases a device's primary context once.
pub fn release_primary(number: i32) -> CuResult {
    let driver = driver()?;
    let device = driver.device(number)?;
    let mut primary = device.primary.lock();
    primary.count = primary.count.checked_sub(1).ok_or(CuError::INVALID_CONTEXT)?;
    if primary.count > 0 {
        return Ok(());
    }
    end_primary(driver, device, primary)
}

/// Retains a device's primary context.
pub fn retain_primary(number: i32) -> CuResult<&'static Context> {
    let driver = driver()?;
    let device = driver.device(number)?;
    let mut primary = device.primary.lock();
    begin_primary(driver, device)?;
    primary.count += 1;
    Ok(device.primary_context)
}

/// Returns a device's primary context, for a call without a current context. If the program hasn't
/// retained the primary context, the library retains it.
pub fn ensure_primary(number: i32) -> CuResult<&'static Context> {
    let driver = driver()?;
    let device = driver.device(number)?;
    let mut primary = device.primary.lock();
    begin_primary(driver, device)?;
    primary.count = primary.count.max(1);
    Ok(device.primary_context)
}

/// Sets the flags of a device's primary context. The first version of the call fails if the context
/// is active.
fn set_primary_flags(number: i32, flags: u32, first_version: bool) -> CuResult {
    if flags & !FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = driver()?;
    let device = driver.device(number)?;
    let _one_at_a_time = device.primary.lock();
    if first_version && device.primary_context.is_alive() {
        return Err(CuError::PRIMARY_CONTEXT_ACTIVE);
    }
    driver.session.call_always(&VcudaPrimaryCtxSetFlags { dev: device.number, flags }, 0)?;
    device.primary_context.set_flags(flags);
    Ok(())
}

fn create(out: Out<Handle>, flags: u32, number: i32) -> CuResult {
    out.check()?;
    let driver = driver()?;
    let device = driver.device(number)?;
    if flags & !FLAGS != 0 || flags & SCHEDULING > BLOCKING_SYNC {
        return Err(CuError::INVALID_VALUE);
    }
    let id = driver.session.mint();
    driver.session.call_always(&VcudaCtxCreate { dev: device.number, flags, ctx: id }, 0)?;
    let context = Context::new(id, number, false, flags);
    context.set_handle(driver.handles.insert(Object::Context(context))?);
    thread::push(context);
    out.set(context.handle())
}

fn destroy(handle: Handle) -> CuResult {
    let driver = driver()?;
    check_handle(handle)?;
    let context: &Context = driver.handles.get(handle).map_err(|_| CuError::INVALID_CONTEXT)?;
    if context.primary || context.green.is_some() {
        return Err(CuError::INVALID_CONTEXT);
    }
    driver.handles.remove::<&Context>(handle)?;
    let result = driver.session.call_always(&VcudaCtxDestroy { ctx: context.id() }, 0);
    end_context(driver, context);
    context_ended(context);
    if thread::current() == Some(context) {
        thread::pop();
    }
    result
}

/// Pushes a context on the calling thread's stack, which makes it the current one. The first
/// version of the call accepts only a context that isn't on the thread's stack.
fn push(handle: Handle, first_version: bool) -> CuResult {
    let driver = driver()?;
    check_handle(handle)?;
    let context: &'static Context =
        driver.handles.get(handle).map_err(|_| CuError::INVALID_CONTEXT)?;
    if first_version && thread::has(context) {
        return Err(CuError::INVALID_CONTEXT);
    }
    thread::push(context);
    Ok(())
}

fn pop(out: Out<Handle>) -> CuResult {
    driver()?;
    let context = thread::pop().ok_or(CuError::INVALID_CONTEXT)?;
    out.set_if_wanted(context.handle());
    Ok(())
}

/// Records an event after all work in a context.
pub fn record_in(driver: &Driver, context: &'static Context, event: Handle) -> CuResult {
    let event: Arc<Event> = driver.handles.get(event)?;
    GRAPHS.forbid_in_context(context.id().0)?;
    GRAPHS.forget_event(event.id.0);
    let event = event.id;
    thread::within(context, || match &context.green {
        None => driver.session.call(&VcudaCtxRecordEvent { event }),
        Some(green) => driver.session.call(&VcudaGreenCtxRecordEvent { green: green.id, event }),
    })
}

/// Makes all later work in a context wait for an event.
pub fn wait_in(driver: &Driver, context: &'static Context, event: Handle) -> CuResult {
    let event: Arc<Event> = driver.handles.get(event)?;
    GRAPHS.forbid_in_context(context.id().0)?;
    let captured = |_| CuError::STREAM_CAPTURE_UNSUPPORTED;
    GRAPHS.forbid_captured_event(event.id.0).map_err(captured)?;
    let event = event.id;
    thread::within(context, || match &context.green {
        None => driver.session.call(&VcudaCtxWaitEvent { event }),
        Some(green) => driver.session.call(&VcudaGreenCtxWaitEvent { green: green.id, event }),
    })
}

fn synchronize(driver: &Driver) -> CuResult {
    GRAPHS.forbid_in_context(current()?.id().0)?;
    let sent = driver.session.sent();
    let result = driver.session.wait_for_work(Work::Context, thread::spins());
    driver.flush_output();
    result.inspect(|()| settled::note(sent, None))
}

entries! {
    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, number: i32) {
        out.check()?;
        out.set(retain_primary(number)?.handle())
    }

    fn cuDevicePrimaryCtxRelease(number: i32) { release_primary(number) }
    fn cuDevicePrimaryCtxRelease_v2(number: i32) { release_primary(number) }
    fn cuDevicePrimaryCtxReset(number: i32) { reset_primary(number) }
    fn cuDevicePrimaryCtxReset_v2(number: i32) { reset_primary(number) }
    fn cuDevicePrimaryCtxSetFlags(number: i32, flags: u32) {
        set_primary_flags(number, flags, true)
    }
    fn cuDevicePrimaryCtxSetFlags_v2(number: i32, flags: u32) {
        set_primary_flags(number, flags, false)
    }

    fn cuDevicePrimaryCtxGetState(number: i32, flags: Out<u32>, active: Out<i32>) {
        // Programs call this hundreds of thousands of times, so it takes no lock.
        let context = driver()?.device(number)?.primary_context;
        flags.set(context.flags())?;
        active.set(i32::from(context.is_alive()))
    }

    /// Always fails, because a context of the first version has 32-bit device pointers
    /// (`cuda_api::first_versions`).
    fn cuCtxCreate(out: Out<Handle>, flags: u32, device: i32) {
        out.check()?;
        if flags & !FLAGS != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        driver()?.device(device)?;
        Err(CuError::OUT_OF_MEMORY)
    }

    fn cuCtxCreate_v2(out: Out<Handle>, flags: u32, device: i32) { create(out, flags, device) }

    fn cuCtxCreate_v3(
        out: Out<Handle>, affinity: In<u8>, count: i32, flags: u32, device: i32,
    ) {
        if !affinity.is_null() && count > 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        create(out, flags, device)
    }

    /// Fails if `parameters` has execution affinities, or a graphics context to share data with,
    /// because neither is supported.
    fn cuCtxCreate_v4(
        out: Out<Handle>, parameters: In<CUctxCreateParams>, flags: u32, device: i32,
    ) {
        let asks_for_more = |parameters: CUctxCreateParams| {
            !parameters.execAffinityParams.is_null() || !parameters.cigParams.is_null()
        };
        if parameters.optional().is_some_and(asks_for_more) {
            return Err(CuError::NOT_SUPPORTED);
        }
        create(out, flags, device)
    }

    fn cuCtxAttach(out: Out<Handle>, flags: u32) {
        driver()?;
        out.check()?;
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let context = current()?;
        context.attach();
        out.set(context.handle())
    }

    fn cuCtxDetach(handle: Handle) {
        if named(driver()?, handle)?.detach() { Ok(()) } else { destroy(handle) }
    }

    fn cuCtxDestroy(handle: Handle) { destroy(handle) }
    fn cuCtxDestroy_v2(handle: Handle) { destroy(handle) }
    fn cuCtxPushCurrent(handle: Handle) { push(handle, true) }
    fn cuCtxPushCurrent_v2(handle: Handle) { push(handle, false) }
    fn cuCtxPopCurrent(out: Out<Handle>) { pop(out) }
    fn cuCtxPopCurrent_v2(out: Out<Handle>) { pop(out) }

    fn cuCtxSetCurrent(handle: Handle) {
        let driver = driver()?;
        if handle == 0 {
            thread::pop();
            return Ok(());
        }
        let context = driver.handles.get(handle).map_err(|_| CuError::INVALID_CONTEXT)?;
        thread::set_current(Some(context));
        Ok(())
    }

    fn cuCtxGetCurrent(out: Out<Handle>) {
        driver()?;
        out.set(thread::current().map_or(0, Context::handle))
    }

    /// Returns the device even if the current context has been destroyed, as NVIDIA's driver does.
    fn cuCtxGetDevice(device: Out<i32>) {
        driver()?;
        device.set(thread::current().ok_or(CuError::INVALID_CONTEXT)?.device)
    }

    fn cuCtxGetDevice_v2(device: Out<i32>, handle: Handle) {
        device.set(context_of(driver()?, handle)?.device)
    }

    fn cuCtxGetFlags(flags: Out<u32>) {
        driver()?;
        flags.set(current()?.flags())
    }

    fn cuCtxSetFlags(flags: u32) {
        driver()?;
        if flags & !FLAGS != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        current()?.set_flags(flags);
        Ok(())
    }

    fn cuCtxGetId(handle: Handle, id: Out<u64>) {
        id.set(context_of(driver()?, handle)?.unique)
    }

    fn cuCtxGetApiVersion(handle: Handle, version: Out<u32>) {
        context_of(driver()?, handle)?;
        version.set(3020)
    }

    /// A context can use all multiprocessors, because its affinity can't be chosen.
    fn cuCtxGetExecAffinity(affinity: Out<CUexecAffinityParam>, kind: u32) {
        affinity.check()?;
        let driver = driver()?;
        let device = driver.device(current()?.device)?;
        let type_ = CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT;
        if kind != type_.0 {
            return Err(CuError::UNSUPPORTED_EXEC_AFFINITY);
        }
        let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.0;
        let val = device.attribute(count)? as u32;
        let mut answer = CUexecAffinityParam { type_, param: Default::default() };
        answer.param.smCount = CUexecAffinitySmCount { val };
        affinity.set(answer)
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) {
        let driver = driver()?;
        current()?;
        let peer = named(driver, peer)?.id();
        if flags != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        driver.session.call(&VcudaCtxPeerAccess { peer, enable: 1 })
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        let driver = driver()?;
        current()?;
        let peer = named(driver, peer)?.id();
        driver.session.call(&VcudaCtxPeerAccess { peer, enable: 0 })
    }

    fn cuCtxSynchronize() { synchronize(context::driver()?) }

    fn cuCtxSynchronize_v2(handle: Handle) {
        let driver = driver()?;
        thread::within(context_of(driver, handle)?, || synchronize(driver))
    }

    fn cuCtxRecordEvent(handle: Handle, event: Handle) {
        let driver = driver()?;
        record_in(driver, named(driver, handle)?, event)
    }

    fn cuCtxWaitEvent(handle: Handle, event: Handle) {
        let driver = driver()?;
        wait_in(driver, named(driver, handle)?, event)
    }

    /// No device can write to the memory of a guest's GPU, so there is nothing to flush.
    fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32) {
        context::driver()?;
        let known = [Scope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,
            Scope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES];
        let current = Target::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
        if target != current.0 || !known.contains(&Scope(scope)) {
            return Err(CuError::INVALID_VALUE);
        }
        Ok(())
    }
}
