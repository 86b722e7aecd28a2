//! Stream memory operations: a stream writes a value to memory, or waits for one.

use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_api::args::{In, Out};
use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::memory_operations::{MAX_OPERATIONS, MemoryOperations, describe};
use cuda_api::sys::{
    CUdeviceptr, CUmemDecompressParams, CUstream, CUstreamBatchMemOpParams,
    CUstreamBatchMemOpType as Operation, CUstreamMemoryBarrier_flags,
    CUstreamWaitValue_flags as Comparison, CUstreamWriteValue_flags,
};

use super::capture;
use super::entry::entries;
use crate::state::errors::Errors;
use crate::state::graph::Op;
use crate::state::memory;
use crate::state::stream::{Stream, lookup};

const NO_BARRIER: u32 = CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
const FLUSH: u32 = Comparison::CU_STREAM_WAIT_VALUE_FLUSH.0;
/// The bits in the flags of `cuStreamWaitValue32` that select how to compare the values.
const COMPARISON: u32 = Comparison::CU_STREAM_WAIT_VALUE_NOR.0;
const SCOPE: u32 = CUstreamMemoryBarrier_flags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU.0;

/// A checked operation.
#[derive(Clone, Copy)]
pub(crate) enum Checked {
    Write(u64, u64, bool),
    Wait(u64, u64, bool, Comparison),
    Barrier,
}

/// Checks the address of an operation on 8 bytes, if it is `wide`, or on 4 bytes.
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
    // The parameters of waits and writes have the same layout. The value of a 32-bit operation is
    // in the lower half.
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

impl Checked {
    /// Does the operation. Within a stream, memory accesses are in order anyway, so barriers do
    /// nothing.
    pub(crate) fn run(self, errors: &Errors) {
        match self {
            Self::Write(address, value, wide) => {
                if errors.failed() || !memory::accessible(address, if wide { 8 } else { 4 }) {
                    return;
                }
                // SAFETY: the address was checked to be accessible and aligned.
                unsafe {
                    if wide {
                        AtomicU64::from_ptr(address as *mut u64).store(value, Ordering::SeqCst);
                    } else {
                        let word = AtomicU32::from_ptr(address as *mut u32);
                        word.store(value as u32, Ordering::SeqCst);
                    }
                }
            }
            Self::Wait(address, value, wide, comparison) => {
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
            }
            Self::Barrier => {}
        }
    }
}

/// Checks the operations of a graph node.
pub(crate) fn of_node(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Arc<[Checked]>> {
    let checked = |params| match checked(params)? {
        // Graphs can't wait for values, as in virtio-cuda's worker.
        Checked::Wait(..) => Err(CuError::NOT_SUPPORTED),
        operation => Ok(operation),
    };
    operations.iter().map(checked).collect()
}

fn submit(stream: &Stream, operation: Checked) {
    match operation {
        Checked::Write(..) => stream.now_or_submit(move |errors| operation.run(errors)),
        Checked::Wait(..) => {
            stream.submit(move |errors| operation.run(errors));
        }
        Checked::Barrier => {}
    }
}

/// Adds operations to the graph that a stream is being captured into.
fn push(stream: &Stream, operations: &[CUstreamBatchMemOpParams]) -> CuResult {
    match of_node(operations) {
        Ok(batch) => {
            capture::push(stream, Op::Batch(batch, MemoryOperations::new(operations.to_vec())))
        }
        Err(error) => {
            // The captured graph would lack the operations, so invalidate the capture.
            let _ = capture::GRAPHS.forbid_on(&stream.into());
            Err(error)
        }
    }
}

/// Queues operations in a stream, in order. If one of them is invalid, queues none.
fn queue(stream: &Stream, operations: &[CUstreamBatchMemOpParams]) -> CuResult {
    if !operations.is_empty() && capture::captured(stream)? {
        return push(stream, operations);
    }
    let all: Vec<Checked> = operations.iter().map(checked).collect::<CuResult<_>>()?;
    all.into_iter().for_each(|operation| submit(stream, operation));
    Ok(())
}

fn one(
    stream: &Stream,
    operation: Operation,
    (address, value): (CUdeviceptr, u64),
    flags: c_uint,
) -> CuResult {
    queue(stream, &[describe(operation, address, value, flags)])
}

fn batch(
    stream: &Stream,
    count: c_uint,
    operations: In<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> CuResult {
    if flags != 0 || count as usize > MAX_OPERATIONS {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the program passes an array of `count` elements.
    let operations = unsafe { operations.array(count as usize) };
    let operations: Vec<_> =
        (0..count as usize).map(|index| operations.get(index)).collect::<CuResult<_>>()?;
    queue(stream, &operations)
}

entries! {
    fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        one(&*lookup(stream, per_thread)?, Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32, (address, value.into()), flags)
    }

    fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        one(&*lookup(stream, per_thread)?, Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, (address, value), flags)
    }

    fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint,
    ) |per_thread| {
        one(&*lookup(stream, per_thread)?, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32, (address, value.into()), flags)
    }

    fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
        stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint,
    ) |per_thread| {
        one(&*lookup(stream, per_thread)?, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64, (address, value), flags)
    }

    fn cuStreamBatchMemOp_v2, fn cuStreamBatchMemOp_v2_ptsz(
        stream: CUstream, count: c_uint, operations: In<CUstreamBatchMemOpParams>, flags: c_uint,
    ) |per_thread| {
        batch(&*lookup(stream, per_thread)?, count, operations, flags)
    }

    /// No device supports a decompression algorithm
    /// (CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK).
    fn cuMemBatchDecompressAsync, fn cuMemBatchDecompressAsync_ptsz(
        _batch: *mut CUmemDecompressParams, _count: usize, _flags: c_uint, failed: Out<usize>,
        stream: CUstream,
    ) |per_thread| {
        lookup(stream, per_thread)?;
        failed.set_if_wanted(usize::MAX);
        Err(CuError::NOT_SUPPORTED)
    }
}
