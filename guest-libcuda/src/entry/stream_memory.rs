//! Entry points for stream memory operations: a stream writes a value to memory, or waits for one.

use super::stream::stream_id;
use crate::capture;
use crate::context;
use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::memory::Place;
use cuda_api::args::In;
use cuda_api::sys::{
    CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation, CUstreamMemoryBarrier_flags,
    CUstreamWaitValue_flags, CUstreamWriteValue_flags,
};
use protocol::calls::VcudaStreamMemoryOperation;

const COMPARISON: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_NOR.0;
const FLUSH: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_FLUSH.0;
const NO_BARRIER: u32 = CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
const SCOPE: u32 = CUstreamMemoryBarrier_flags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU.0;
/// The maximum number of operations in a batch.
const MOST: usize = 256;

/// An operation as the program passed it.
#[derive(Clone, Copy)]
struct Requested {
    operation: Operation,
    address: u64,
    value: u64,
    flags: u32,
}

impl Requested {
    /// Checks the operation, and returns the call that queues it. The stream must be set.
    fn call(self, driver: &Driver) -> CuResult<VcudaStreamMemoryOperation> {
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
        let mut call = VcudaStreamMemoryOperation {
            operation: operation.0,
            address: 0,
            value: 0,
            flags,
            h_stream: Default::default(),
        };
        if bytes > 0 {
            let place = driver.memory.place(address, bytes)?;
            let Place::Visible { address: visible, .. } = place else {
                return Err(CuError::INVALID_VALUE);
            };
            if !visible.is_multiple_of(bytes) {
                return Err(CuError::INVALID_VALUE);
            }
            (call.address, call.value) = (visible, value);
        }
        Ok(call)
    }
}

/// Queues operations in a stream, in order. If one of them is invalid, queues none.
fn queue(stream: Handle, null: usize, requested: &[Requested]) -> CuResult {
    let driver = context::driver()?;
    let h_stream = stream_id(driver, stream, null)?;
    let calls: Vec<_> =
        requested.iter().map(|requested| requested.call(driver)).collect::<CuResult<_>>()?;
    capture::unsupported_on(driver, stream, null, "stream memory operations in a capture")?;
    for call in calls {
        driver.session.post(&VcudaStreamMemoryOperation { h_stream, ..call })?;
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
    if flags != 0 || count > MOST {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the array has `count` elements.
    let operations = unsafe { operations.array(count) };
    let requested = (0..count).map(|index| {
        let params = operations.get(index)?;
        // SAFETY: all members consist of integers, so every bit pattern is valid. The program has
        // set the member for the operation.
        let requested = unsafe {
            let (operation, write) = (params.operation, params.writeValue);
            match operation {
                Operation::CU_STREAM_MEM_OP_BARRIER => {
                    let flags = params.memoryBarrier.flags;
                    Requested { operation, address: 0, value: 0, flags }
                }
                // Waits and writes have the same layout. The value of a 32-bit operation is in the
                // lower half.
                _ => Requested {
                    operation,
                    address: write.address,
                    value: write.__bindgen_anon_1.value64,
                    flags: write.flags,
                },
            }
        };
        Ok(requested)
    });
    let requested: Vec<_> = requested.collect::<CuResult<_>>()?;
    queue(stream, null, &requested)
}

entries! {
    fn cuStreamWaitValue32, fn cuStreamWaitValue32_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWaitValue64, fn cuStreamWaitValue64_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)
    }

    fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)
    }

    fn cuStreamWriteValue32, fn cuStreamWriteValue32_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) |null| {
        let operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32;
        one(stream, null, operation, address, value.into(), flags)
    }

    fn cuStreamWriteValue64, fn cuStreamWriteValue64_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags)
    }

    fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) |null| {
        one(stream, null, Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags)
    }

    fn cuStreamBatchMemOp, fn cuStreamBatchMemOp_ptsz(
        stream: Handle, count: u32, operations: In<CUstreamBatchMemOpParams>, flags: u32,
    ) |null| {
        batch(stream, null, count as usize, operations, flags)
    }

    fn cuStreamBatchMemOp_v2, fn cuStreamBatchMemOp_v2_ptsz(
        stream: Handle, count: u32, operations: In<CUstreamBatchMemOpParams>, flags: u32,
    ) |null| {
        batch(stream, null, count as usize, operations, flags)
    }
}
