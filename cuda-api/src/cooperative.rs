//! Cooperative launches on several devices at once, which CUDA has deprecated.

use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC as NO_POST_SYNC,
    CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC as NO_PRE_SYNC, CUDA_LAUNCH_PARAMS,
    CUstream,
};

/// Determines how the launches of one call and other work in their streams wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Each launch waits for the earlier work in all streams.
    pub before: bool,
    /// Later work in each stream waits for all launches.
    pub after: bool,
}

/// Checks the launches, and returns their order. There can be one launch for each device, in a
/// stream that the program created. `device_of` returns the device of such a stream; `devices` is
/// the number of devices.
pub fn check(
    launches: &[CUDA_LAUNCH_PARAMS],
    flags: u32,
    devices: usize,
    device_of: impl Fn(CUstream) -> CuResult<i32>,
) -> CuResult<Order> {
    let known = NO_PRE_SYNC | NO_POST_SYNC;
    if launches.is_empty() || launches.len() > devices || flags & !known != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let shape = |launch: &CUDA_LAUNCH_PARAMS| {
        let grid = [launch.gridDimX, launch.gridDimY, launch.gridDimZ];
        let block = [launch.blockDimX, launch.blockDimY, launch.blockDimZ];
        (grid, block, launch.sharedMemBytes)
    };
    let mut used = Vec::with_capacity(launches.len());
    for launch in launches {
        // 0, 1, and 2 are the default streams.
        if launch.hStream.addr() <= 2 {
            return Err(CuError::INVALID_HANDLE);
        }
        let device = device_of(launch.hStream)?;
        if used.contains(&device) {
            return Err(CuError::INVALID_DEVICE);
        }
        if shape(launch) != shape(&launches[0]) {
            return Err(CuError::INVALID_VALUE);
        }
        used.push(device);
    }
    Ok(Order { before: flags & NO_PRE_SYNC == 0, after: flags & NO_POST_SYNC == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::without_provenance_mut;

    fn launch(stream: usize, blocks: u32) -> CUDA_LAUNCH_PARAMS {
        // SAFETY: the structure consists of integers and pointers, which may be zero.
        let zero: CUDA_LAUNCH_PARAMS = unsafe { std::mem::zeroed() };
        CUDA_LAUNCH_PARAMS { hStream: without_provenance_mut(stream), gridDimX: blocks, ..zero }
    }

    #[test]
    fn each_device_gets_one_launch_of_the_same_shape() {
        let check = |launches: &[(usize, u32)], flags| {
            let launches: Vec<_> = launches.iter().map(|l| launch(l.0, l.1)).collect();
            check(&launches, flags, 2, |stream| Ok(stream.addr() as i32 / 100))
        };
        assert_eq!(check(&[(100, 1), (200, 1)], 0), Ok(Order { before: true, after: true }));
        assert_eq!(check(&[(100, 1)], 3), Ok(Order { before: false, after: false }));
        let invalid = Err(CuError::INVALID_VALUE);
        assert_eq!(check(&[], 0), invalid);
        assert_eq!(check(&[(100, 1)], 4), invalid);
        assert_eq!(check(&[(100, 1), (101, 1)], 0), Err(CuError::INVALID_DEVICE));
        assert_eq!(check(&[(100, 1), (200, 2)], 0), invalid);
        assert_eq!(check(&[(100, 1), (200, 1), (300, 1)], 0), invalid);
        assert_eq!(check(&[(0, 1)], 0), Err(CuError::INVALID_HANDLE));
    }
}
