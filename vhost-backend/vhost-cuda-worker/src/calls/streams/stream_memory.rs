//! Stream memory operations: a stream writes a value to memory, or waits for one.

use cuda_api::graph::memory_operations::describe;
use cuda_api::sys::{CUstream, CUstreamBatchMemOpType as Operation};
use protocol::calls as api;
use protocol::ids::StreamId;

use crate::calls::ReplyTo;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::deferred::Deferred;
use crate::calls::commands::events::PoolMarks;
use crate::calls::commands::result::number;
use crate::calls::gate::pass::Pass;
use crate::calls::streams::queue::queue;
use crate::calls::streams::value_waits::ValueWait;
use crate::driver::{CuError, CuResult};

/// The bits that may be set in the flags of a wait, which say how to compare. Flushing remote
/// writes isn't supported.
const WAIT_FLAGS: u32 = 3;
/// The bit that may be set in the flags of a write: NO_MEMORY_BARRIER.
const WRITE_FLAGS: u32 = 1;
/// The bit that may be set in the flags of a barrier, which says its scope.
const BARRIER_FLAGS: u32 = 1;

pub(in crate::calls) fn vcuda_stream_memory_operation(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaStreamMemoryOperation,
    pass: &Pass,
    reply: ReplyTo,
) {
    reply.finish(number(perform(deferred, cx, call, pass)), &[]);
}

/// Checks the arguments of an operation. Returns whether the operation waits for a value.
pub(in crate::calls) fn check(
    cx: &Cx<'_>,
    operation: Operation,
    address: u64,
    given_flags: u32,
) -> CuResult<bool> {
    let (bytes, flags, waits) = match operation {
        Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32 => (4, WAIT_FLAGS, true),
        Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64 => (8, WAIT_FLAGS, true),
        Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32 => (4, WRITE_FLAGS, false),
        Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64 => (8, WRITE_FLAGS, false),
        Operation::CU_STREAM_MEM_OP_BARRIER => (0, BARRIER_FLAGS, false),
        _ => return Err(CuError::INVALID_VALUE),
    };
    if given_flags & !flags != 0 || (bytes > 0 && !address.is_multiple_of(bytes)) {
        return Err(CuError::INVALID_VALUE);
    }
    cx.check(address, bytes)?;
    Ok(waits)
}

fn perform(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    call: api::VcudaStreamMemoryOperation,
    pass: &Pass,
) -> CuResult {
    cx.enter()?;
    let operation = Operation(call.operation);
    let waits = check(cx, operation, call.address, call.flags)?;
    if waits {
        return queue_wait(deferred, cx, call.h_stream, |stream| {
            submit(cx, pass, operation, &call, stream)
        });
    }
    let (stream, _) = queue(cx, call.h_stream, 0)?;
    submit(cx, pass, operation, &call, stream)
}

/// Queues a command that makes a stream wait for a value or an event that may never come. The
/// stream doesn't use the GPU while it waits.
pub(in crate::calls) fn queue_wait(
    deferred: &mut Deferred,
    cx: &Cx<'_>,
    h_stream: StreamId,
    submit: impl FnOnce(CUstream) -> CuResult,
) -> CuResult {
    let (stream, ctx) = queue(cx, h_stream, 0)?;
    let events = deferred.events();
    let waits = &cx.shared.value_waits;
    if !waits.has_room(&mut PoolMarks { cx, pool: events }) {
        return Err(CuError::OUT_OF_MEMORY);
    }
    let before = events.record(cx, stream, ctx)?;
    if let Err(error) = submit(stream) {
        events.give_back(ctx, before);
        return Err(error);
    }
    // The wait is queued, so the call succeeds even if recording the second event fails. In that
    // case, the stream counts as using the GPU while it waits.
    match events.record(cx, stream, ctx) {
        Ok(behind) => waits.add((stream as u64, ctx), ValueWait { before, behind }),
        Err(_) => events.give_back(ctx, before),
    }
    Ok(())
}

/// Passes an operation to the driver. The caller has checked its arguments.
fn submit(
    cx: &Cx<'_>,
    pass: &Pass,
    operation: Operation,
    call: &api::VcudaStreamMemoryOperation,
    stream: CUstream,
) -> CuResult {
    let api::VcudaStreamMemoryOperation { address, value, flags, .. } = *call;
    let driver = cx.driver();
    // SAFETY: the stream is live, because only this thread removes streams from the tables. The
    // address belongs to the session, is aligned, and is accessed only by the GPU. cuMemFree waits
    // for the context's work before it unmaps the memory. If another stream frees the memory
    // earlier, the GPU reports a fault in the guest's own context. The array has one element.
    unsafe {
        match operation {
            Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
                driver.cuStreamWaitValue32(pass, stream, address, value as u32, flags)
            }
            Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                driver.cuStreamWaitValue64(pass, stream, address, value, flags)
            }
            Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
                driver.cuStreamWriteValue32(pass, stream, address, value as u32, flags)
            }
            Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                driver.cuStreamWriteValue64(pass, stream, address, value, flags)
            }
            _ => {
                let mut barrier = describe(operation, 0, 0, flags);
                driver.cuStreamBatchMemOp(pass, stream, 1, &mut barrier, 0)
            }
        }
    }
}
