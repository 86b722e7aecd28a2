//! Stream memory operations: writes, and waits for values.

use super::cases;
use crate::cuda::parameter;
use crate::cuda::{cu, get, refused, same};
use crate::kernels;
use cuda_api::sys::{CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation};
use std::sync::atomic::{AtomicU32, Ordering};

const GEQ: u32 = 0;
const EQ: u32 = 1;
const AND: u32 = 2;
const NOR: u32 = 3;

/// Returns an operation for a batch. Waits and writes have the same structure, except for their
/// type.
fn operation(
    operation: Operation,
    address: u64,
    value: u64,
    flags: u32,
) -> CUstreamBatchMemOpParams {
    CUstreamBatchMemOpParams { pad: [operation.0.into(), address, value, flags.into(), 0, 0] }
}

cases! {
    fn a_stream_waits_for_a_value(cuda, primary) {
        let (_, add) = cuda.kernel(kernels::FILL, c"add")?;
        let (flag, data) = (cuda.alloc(16)?, cuda.alloc(4)?);
        cu!(cuda, cuMemsetD32_v2(flag, 0, 4))?;
        cu!(cuda, cuMemsetD32_v2(data, 1, 1))?;
        let waiting = get!(cuda, cuStreamCreate(@, 1))?;
        let writing = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        for (wait, write, flags) in [(5u32, 6u32, GEQ), (7, 7, EQ), (8, 12, AND), (!8, 16, NOR)] {
            cu!(cuda, cuStreamWaitValue32_v2(waiting, flag, wait, flags))?;
            let (one, count) = (1u32, 1u32);
            cuda.launch(add, [1, 1], waiting, &mut [parameter(&data), parameter(&one), parameter(&count)])?;
            refused!(cu!(cuda, cuStreamQuery(waiting)), NOT_READY);
            cu!(cuda, cuStreamQuery(writing))?;
            cu!(cuda, cuStreamWriteValue32_v2(writing, flag, write, 0))?;
            cu!(cuda, cuStreamSynchronize(waiting))?;
        }
        cu!(cuda, cuStreamWaitValue64_v2(waiting, flag + 8, 1 << 40, EQ))?;
        cu!(cuda, cuStreamWriteValue64_v2(waiting, flag, 3, 0))?;
        refused!(cu!(cuda, cuStreamQuery(waiting)), NOT_READY);
        cu!(cuda, cuStreamWriteValue64_v2(writing, flag + 8, 1 << 40, 0))?;
        cu!(cuda, cuStreamSynchronize(waiting))?;
        same!(cuda.download::<u32>(data, 1)?, [5]);
        same!(cuda.download::<u64>(flag, 2)?, [3, 1 << 40]);
        refused!(cu!(cuda, cuStreamWriteValue32_v2(writing, flag + 2, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamWaitValue64_v2(writing, flag + 4, 0, EQ)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamWriteValue64_v2(writing, flag + 4, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamWaitValue32_v2(writing, 16, 0, EQ)), INVALID_VALUE);
    }

    fn the_host_can_write_the_value(cuda, primary) {
        let host = get!(cuda, cuMemHostAlloc(@, 4096, 2))?;
        let device = get!(cuda, cuMemHostGetDevicePointer_v2(@, host, 0))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        // SAFETY: the memory has 4096 bytes, and these words are accessed only atomically.
        let word = |index: usize| unsafe { AtomicU32::from_ptr(host.cast::<u32>().add(index)) };
        word(0).store(0, Ordering::SeqCst);
        word(1).store(0, Ordering::SeqCst);
        cu!(cuda, cuStreamWaitValue32_v2(stream, device, 1, EQ))?;
        cu!(cuda, cuStreamWriteValue32_v2(stream, device + 4, 2, 0))?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        same!(word(1).load(Ordering::SeqCst), 0);
        refused!(cu!(cuda, cuStreamQuery(stream)), NOT_READY);
        word(0).store(1, Ordering::SeqCst);
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(word(1).load(Ordering::SeqCst), 2);
        cu!(cuda, cuStreamDestroy_v2(stream))?;
        cu!(cuda, cuMemFreeHost(host))?;
    }

    fn batches_run_in_order(cuda, primary) {
        let flag = cuda.alloc(16)?;
        cu!(cuda, cuMemsetD32_v2(flag, 0, 4))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        let mut batch = [
            operation(Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32, flag, 1, 0),
            operation(Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32, flag, 1, EQ),
            operation(Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64, flag + 8, 1 << 33, 0),
            operation(Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64, flag + 8, 1, GEQ),
            operation(Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32, flag + 4, 4, 0),
        ];
        cu!(cuda, cuStreamBatchMemOp_v2(stream, 5, batch.as_mut_ptr(), 0))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(flag, 4)?, [1, 4, 0, 2]);
        batch[1] = operation(Operation(99), flag, 0, 0);
        refused!(cu!(cuda, cuStreamBatchMemOp_v2(stream, 5, batch.as_mut_ptr(), 0)), INVALID_VALUE);
    }
}
