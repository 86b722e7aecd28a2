//! Managed memory. Kernels run in the program's process, so it is ordinary memory. Hints about its
//! location are recorded and have no effect. cuda-api has the entry points.

use cuda_api::error::CuResult;
use cuda_api::managed::Managed;

use super::capture;
use super::entry::EntryPoint;
use crate::state::context::current;
use crate::state::device::driver;
use crate::state::graph::Software;
use crate::state::hints;
use crate::state::memory::{self, Allocation, Memory};
use crate::state::stream::lookup;

cuda_api::managed_entries!(Software, EntryPoint, std::convert::identity);

impl Library for Software {
    fn devices() -> CuResult<usize> {
        Ok(driver()?.devices.len())
    }

    fn ready() -> CuResult {
        current().map(drop)
    }

    fn is_legacy(stream: CUstream, per_thread: bool) -> CuResult<bool> {
        Ok(lookup(stream, per_thread)?.legacy)
    }

    fn allocate(bytes: usize) -> CuResult<CUdeviceptr> {
        let context = current()?;
        capture::forbid_unsafe()?;
        memory::allocate_as(&context, bytes as u64, Memory::Managed)
    }

    fn find(address: CUdeviceptr) -> Option<(CUdeviceptr, u64)> {
        memory::find(address).filter(Allocation::managed).map(|found| (found.start, found.size))
    }

    fn with_hints<T>(
        start: CUdeviceptr,
        then: impl FnOnce(&mut Managed) -> CuResult<T>,
    ) -> CuResult<T> {
        hints::with(start, then)
    }
}
