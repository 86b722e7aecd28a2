//! The SMs of green contexts, and their creation. cuda-api has the entry points; this module
//! implements the guest library's part. A program can change the resources that it gets from this
//! library, so the worker checks them.

use std::sync::{LazyLock, OnceLock};

use crate::driver::{Driver, driver};
use crate::entry::contexts::context::{named, release_primary, retain_primary};
use crate::entry::macros::EntryPoint;
use crate::error::{CuError, CuResult};
use crate::graph::Guest;
use crate::handles::{Handle, Object};
use crate::objects::{Context, Green, GreenHandle};
use crate::thread;
use cuda_api::green::{Descriptors, Library, Parts, Provision, Sms, Split};
use cuda_api::sys::{CUcontext, CUgreenCtx};
use protocol::calls::{
    VcudaGreenCtxCreate, VcudaGreenCtxDestroy, VcudaGreenCtxStreamCreate, VcudaSmResource,
    VcudaSmSplit,
};
use protocol::ids::{GreenId, StreamId};

cuda_api::green_entries!(Guest, EntryPoint);

static DESCRIPTORS: LazyLock<Descriptors> = LazyLock::new(Descriptors::default);

/// Returns the context to which a green context is converted.
pub fn green_context(handle: Handle) -> CuResult<&'static Context> {
    let found = driver()?.handles.get::<GreenHandle>(handle);
    let GreenHandle(context) = found.map_err(|_| CuError::INVALID_CONTEXT)?;
    if context.is_alive() { Ok(context) } else { Err(CuError::CONTEXT_IS_DESTROYED) }
}

fn sms([count, least, together]: [u32; 3]) -> Sms {
    Sms { smCount: count, minSmPartitionSize: least, smCoscheduledAlignment: together }
}

fn id_of(context: &Context) -> u64 {
    context.green.as_ref().map_or(0, |green| green.id.0)
}

/// Creates a green context in the worker, and a stream that serves as its default streams.
fn create(driver: &Driver, provision: &Provision) -> CuResult<(GreenId, StreamId)> {
    let (green, stream) = (driver.session.mint(), driver.session.mint());
    let Split { groups, flags, min_count } = provision.split;
    let (source, parts) = (GreenId(provision.source), (&provision.parts).into());
    let call = VcudaGreenCtxCreate { green, source, groups, flags, min_count, parts };
    driver.session.call(&call)?;
    let call = VcudaGreenCtxStreamCreate { stream, green, priority: 0 };
    if let Err(error) = driver.session.call(&call) {
        // Ignore this error: the call returns the error of the stream's creation.
        let _ = driver.session.call(&VcudaGreenCtxDestroy { green });
        return Err(error);
    }
    Ok((green, stream))
}

fn create_in(driver: &Driver, home: &'static Context, provision: &Provision) -> CuResult<Handle> {
    let (id, default_stream) = thread::within(home, || create(driver, provision))?;
    let handle = OnceLock::new();
    let green = Green { id, home, home_id: home.id(), default_stream, handle };
    let context = Context::new_green(green);
    context.set_handle(driver.handles.insert(Object::Context(context))?);
    let handle = driver.handles.insert(Object::Green(GreenHandle(context)))?;
    if let Some(green) = &context.green {
        let _ = green.handle.set(handle);
    }
    Ok(handle)
}

impl Library for Guest {
    fn descriptors() -> &'static Descriptors {
        &DESCRIPTORS
    }

    fn check_device(device: i32) -> CuResult {
        driver()?.device(device).map(drop)
    }

    fn sms(device: i32, source: u64) -> CuResult<Sms> {
        let driver = driver()?;
        let dev = driver.device(device)?.number;
        Ok(sms(driver.session.call(&VcudaSmResource { dev, source: GreenId(source) })?.sms))
    }

    fn split(device: i32, source: u64, split: Split) -> CuResult<Parts> {
        let driver = driver()?;
        let (dev, source) = (driver.device(device)?.number, GreenId(source));
        let Split { groups, flags, min_count } = split;
        let call = VcudaSmSplit { dev, source, groups, flags, min_count };
        let answer = driver.session.call(&call)?;
        Ok(Parts { made: answer.made, group: sms(answer.group), rest: sms(answer.rest) })
    }

    fn green(handle: CUgreenCtx) -> CuResult<(i32, u64)> {
        let context = green_context(handle as Handle)?;
        Ok((context.device, id_of(context)))
    }

    fn context(handle: CUcontext) -> CuResult<(i32, u64)> {
        let context = named(driver()?, handle as Handle)?;
        Ok((context.device, id_of(context)))
    }

    fn create(provision: &Provision) -> CuResult<CUgreenCtx> {
        let driver = driver()?;
        let home = retain_primary(provision.device)?;
        match create_in(driver, home, provision) {
            Ok(handle) => Ok(handle as CUgreenCtx),
            Err(error) => {
                release_primary(provision.device)?;
                Err(error)
            }
        }
    }
}
