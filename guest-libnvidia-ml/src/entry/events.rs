//! Event sets. Tools create one before they know which events a GPU supports. A guest's GPU supports
//! none.

use super::entries;
use crate::error::{NvmlError, NvmlResult};
use crate::state::{self, Handle};
use crate::types::Out;
use std::time::Duration;

/// The handle of every set. All sets are empty, so they can share it.
const SET: usize = 0x6e76_6d6d_0000;

/// Sleeps until the timeout, because no event ever arrives.
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
