//! Entry points for event sets. Tools create a set before they know which events a GPU supports. In
//! a guest, GPUs don't support any events.

use super::entries;
use crate::args::Out;
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::{nvmlEventData_t, nvmlEventSet_t};
use crate::state::{self, Handle};
use std::time::Duration;

/// The handle of every event set. All sets are empty, so they can share one handle.
const SET: usize = 0x6e76_6d6d_0000;

/// Sleeps until the timeout, because an event never occurs.
fn wait(set: nvmlEventSet_t, timeout_ms: u32) -> NvmlResult {
    state::check()?;
    if set as usize != SET {
        return Err(NvmlError::INVALID_ARGUMENT);
    }
    std::thread::sleep(Duration::from_millis(timeout_ms.into()));
    Err(NvmlError::TIMEOUT)
}

entries! {
    fn nvmlEventSetCreate(set: Out<nvmlEventSet_t>) {
        state::check()?;
        set.set(SET as nvmlEventSet_t)
    }
    fn nvmlEventSetFree(set: nvmlEventSet_t) {
        state::check()?;
        if set as usize == SET { Ok(()) } else { Err(NvmlError::INVALID_ARGUMENT) }
    }
    fn nvmlEventSetWait(set: nvmlEventSet_t, _data: *mut nvmlEventData_t, timeout_ms: u32) {
        wait(set, timeout_ms)
    }
    fn nvmlEventSetWait_v2(set: nvmlEventSet_t, _data: *mut nvmlEventData_t, timeout_ms: u32) {
        wait(set, timeout_ms)
    }
    fn nvmlDeviceGetSupportedEventTypes(device: Handle, types: Out<u64>) {
        state::gpu(device)?;
        types.set(0)
    }
}
