//! Batches of stream memory operations in graphs.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUcontext, CUstreamBatchMemOpParams, CUstreamBatchMemOpType,
};
use std::sync::Arc;

/// The maximum number of operations in a batch.
pub const MAX_OPERATIONS: usize = 256;

/// The operations of a node, as the program passed them. They are kept only so that queries can
/// return them to the program.
#[derive(Clone)]
pub struct MemoryOperations {
    operations: Arc<[CUstreamBatchMemOpParams]>,
    context: usize,
}

impl MemoryOperations {
    /// Creates a list of operations from those that were captured.
    pub fn new(operations: Vec<CUstreamBatchMemOpParams>) -> Self {
        Self { operations: operations.into(), context: 0 }
    }

    /// Reads the parameters of a node.
    ///
    /// # Safety
    ///
    /// If not null, the array in the parameters must have as many elements as `count` in the
    /// parameters says.
    pub(super) unsafe fn read(params: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> CuResult<Self> {
        let params = params.get()?;
        let count = params.count as usize;
        if params.ctx.is_null() || params.flags != 0 || count > MAX_OPERATIONS {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the array has `count` elements, as the caller promises.
        let operations = unsafe { In::from_address(params.paramArray as usize).array(count) };
        let operations = (0..count).map(|index| operations.get(index)).collect::<CuResult<_>>()?;
        Ok(Self { operations, context: params.ctx as usize })
    }

    /// Returns the operations.
    pub fn list(&self) -> &[CUstreamBatchMemOpParams] {
        &self.operations
    }

    /// Returns whether these operations can replace `others` in an instantiated graph: both lists
    /// must have the same types in the same order.
    pub(super) fn can_replace(&self, others: &Self) -> bool {
        // SAFETY: all members begin with the operation's type, and any number is valid for it.
        let type_of = |params: &CUstreamBatchMemOpParams| unsafe { params.operation };
        self.list().iter().map(type_of).eq(others.list().iter().map(type_of))
    }

    /// Returns the node parameters that describe the operations. The array in them lives as long as
    /// the list.
    pub(super) fn params(&self) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
        CUDA_BATCH_MEM_OP_NODE_PARAMS {
            ctx: self.context as CUcontext,
            count: self.operations.len() as u32,
            paramArray: self.operations.as_ptr().cast_mut(),
            flags: 0,
        }
    }
}

/// Returns the parameters that describe an operation.
pub fn describe(
    operation: CUstreamBatchMemOpType,
    address: u64,
    value: u64,
    flags: u32,
) -> CUstreamBatchMemOpParams {
    let mut params = CUstreamBatchMemOpParams { pad: [0; 6] };
    if operation == CUstreamBatchMemOpType::CU_STREAM_MEM_OP_BARRIER {
        params.memoryBarrier.operation = operation;
        params.memoryBarrier.flags = flags;
    } else {
        // Waits and writes have the same layout, so the member for writes is used for both.
        params.writeValue.operation = operation;
        params.writeValue.address = address;
        params.writeValue.__bindgen_anon_1.value64 = value;
        params.writeValue.flags = flags;
    }
    params
}
