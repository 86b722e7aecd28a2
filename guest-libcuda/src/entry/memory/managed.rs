//! Managed memory. It's pinned memory of the guest, which the GPU accesses at the same address. So
//! the program and the GPU always see each other's writes, and nothing migrates. Hints about its
//! location are recorded, but have no effect. cuda-api has the entry points.

use crate::capture;
use crate::context;
use crate::driver::{Driver, driver};
use crate::entry::macros::EntryPoint;
use crate::entry::memory::host_memory::{pin, unpin};
use crate::entry::streams::stream::{is_per_thread, null_of, stream_id};
use crate::error::{CuError, CuResult};
use crate::graph::Guest;
use crate::handles::Handle;
use crate::memory::{Allocation, Kind};
use cuda_api::managed::Managed;
use protocol::ids::StreamId;

cuda_api::managed_entries!(Guest, EntryPoint, is_per_thread);

/// Frees managed memory. Waits for work that uses it, as `cuMemFree` does.
pub fn free(driver: &Driver, allocation: &Allocation, region: u32) -> CuResult {
    driver.memory.managed.lock().remove(&allocation.base);
    unpin(driver, allocation, region)
}

impl Library for Guest {
    fn devices() -> CuResult<usize> {
        Ok(driver()?.devices.len())
    }

    fn ready() -> CuResult {
        context::driver().map(drop)
    }

    fn is_legacy(stream: CUstream, per_thread: bool) -> CuResult<bool> {
        let (stream, null) = (stream as Handle, null_of(per_thread));
        let id = stream_id(context::driver()?, stream, null)?;
        Ok(id == StreamId::LEGACY || stream == 0 && !per_thread)
    }

    fn allocate(bytes: usize) -> CuResult<u64> {
        let driver = context::driver()?;
        capture::forbid_unsafe()?;
        let at = pin(driver, bytes, 0, |region| Kind::Managed { region })? as u64;
        driver.memory.managed.lock().insert(at, Managed::new(bytes as u64));
        Ok(at)
    }

    fn find(address: u64) -> Option<(u64, u64)> {
        let found = driver().ok()?.memory.find(address).filter(|found| found.kind.is_managed());
        found.map(|found| (found.base, found.len))
    }

    fn with_hints<T>(start: u64, then: impl FnOnce(&mut Managed) -> CuResult<T>) -> CuResult<T> {
        let mut all = driver()?.memory.managed.lock();
        then(all.get_mut(&start).ok_or(CuError::INVALID_VALUE)?)
    }
}
