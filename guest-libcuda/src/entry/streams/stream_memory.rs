//! Stream memory operations: a stream writes a value to memory, or waits for one. cuda-api has the
//! entry points.

use crate::capture;
use crate::context;
use crate::driver::{Driver, driver};
use crate::entry::macros::EntryPoint;
use crate::entry::streams::stream::{is_per_thread, null_of, stream_id};
use crate::error::{CuError, CuResult};
use crate::graph::{Guest, Op};
use crate::handles::Handle;
use crate::log;
use crate::memory::Place;
use cuda_api::graph::memory_operations::{MAX_OPERATIONS, MemoryOperations};
use protocol::calls::VcudaStreamMemoryOperation;
use protocol::graph::MemoryOperation;
use protocol::limits::MEMORY_OPERATIONS_MAX;
use std::sync::Arc;

cuda_api::stream_memory_entries!(Guest, EntryPoint, is_per_thread);

// The host must accept every batch that this library accepts.
const _: () = assert!(MAX_OPERATIONS == MEMORY_OPERATIONS_MAX);

/// Checks the operations of a graph node.
pub fn of_node(operations: &[CUstreamBatchMemOpParams]) -> CuResult<Arc<[MemoryOperation]>> {
    let checked = |params| {
        let operation = Operation::checked::<Guest>(params)?;
        if operation.is_wait() {
            log::unsupported("a wait for a value in a graph");
            return Err(CuError::NOT_SUPPORTED);
        }
        let Operation { kind, address, value, flags } = operation;
        Ok(MemoryOperation { operation: kind.0, address, value, flags })
    };
    operations.iter().map(checked).collect()
}

/// Adds operations to the graph that a stream is being captured to.
fn push(
    driver: &Driver,
    stream: Handle,
    null: usize,
    all: &[CUstreamBatchMemOpParams],
) -> CuResult {
    match of_node(all) {
        Ok(batch) => {
            let operations = MemoryOperations::new(all.to_vec());
            capture::push(driver, stream, null, Op::Batch(batch, operations))
        }
        Err(error) => {
            // Invalidate the capture, because the captured graph would lack the operations.
            let _ = capture::forbid_on(driver, stream, null);
            Err(error)
        }
    }
}

impl Library for Guest {
    fn locate(address: u64, bytes: u64) -> CuResult<u64> {
        match driver()?.memory.place(address, bytes)? {
            Place::Visible { address, .. } => Ok(address),
            Place::Pageable => Err(CuError::INVALID_VALUE),
        }
    }

    fn check_stream(stream: CUstream, per_thread: bool) -> CuResult {
        stream_id(context::driver()?, stream as Handle, null_of(per_thread)).map(drop)
    }

    fn queue(stream: CUstream, per_thread: bool, all: &[CUstreamBatchMemOpParams]) -> CuResult {
        let (driver, stream, null) = (context::driver()?, stream as Handle, null_of(per_thread));
        let h_stream = stream_id(driver, stream, null)?;
        if !all.is_empty() && capture::captured(driver, stream, null)? {
            return push(driver, stream, null, all);
        }
        let checked: Vec<_> =
            all.iter().map(Operation::checked::<Guest>).collect::<CuResult<_>>()?;
        for Operation { kind, address, value, flags } in checked {
            let operation = kind.0;
            let call = VcudaStreamMemoryOperation { operation, address, value, flags, h_stream };
            driver.session.post(&call)?;
        }
        Ok(())
    }
}
