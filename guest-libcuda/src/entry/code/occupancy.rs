//! Entry points for occupancy.

use crate::context::{self, current};
use crate::driver::Driver;
use crate::entry::code::function::attribute;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::objects::Function;
use crate::thread;
use cuda_api::args::Out;
use cuda_api::sys::{CUdevice_attribute, CUfunction_attribute, CUoccupancy_flags};
use protocol::calls::{
    CuOccupancyAvailableDynamicSMemPerBlock, CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
};
use protocol::codec::{Call, Writer};
use std::sync::Arc;

const MAX_THREADS_PER_BLOCK: u32 = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.0;
const WARP_SIZE: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE.0;
const MULTIPROCESSOR_COUNT: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT.0;
const FLAGS: u32 = CUoccupancy_flags::CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE.0;

/// A program's function that returns how many bytes of dynamic shared memory a block of a given
/// size needs.
type SharedOfBlock = Option<unsafe extern "C" fn(i32) -> usize>;

/// Returns the result of an occupancy query. The result is remembered until the program changes the
/// function's attributes.
pub fn ask<'a, C: Call<'a>>(
    driver: &Driver,
    function: &Function,
    call: &C,
    result: impl FnOnce(C::Answer) -> u64,
) -> CuResult<u64> {
    let mut writer = Writer::new();
    writer.word(C::OPCODE.into());
    call.encode(&mut writer);
    let question = (thread::origin().1, writer.as_bytes().to_vec());
    if let Some(known) = function.occupancy.get(&question) {
        return Ok(known);
    }
    let version = function.occupancy.version();
    let result = result(driver.session.call(call)?);
    function.occupancy.keep(version, [(question, result)]);
    Ok(result)
}

pub fn blocks(
    driver: &Driver,
    function: &Function,
    block_size: i32,
    shared: usize,
    flags: u32,
) -> CuResult<i32> {
    let call = CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
        func: function.id,
        block_size,
        dynamic_s_mem_size: shared,
        flags,
    };
    Ok(ask(driver, function, &call, |answer| answer.num_blocks as u64)? as i32)
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
        // SAFETY: the program passed this function so that it's called with block sizes.
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
        let bytes = ask(driver, &function, &call, |answer| answer.dynamic_smem_size as u64)?;
        out.set(bytes as usize)
    }
}
