//! Entry points for stream memory operations: a stream writes a value to memory, or waits for one.

use crate::capture;
use crate::context;
use crate::driver::Driver;
use crate::entry::streams::stream::stream_id;
use crate::error::{CuError, CuResult};
use crate::graph::Op;
use crate::handles::Handle;
use crate::log;
use crate::memory::Place;
use cuda_api::args::{In, Out};
use cuda_api::graph::memory_operations::{MAX_OPERATIONS, MemoryOperations, describe};
use cuda_api::sys::{
    CUmemDecompressParams, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation,
    CUstreamMemoryBarrier_flags, CUstreamWaitValue_flags, CUstreamWriteValue_flags,
};
use protocol::calls::VcudaStreamMemoryOperation;
use protocol::graph::MemoryOperation;
use protocol::limits::MEMORY_OPERATIONS_MAX;
use std::sync::Arc;

const COMPARISON: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_NOR.0;
const FLUSH: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_FLUSH.0;
const NO_BARRIER: u32 = CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
const SCOPE: u32 = CUstreamMemoryBarrier_flags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU.0;

// The host accepts every batch that this library accepts.
const _: () = assert!(MAX_OPERATIONS == MEMORY_OPERATIONS_MAX);

/// An operation as the program passed it.
#[derive(Clone, Copy)]
struct Requested {
    operation: Operation,
    address: u64,
    value: u64,
    flags: u32,
}

impl Requested {
    /// Returns the operation that a program describes in a batch.
    fn new(params: &CUstreamBatchMemOpParams) -> Self {
        // SAFETY: all members consist of integers, so every bit pattern is valid. The program has
        // set the member for the operation.
        unsafe {
            let (operation, write) = (params.operation, params.writeValue);
            match operation {
                Operation::CU_STREAM_MEM_OP_BARRIER => {
                    let flags = params.memoryBarrier.flags;
                    Self { operation, address: 0, value: 0, flags }
                }
                // The parameters of waits and writes have the same layout. The value of a 32-bit
                // operation is in the lower half.
                _ => Self {
                    operation,
                    address: write.address,
                    value: write.__bindgen_anon_1.value64,
                    flags: write.flags,
                },
            }
        }
    }

    /// Checks the operation, and returns it in the form for the worker.
    fn checked(self, driver: &Driver) -> CuResult<MemoryOperation> {
        let Self { operation, address, value, flags } = self;
        let (bytes, allowed) = match operation {
            Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32 => (4, COMPARISON),
            Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64 => (8, COMPARISON),
            Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32 => (4, NO_BARRIER),
            Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64 => (8, NO_BARRIER),
            Operation::CU_STREAM_MEM_OP_BARRIER => (0, SCOPE),
            // The device can't flush remote writes.
            Operation::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Err(CuError::NOT_SUPPORTED),
            _ => return Err(CuError::INVALID_VALUE),
        };
        if allowed == COMPARISON && flags & FLUSH != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        if flags & !allowed != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let operation = operation.0;
        if bytes == 0 {
            return Ok(MemoryOperation { operation, address: 0, value: 0, flags });
        }
        let Place::Visible { address, .. } = driver.memory.place(address, bytes)? else {
            return Err(CuError::INVALID_VALUE);
        };
        match address.is_multiple_of(bytes) {
            true => Ok(MemoryOperation { operation, address, value, flags }),
            false => Err(CuError::INVALID_VALUE),
        }
    }
}

/// Checks the operations of a graph node.
pub fn of_node(
    driver: &Driver,
    operations: &[CUstreamBatchMemOpParams],
) -> CuResult<Arc<[MemoryOperation]>> {
    let checked = |params| {
        let operation = Requested::new(params).checked(driver)?;
        if matches!(
            Operation(operation.operation),
            Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32 | Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64
        ) {
            log::unsupported("a wait for a value in a graph");
            return Err(CuError::NOT_SUPPORTED);
        }
        Ok(operation)
    };
    operations.iter().map(checked).collect()
}

/// Adds operations to the graph that a stream is being captured to.
fn push(driver: &Driver, stream: Handle, null: usize, requested: &[Requested]) -> CuResult {
    let described = requested.iter().map(|requested| {
        let Requested { operation, address, value, flags } = *requested;
        describe(operation, address, value, flags)
    });
    let operations = MemoryOperations::new(described.collect());
    match of_node(driver, operations.list()) {
        Ok(batch) => capture::push(driver, stream, null, Op::Batch(batch, operations)),
        Err(error) => {
            // The captured graph would lack the operations, so the capture becomes invalid.
            let _ = capture::forbid_on(driver, stream, null);
            Err(error)
        }
    }
}

/// Queues operations in a stream, in order. If one of them is invalid, queues none.
fn queue(stream: Handle, null: usize, requested: &[Requested]) -> CuResult {
    let driver = context::driver()?;
    let h_stream = stream_id(driver, stream, null)?;
    if !requested.is_empty() && capture::captured(driver, stream, null)? {
        return push(driver, stream, null, requested);
    }
    let checked: Vec<_> =
        requested.iter().map(|requested| requested.checked(driver)).collect::<CuResult<_>>()?;
    for MemoryOperation { operation, address, value, flags } in checked {
        let call = VcudaStreamMemoryOperation { operation, address, value, flags, h_stream };
        driver.session.post(&call)?;
    }
    Ok(())
}

fn one(
    stream: Handle,
    null: usize,
    operation: Operation,
    address: u64,
    value: u64,
    flags: u32,
) -> CuResult {
    queue(stream, null, &[Requested { operation, address, value, flags }])
}

fn batch(
    stream: Handle,
    null: usize,
    count: usize,
    operations: In<CUstreamBatchMemOpParams>,
    flags: u32,
) -> CuResult {
    if flags != 0 || count > MAX_OPERATIONS {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the array has `count` elements.
    let operations = unsafe { operations.array(count) };
    let requested = (0..count).map(|index| Ok(Requested::new(&operations.get(index)?)));
    let requested: Vec<_> = requested.collect::<CuResult<_>>()?;
    queue(stream, null, &requested)
}

entries! {
    fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)
    }

    fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags)
    }

    fn cuStreamBatchMemOp_v2, fn cuStreamBatchMemOp_v2_ptsz(
        stream: Handle, count: u32, operations: In<CUstreamBatchMemOpParams>, flags: u32,
    ) |null| {
        batch(stream, null, count as usize, operations, flags)
    }

    /// No device supports a decompression algorithm
    /// (CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK).
    fn cuMemBatchDecompressAsync, fn cuMemBatchDecompressAsync_ptsz(
        _batch: *mut CUmemDecompressParams, _count: usize, _flags: u32, failed: Out<usize>,
        stream: Handle,
    ) |null| {
        stream_id(context::driver()?, stream, null)?;
        failed.set_if_wanted(usize::MAX);
        Err(CuError::NOT_SUPPORTED)
    }
}
