//! Stream memory operations: a stream writes a value to memory, or waits for one.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_api::args::In;
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::{
    CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation,
    CUstreamMemoryBarrier_flags, CUstreamWaitValue_flags as Comparison, CUstreamWriteValue_flags,
};

use super::capture;
use super::entry::entries;
use crate::state::memory;
use crate::state::stream::{Stream, lookup};

const NO_BARRIER: u32 = CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
const FLUSH: u32 = Comparison::CU_STREAM_WAIT_VALUE_FLUSH.0;
/// The bits in the flags of `cuStreamWaitValue32` that select how to compare the values.
const COMPARISON: u32 = Comparison::CU_STREAM_WAIT_VALUE_NOR.0;
const SCOPE: u32 = CUstreamMemoryBarrier_flags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU.0;
/// The maximum number of operations in a batch.
const MOST: u32 = 256;

/// A checked operation.
#[derive(Clone, Copy)]
enum Checked {
    Write(u64, u64, bool),
    Wait(u64, u64, bool, Comparison),
    Barrier,
}

/// Checks the address of an operation on 8 bytes, or otherwise 4.
fn check_address(address: u64, wide: bool) -> CuResult {
    let size = if wide { 8 } else { 4 };
    if !address.is_multiple_of(size) || !memory::accessible(address, size) {
        return Err(CuError::INVALID_VALUE);
    }
    Ok(())
}

fn write(address: u64, value: u64, wide: bool, flags: c_uint) -> CuResult<Checked> {
    if flags & !NO_BARRIER != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    check_address(address, wide)?;
    Ok(Checked::Write(address, value, wide))
}

fn wait(address: u64, value: u64, wide: bool, flags: c_uint) -> CuResult<Checked> {
    if flags & FLUSH != 0 {
        // The device can't flush remote writes.
        return Err(CuError::NOT_SUPPORTED);
    }
    if flags & !COMPARISON != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    check_address(address, wide)?;
    Ok(Checked::Wait(address, value, wide, Comparison(flags & COMPARISON)))
}

/// Checks an operation of a batch.
fn checked(params: &CUstreamBatchMemOpParams) -> CuResult<Checked> {
    // SAFETY: all members consist of integers, so every bit pattern is valid.
    let (operation, barrier, op) =
        unsafe { (params.operation, params.memoryBarrier, params.writeValue) };
    // SAFETY: as above.
    let value = unsafe { op.__bindgen_anon_1.value64 };
    // Waits and writes have the same layout. The value of a 32-bit operation is in the lower half.
    let low = u64::from(value as u32);
    match operation {
        Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32 => wait(op.address, low, false, op.flags),
        Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64 => wait(op.address, value, true, op.flags),
        Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32 => write(op.address, low, false, op.flags),
        Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64 => write(op.address, value, true, op.flags),
        Operation::CU_STREAM_MEM_OP_BARRIER if barrier.flags & !SCOPE == 0 => Ok(Checked::Barrier),
        Operation::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => Err(CuError::NOT_SUPPORTED),
        _ => Err(CuError::INVALID_VALUE),
    }
}

/// Returns whether the value in memory ends a wait.
fn holds(address: u64, value: u64, wide: bool, comparison: Comparison) -> bool {
    // SAFETY: the address was checked to be accessible and aligned.
    let now = unsafe {
        if wide {
            AtomicU64::from_ptr(address as *mut u64).load(Ordering::SeqCst)
        } else {
            AtomicU32::from_ptr(address as *mut u32).load(Ordering::SeqCst).into()
        }
    };
    match comparison {
        Comparison::CU_STREAM_WAIT_VALUE_GEQ if wide => now.wrapping_sub(value) as i64 >= 0,
        Comparison::CU_STREAM_WAIT_VALUE_GEQ => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
        Comparison::CU_STREAM_WAIT_VALUE_EQ => now == value,
        Comparison::CU_STREAM_WAIT_VALUE_AND => now & value != 0,
        _ if wide => !(now | value) != 0,
        _ => !(now as u32 | value as u32) != 0,
    }
}

/// Queues a checked operation. Within a stream, memory accesses are in order anyway, so barriers do
/// nothing.
fn submit(stream: &Stream, operation: Checked) {
    match operation {
        Checked::Write(address, value, wide) => stream.now_or_submit(move |errors| {
            if errors.failed() || !memory::accessible(address, if wide { 8 } else { 4 }) {
                return;
            }
            // SAFETY: the address was checked to be accessible and aligned.
            unsafe {
                if wide {
                    AtomicU64::from_ptr(address as *mut u64).store(value, Ordering::SeqCst);
                } else {
                    AtomicU32::from_ptr(address as *mut u32).store(value as u32, Ordering::SeqCst);
                }
            }
        }),
        Checked::Wait(address, value, wide, comparison) => {
            stream.submit(move |errors| {
                let size = if wide { 8 } else { 4 };
                let mut rounds = 0u32;
                while !errors.failed()
                    && memory::accessible(address, size)
                    && !holds(address, value, wide, comparison)
                {
                    rounds += 1;
                    if rounds < 1000 {
                        std::thread::yield_now();
                    } else {
                        std::thread::sleep(std::time::Duration::from_micros(50));
                    }
                }
            });
        }
        Checked::Barrier => {}
    }
}

fn queue(stream: &Stream, operations: &[Checked]) -> CuResult {
    capture::unsupported_on(stream, "stream memory operations in a capture")?;
    operations.iter().for_each(|operation| submit(stream, *operation));
    Ok(())
}

fn batch(
    stream: &Stream,
    count: c_uint,
    operations: In<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> CuResult {
    if flags != 0 || count > MOST {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the program passes an array of `count` elements.
    let operations = unsafe { operations.array(count as usize) };
    let operations: Vec<Checked> = (0..count as usize)
        .map(|index| checked(&operations.get(index)?))
        .collect::<CuResult<_>>()?;
    queue(stream, &operations)
}

entries! {
    fn cuStreamWaitValue32, fn cuStreamWaitValue32_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[wait(address, value.into(), false, flags)?])
    }

    fn cuStreamWaitValue64, fn cuStreamWaitValue64_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[wait(address, value, true, flags)?])
    }

    fn cuStreamWriteValue32, fn cuStreamWriteValue32_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[write(address, value.into(), false, flags)?])
    }

    fn cuStreamWriteValue64, fn cuStreamWriteValue64_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[write(address, value, true, flags)?])
    }

    fn cuStreamBatchMemOp, fn cuStreamBatchMemOp_ptsz(
        stream: CUstream, count: c_uint, operations: In<CUstreamBatchMemOpParams>, flags: c_uint,
    ) |per_thread| {
        batch(&*lookup(stream, per_thread)?, count, operations, flags)
    }

    fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[wait(address, value.into(), false, flags)?])
    }

    fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[wait(address, value, true, flags)?])
    }

    fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[write(address, value.into(), false, flags)?])
    }

    fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        queue(&*lookup(stream, per_thread)?, &[write(address, value, true, flags)?])
    }

    fn cuStreamBatchMemOp_v2, fn cuStreamBatchMemOp_v2_ptsz(
        stream: CUstream, count: c_uint, operations: In<CUstreamBatchMemOpParams>, flags: c_uint,
    ) |per_thread| {
        batch(&*lookup(stream, per_thread)?, count, operations, flags)
    }
}
