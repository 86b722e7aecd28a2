//! Events: records, waits, queries, and elapsed times.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use std::ptr::null_mut;

cases! {
    fn an_event_orders_two_streams(cuda, primary) {
        let pointer = cuda.alloc(1 << 20)?;
        let first = get!(cuda, cuStreamCreate(@, 1))?;
        let second = get!(cuda, cuStreamCreate(@, 1))?;
        let mut event = get!(cuda, cuEventCreate(@, 2))?;
        for value in 0..20u8 {
            cu!(cuda, cuMemsetD8Async(pointer, value, 1 << 20, first))?;
            cu!(cuda, cuEventRecord(event, first))?;
            cu!(cuda, cuStreamWaitEvent(second, event, 0))?;
            cu!(cuda, cuMemsetD8Async(pointer, value + 100, 1 << 20, second))?;
            cu!(cuda, cuEventRecord(event, second))?;
            cu!(cuda, cuStreamWaitEvent(first, event, 0))?;
        }
        cu!(cuda, cuEventSynchronize(event))?;
        cu!(cuda, cuEventQuery(event))?;
        same!(cuda.download::<u8>(pointer, 4)?, [119; 4]);
        refused!(cu!(cuda, cuEventCreate(&mut event, 1 << 20)), INVALID_VALUE);
        refused!(cu!(cuda, cuEventCreate(null_mut(), 0)), INVALID_VALUE);
    }

    fn time_passes_between_events(cuda, primary) {
        let pointer = cuda.alloc(1 << 20)?;
        let (mut first, mut second, mut untimed, mut time) = (null_mut(), null_mut(), null_mut(), -1.0);
        cu!(cuda, cuEventCreate(&mut first, 0))?;
        cu!(cuda, cuEventCreate(&mut second, 0))?;
        cu!(cuda, cuEventCreate(&mut untimed, 2))?;
        refused!(cu!(cuda, cuEventElapsedTime_v2(&mut time, first, second)), INVALID_HANDLE);
        cu!(cuda, cuEventRecord(first, null_mut()))?;
        cu!(cuda, cuMemsetD8Async(pointer, 1, 1 << 20, null_mut()))?;
        cu!(cuda, cuEventRecord(second, null_mut()))?;
        cu!(cuda, cuEventRecord(untimed, null_mut()))?;
        cu!(cuda, cuEventSynchronize(untimed))?;
        cu!(cuda, cuEventElapsedTime_v2(&mut time, first, second))?;
        ensure!((0.0..10_000.0).contains(&time), "{time} ms passed");
        refused!(cu!(cuda, cuEventElapsedTime_v2(&mut time, first, untimed)), INVALID_HANDLE);
        for event in [first, second, untimed] {
            cu!(cuda, cuEventDestroy_v2(event))?;
        }
    }
}
