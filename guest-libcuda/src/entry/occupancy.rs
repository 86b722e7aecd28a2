//! Entry points for occupancy. The worker is queried only once for each combination of arguments.

use super::function::attribute;
use crate::context::{self, current};
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::objects::Function;
use cuda_api::args::Out;
use cuda_api::sys::{CUdevice_attribute, CUfunction_attribute, CUoccupancy_flags};
use protocol::calls::{
    CuOccupancyAvailableDynamicSMemPerBlock, CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
};
use std::sync::Arc;

const MAX_THREADS_PER_BLOCK: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.0;
const WARP_SIZE: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE.0;
const MULTIPROCESSOR_COUNT: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.0;
const FLAGS: u32 = CUoccupancy_flags::CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE.0;

/// A program's function that returns how many bytes of dynamic shared memory a block of a given
/// size needs.
type SharedOfBlock = Option<unsafe extern "C" fn(i32) -> usize>;

pub fn blocks(
    driver: &Driver,
    function: &Function,
    block_size: i32,
    shared: usize,
    flags: u32,
) -> CuResult<i32> {
    let key = (block_size, shared, flags);
    if let Some(&known) = function.occupancy.lock().get(&key) {
        return Ok(known);
    }
    let call = CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
        func: function.id,
        block_size,
        dynamic_s_mem_size: shared,
        flags,
    };
    let blocks = driver.session.call(&call)?.num_blocks;
    function.occupancy.lock().insert(key, blocks);
    Ok(blocks)
}

/// Finds the block size that gives the most resident threads. If several do, chooses the largest.
fn potential_block_size(
    (min_grid, block): (Out<i32>, Out<i32>),
    function: Handle,
    shared_of: impl Fn(i32) -> usize,
    limit: i32,
    flags: u32,
) -> CuResult {
    min_grid.check()?;
    block.check()?;
    let driver = context::driver()?;
    let function: Arc<Function> = driver.handles.get(function)?;
    let device = driver.device(current()?.device)?;
    let warp = device.attribute(WARP_SIZE)?.max(1);
    let largest = attribute(driver, &function, MAX_THREADS_PER_BLOCK)?;
    let largest = if limit > 0 { largest.min(limit) } else { largest };
    let (mut best, mut best_threads, mut best_blocks) = (0, 0, 0);
    let mut size = (largest + warp - 1) / warp * warp;
    while size > 0 {
        let tried = size.min(largest);
        let resident = blocks(driver, &function, tried, shared_of(tried), flags)?;
        if resident * tried > best_threads {
            (best, best_threads, best_blocks) = (tried, resident * tried, resident);
        }
        size -= warp;
    }
    min_grid.set(best_blocks * device.attribute(MULTIPROCESSOR_COUNT)?)?;
    block.set(best)
}

fn with_callback(
    outs: (Out<i32>, Out<i32>),
    function: Handle,
    shared_of: SharedOfBlock,
    shared: usize,
    limit: i32,
    flags: u32,
) -> CuResult {
    let shared_of = |size| match shared_of {
        // SAFETY: the program passed the function to be called with block sizes.
        Some(shared_of) => unsafe { shared_of(size) },
        None => shared,
    };
    potential_block_size(outs, function, shared_of, limit, flags)
}

fn max_active_blocks(
    out: Out<i32>,
    function: Handle,
    block_size: i32,
    shared: usize,
    flags: u32,
) -> CuResult {
    out.check()?;
    if block_size <= 0 || flags & !FLAGS != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    let driver = context::driver()?;
    let function: Arc<Function> = driver.handles.get(function)?;
    out.set(blocks(driver, &function, block_size, shared, flags)?)
}

entries! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        out: Out<i32>, function: Handle, block_size: i32, shared: usize,
    ) {
        max_active_blocks(out, function, block_size, shared, 0)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<i32>, function: Handle, block_size: i32, shared: usize, flags: u32,
    ) {
        max_active_blocks(out, function, block_size, shared, flags)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        min_grid: Out<i32>, block: Out<i32>, function: Handle, shared_of: SharedOfBlock,
        shared: usize, limit: i32,
    ) {
        with_callback((min_grid, block), function, shared_of, shared, limit, 0)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        min_grid: Out<i32>, block: Out<i32>, function: Handle, shared_of: SharedOfBlock,
        shared: usize, limit: i32, flags: u32,
    ) {
        with_callback((min_grid, block), function, shared_of, shared, limit, flags)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        out: Out<usize>, function: Handle, num_blocks: i32, block_size: i32,
    ) {
        out.check()?;
        let driver = context::driver()?;
        let function: Arc<Function> = driver.handles.get(function)?;
        let call = CuOccupancyAvailableDynamicSMemPerBlock {
            func: function.id,
            num_blocks,
            block_size,
        };
        out.set(driver.session.call(&call)?.dynamic_smem_size)
    }
}
