//! Stream memory operations: a stream writes a value to memory, or waits for one. cuda-api has the
//! entry points.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_api::error::{CuError, CuResult};
use cuda_api::graph::memory_operations::MemoryOperations;
use cuda_api::sys::CUstreamWaitValue_flags as Comparison;

use super::capture;
use super::entry::EntryPoint;
use crate::state::errors::Errors;
use crate::state::graph::{Op, Software};
use crate::state::memory;
use crate::state::stream::{Stream, lookup};

cuda_api::stream_memory_entries!(Software, EntryPoint, std::convert::identity);

/// Returns whether the value in memory satisfies the comparison, which ends a wait.
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

/// Performs a checked operation. A barrier needs no action, because the memory accesses of a stream
/// are always in order.
pub(crate) fn run(operation: Operation, errors: &Errors) {
    let Operation { kind, address, value, flags } = operation;
    match kind {
        Kind::CU_STREAM_MEM_OP_WAIT_VALUE_32 | Kind::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
            let wide = kind == Kind::CU_STREAM_MEM_OP_WAIT_VALUE_64;
            let size = if wide { 8 } else { 4 };
            let mut rounds = 0u32;
            while !errors.failed()
                && memory::accessible(address, size)
                && !holds(address, value, wide, Comparison(flags))
            {
                rounds += 1;
                if rounds < 1000 {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            }
        }
        _ if errors.failed() => {}
        Kind::CU_STREAM_MEM_OP_WRITE_VALUE_32 if memory::writable(address, 4) => {
            // SAFETY: the address was checked to be aligned, and kernels may write there.
            let word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
            word.store(value as u32, Ordering::SeqCst);
        }
        Kind::CU_STREAM_MEM_OP_WRITE_VALUE_64 if memory::writable(address, 8) => {
            // SAFETY: the address was checked to be aligned, and kernels may write there.
            let word = unsafe { AtomicU64::from_ptr(address as *mut u64) };
            word.store(value, Ordering::SeqCst);
        }
        // The memory is accessible but not writable, because the program registered it with
        // READ_ONLY.
        Kind::CU_STREAM_MEM_OP_WRITE_VALUE_32 | Kind::CU_STREAM_MEM_OP_WRITE_VALUE_64
            if memory::accessible(address, 4) =>
        {
            errors.fail(CuError::ILLEGAL_ADDRESS);
        }
        _ => {}
    }
}

/// Checks the operations of a graph node.
pub(crate) fn of_node(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Arc<[Operation]>> {
    let checked = |params| {
        let operation = Operation::checked::<Software>(params)?;
        // As in virtio-cuda's worker, a graph can't contain an operation that waits for a value.
        if operation.is_wait() { Err(CuError::NOT_SUPPORTED) } else { Ok(operation) }
    };
    operations.iter().map(checked).collect()
}

fn submit(stream: &Stream, operation: Operation) {
    if operation.is_wait() {
        stream.submit(move |errors| run(operation, errors));
    } else if operation.kind != Kind::CU_STREAM_MEM_OP_BARRIER {
        stream.now_or_submit(move |errors| run(operation, errors));
    }
}

/// Adds operations to the graph that a stream is being captured into.
fn push(stream: &Stream, operations: &[CUstreamBatchMemOpParams]) -> CuResult {
    match of_node(operations) {
        Ok(batch) => {
            capture::push(stream, Op::Batch(batch, MemoryOperations::new(operations.to_vec())))
        }
        Err(error) => {
            // Graphs can't contain these operations. The captured graph would therefore lack them,
            // so invalidate the capture.
            let _ = capture::GRAPHS.forbid_on(&stream.into());
            Err(error)
        }
    }
}

impl Library for Software {
    fn locate(address: u64, bytes: u64) -> CuResult<u64> {
        if memory::accessible(address, bytes) { Ok(address) } else { Err(CuError::INVALID_VALUE) }
    }

    fn check_stream(stream: CUstream, per_thread: bool) -> CuResult {
        lookup(stream, per_thread).map(drop)
    }

    fn queue(stream: CUstream, per_thread: bool, all: &[CUstreamBatchMemOpParams]) -> CuResult {
        let stream = lookup(stream, per_thread)?;
        if !all.is_empty() && capture::captured(&stream)? {
            return push(&stream, all);
        }
        let checked: Vec<_> =
            all.iter().map(Operation::checked::<Software>).collect::<CuResult<_>>()?;
        checked.into_iter().for_each(|operation| submit(&stream, operation));
        Ok(())
    }
}
