//! Cooperative launches on several devices at once.

use crate::capture;
use crate::driver::{Driver, driver};
use crate::entry::code::launch::launch_cooperative;
use crate::entry::macros::LEGACY;
use crate::error::{CuError, CuResult};
use crate::graph::Shape;
use crate::handles::Handle;
use crate::objects::Stream;
use crate::thread;
use cuda_api::args::{Arg, In};
use cuda_api::cooperative;
use cuda_api::sys::CUDA_LAUNCH_PARAMS;
use protocol::calls::{CuEventCreate, CuEventDestroyV2, CuEventRecordWithFlags, CuStreamWaitEvent};
use protocol::ids::EventId;
use std::sync::Arc;

/// Makes later work in each stream wait for the earlier work in all streams.
fn join(driver: &Driver, streams: &[Arc<Stream>]) -> CuResult {
    if streams.len() < 2 {
        return Ok(());
    }
    let session = &driver.session;
    let mut events: Vec<EventId> = Vec::with_capacity(streams.len());
    for stream in streams {
        let (event, h_stream) = (session.mint(), stream.id);
        thread::within(stream.context, || {
            session.post(&CuEventCreate { ph_event: event, flags: 0 })?;
            session.post(&CuEventRecordWithFlags { h_event: event, h_stream, flags: 0 })
        })?;
        events.push(event);
    }
    for stream in streams {
        for &h_event in &events {
            let wait = CuStreamWaitEvent { h_stream: stream.id, h_event, flags: 0 };
            thread::within(stream.context, || session.post(&wait))?;
        }
    }
    events.iter().try_for_each(|&h_event| session.post(&CuEventDestroyV2 { h_event }))
}

/// Queues a launch for each device.
///
/// # Safety
///
/// Each launch must have as many parameters as its function.
unsafe fn launch_all(launches: &[CUDA_LAUNCH_PARAMS], flags: u32) -> CuResult {
    let driver = driver()?;
    let find = |stream| driver.handles.get::<Arc<Stream>>(stream as Handle);
    let device_of = |stream| Ok(find(stream)?.context.device);
    let order = cooperative::check(launches, flags, driver.devices.len(), device_of)?;
    let streams: Vec<_> =
        launches.iter().map(|launch| find(launch.hStream)).collect::<CuResult<_>>()?;
    for launch in launches {
        let name = "cuLaunchCooperativeKernelMultiDevice";
        capture::unsupported_on(driver, launch.hStream as Handle, LEGACY, name)?;
    }
    if order.before {
        join(driver, &streams)?;
    }
    for (launch, stream) in launches.iter().zip(&streams) {
        let shape = Shape {
            grid: [launch.gridDimX, launch.gridDimY, launch.gridDimZ],
            block: [launch.blockDimX, launch.blockDimY, launch.blockDimZ],
            shared: launch.sharedMemBytes,
        };
        let (function, target) = (launch.function as Handle, launch.hStream as Handle);
        // SAFETY: the caller promises that each launch has an address for each of its function's
        // parameters.
        thread::within(stream.context, || unsafe {
            let parameters = In::from_address(launch.kernelParams as usize);
            launch_cooperative(function, shape, (target, LEGACY), parameters)
        })?;
    }
    if order.after { join(driver, &streams) } else { Ok(()) }
}

entries! {
    fn cuLaunchCooperativeKernelMultiDevice(
        launches: *mut CUDA_LAUNCH_PARAMS, count: u32, flags: u32,
    ) {
        // Refuse more launches than devices before reading the array.
        if count as usize > driver()?.devices.len() {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes an array of `count` launches, with their parameters.
        unsafe {
            let launches = In::from_c(launches.cast_const()).array(count as usize).to_vec()?;
            launch_all(&launches, flags)
        }
    }
}
