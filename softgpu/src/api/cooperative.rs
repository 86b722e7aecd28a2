//! Cooperative launches on several devices at once.

use std::ffi::c_uint;
use std::sync::Arc;

use cuda_api::args::{Arg, In};
use cuda_api::cooperative;
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUDA_LAUNCH_PARAMS;

use super::capture::GRAPHS;
use super::entry::entries;
use super::launch::Shape;
use super::launch::launch;
use crate::state::device::driver;
use crate::state::stream::{STREAMS, Stream};

/// Makes later work in each stream wait for the earlier work in all streams.
fn join(streams: &[Arc<Stream>]) {
    let marks: Vec<_> = streams.iter().map(|stream| stream.queue.mark()).collect();
    for stream in streams {
        marks.iter().for_each(|mark| stream.submit_after(mark.clone()));
    }
}

/// Queues a launch for each device.
///
/// # Safety
///
/// Each launch must have as many parameters as its function.
unsafe fn launch_all(launches: &[CUDA_LAUNCH_PARAMS], flags: c_uint) -> CuResult {
    let devices = driver()?.devices.len();
    let find = |stream| STREAMS.get(stream as usize).ok_or(CuError::INVALID_HANDLE);
    let device_of = |stream| Ok(find(stream)?.context.ordinal);
    let order = cooperative::check(launches, flags, devices, device_of)?;
    let streams: Vec<_> =
        launches.iter().map(|launch| find(launch.hStream)).collect::<CuResult<_>>()?;
    streams.iter().try_for_each(|stream| GRAPHS.forbid_on(&(&**stream).into()))?;
    if order.before {
        join(&streams);
    }
    for (launched, stream) in launches.iter().zip(&streams) {
        let shape = Shape {
            grid: [launched.gridDimX, launched.gridDimY, launched.gridDimZ],
            block: [launched.blockDimX, launched.blockDimY, launched.blockDimZ],
            shared: launched.sharedMemBytes,
            cooperative: true,
        };
        // SAFETY: the caller promises an address for each of the function's parameters.
        unsafe {
            let parameters = In::from_address(launched.kernelParams as usize);
            launch(launched.function, shape, stream, (parameters, In::null()), Default::default())?;
        }
    }
    if order.after {
        join(&streams);
    }
    Ok(())
}

entries! {
    fn cuLaunchCooperativeKernelMultiDevice(
        launches: *mut CUDA_LAUNCH_PARAMS, count: c_uint, flags: c_uint,
    ) {
        // More launches than devices are refused before the array is read.
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
