//! Event sets. Tools make one before they know whether there is any event for it: a GPU in a guest
//! has none.

use super::entries;
use crate::error::{NvmlError, NvmlResult};
use crate::state::{self, Handle};
use crate::types::Out;
use std::time::Duration;

/// What every set's handle is: sets hold nothing.
const SET: usize = 0x6e76_6d6d_0000;

/// Waits for what never comes. A child's events, or a signal's, are not NVML's.
fn wait(set: usize, timeout_ms: u32) -> NvmlResult {
    state::check()?;
    if set != SET {
        return Err(NvmlError::INVALID_ARGUMENT);
    }
    std::thread::sleep(Duration::from_millis(timeout_ms.into()));
    Err(NvmlError::TIMEOUT)
}

entries! {
    fn nvmlEventSetCreate(set: Out<usize>) {
        state::check()?;
        set.set(SET)
    }
    fn nvmlEventSetFree(set: usize) {
        state::check()?;
        if set == SET { Ok(()) } else { Err(NvmlError::INVALID_ARGUMENT) }
    }
    fn nvmlEventSetWait(set: usize, _data: usize, timeout_ms: u32) {
        wait(set, timeout_ms)
    }
    fn nvmlEventSetWait_v2(set: usize, _data: usize, timeout_ms: u32) {
        wait(set, timeout_ms)
    }
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, types: Out<u64>) {
        state::gpu(device)?;
        types.set(0)
    }
}
