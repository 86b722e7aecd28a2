//! The entry points of stream memory operations: a stream writes a value to memory, or waits for
//! one.

use crate::args::In;
use crate::error::{CuError, CuResult};
use crate::graph::memory_operations::{MAX_OPERATIONS, describe};
use crate::sys::{
    CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Kind,
    CUstreamMemoryBarrier_flags, CUstreamWaitValue_flags, CUstreamWriteValue_flags,
};

/// The bits in the flags of `cuStreamWaitValue32` that select how to compare the values.
const COMPARISON: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_NOR.0;
const FLUSH: u32 = CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_FLUSH.0;
const NO_BARRIER: u32 = CUstreamWriteValue_flags::CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER.0;
const SCOPE: u32 = CUstreamMemoryBarrier_flags::CU_STREAM_MEMORY_BARRIER_TYPE_GPU.0;

/// An operation. A barrier has neither an address nor a value.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub kind: Kind,
    pub address: u64,
    pub value: u64,
    pub flags: u32,
}

/// The stream memory operations that a library implements.
pub trait Library {
    /// Returns the address at which the GPU can access these bytes of the program's memory.
    fn locate(address: u64, bytes: u64) -> CuResult<u64>;

    /// Fails if a stream's handle is invalid.
    fn check_stream(stream: CUstream, per_thread: bool) -> CuResult;

    /// Queues operations in a stream, in order, or adds them to the graph that it is being captured
    /// to. If one of them is invalid, queues none.
    fn queue(stream: CUstream, per_thread: bool, all: &[CUstreamBatchMemOpParams]) -> CuResult;
}

impl Operation {
    /// Reads and checks an operation of a batch.
    pub fn checked<L: Library>(params: &CUstreamBatchMemOpParams) -> CuResult<Self> {
        // SAFETY: all members consist of integers, so every bit pattern is valid. The parameters of
        // waits and writes have the same layout.
        let (kind, barrier, write) =
            unsafe { (params.operation, params.memoryBarrier, params.writeValue) };
        // SAFETY: every bit pattern is valid for the members of this union, which are integers.
        let value = unsafe { write.__bindgen_anon_1.value64 };
        // The value of a 32-bit operation is in the lower 4 bytes.
        let low = u64::from(value as u32);
        let (bytes, allowed, value) = match kind {
            Kind::CU_STREAM_MEM_OP_WAIT_VALUE_32 => (4, COMPARISON, low),
            Kind::CU_STREAM_MEM_OP_WAIT_VALUE_64 => (8, COMPARISON, value),
            Kind::CU_STREAM_MEM_OP_WRITE_VALUE_32 => (4, NO_BARRIER, low),
            Kind::CU_STREAM_MEM_OP_WRITE_VALUE_64 => (8, NO_BARRIER, value),
            Kind::CU_STREAM_MEM_OP_BARRIER => {
                return match barrier.flags & !SCOPE {
                    0 => Ok(Self { kind, address: 0, value: 0, flags: barrier.flags }),
                    _ => Err(CuError::INVALID_VALUE),
                };
            }
            // The device can't flush remote writes.
            Kind::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Err(CuError::NOT_SUPPORTED),
            _ => return Err(CuError::INVALID_VALUE),
        };
        if allowed == COMPARISON && write.flags & FLUSH != 0 {
            return Err(CuError::NOT_SUPPORTED);
        }
        if write.flags & !allowed != 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let address = L::locate(write.address, bytes)?;
        match address.is_multiple_of(bytes) {
            true => Ok(Self { kind, address, value, flags: write.flags }),
            false => Err(CuError::INVALID_VALUE),
        }
    }

    /// Returns whether the operation waits for a value.
    pub fn is_wait(&self) -> bool {
        [Kind::CU_STREAM_MEM_OP_WAIT_VALUE_32, Kind::CU_STREAM_MEM_OP_WAIT_VALUE_64]
            .contains(&self.kind)
    }
}

/// Queues one operation.
pub fn one<L: Library>(
    (stream, per_thread): (CUstream, bool),
    kind: Kind,
    address: u64,
    value: u64,
    flags: u32,
) -> CuResult {
    L::queue(stream, per_thread, &[describe(kind, address, value, flags)])
}

/// Implements `cuStreamBatchMemOp`.
///
/// # Safety
///
/// If not null, `operations` must be an array of `count` elements.
pub unsafe fn batch<L: Library>(
    (stream, per_thread): (CUstream, bool),
    count: u32,
    operations: In<CUstreamBatchMemOpParams>,
    flags: u32,
) -> CuResult {
    let count = count as usize;
    if flags != 0 || count > MAX_OPERATIONS {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the array has `count` elements, as the caller promises.
    let operations = unsafe { operations.array(count) };
    let all: Vec<_> = (0..count).map(|index| operations.get(index)).collect::<CuResult<_>>()?;
    L::queue(stream, per_thread, &all)
}

/// Exports the entry points of stream memory operations for a [`Library`]. The second argument is
/// the library's [`EntryPoint`](crate::entries::EntryPoint), and the third a function that says
/// whether a null stream means the thread's default stream.
#[macro_export]
macro_rules! stream_memory_entries {
    ($library:ty, $entry_point:ty, $is_per_thread:path) => {
        use $crate::args::{In, Out};
        use $crate::graph::stream_memory::{self, Library, Operation};
        use $crate::sys::{
            CUmemDecompressParams, CUstream, CUstreamBatchMemOpParams,
            CUstreamBatchMemOpType as Kind,
        };

        $crate::entries! { $entry_point;
            fn cuStreamWaitValue32_v2, fn cuStreamWaitValue32_v2_ptsz(
                stream: CUstream, address: u64, value: u32, flags: u32,
            ) |null| {
                let (kind, stream) =
                    (Kind::CU_STREAM_MEM_OP_WAIT_VALUE_32, (stream, $is_per_thread(null)));
                stream_memory::one::<$library>(stream, kind, address, value.into(), flags)
            }
            fn cuStreamWaitValue64_v2, fn cuStreamWaitValue64_v2_ptsz(
                stream: CUstream, address: u64, value: u64, flags: u32,
            ) |null| {
                let (kind, stream) =
                    (Kind::CU_STREAM_MEM_OP_WAIT_VALUE_64, (stream, $is_per_thread(null)));
                stream_memory::one::<$library>(stream, kind, address, value, flags)
            }
            fn cuStreamWriteValue32_v2, fn cuStreamWriteValue32_v2_ptsz(
                stream: CUstream, address: u64, value: u32, flags: u32,
            ) |null| {
                let (kind, stream) =
                    (Kind::CU_STREAM_MEM_OP_WRITE_VALUE_32, (stream, $is_per_thread(null)));
                stream_memory::one::<$library>(stream, kind, address, value.into(), flags)
            }
            fn cuStreamWriteValue64_v2, fn cuStreamWriteValue64_v2_ptsz(
                stream: CUstream, address: u64, value: u64, flags: u32,
            ) |null| {
                let (kind, stream) =
                    (Kind::CU_STREAM_MEM_OP_WRITE_VALUE_64, (stream, $is_per_thread(null)));
                stream_memory::one::<$library>(stream, kind, address, value, flags)
            }
            fn cuStreamBatchMemOp_v2, fn cuStreamBatchMemOp_v2_ptsz(
                stream: CUstream, count: u32, operations: In<CUstreamBatchMemOpParams>, flags: u32,
            ) |null| {
                let stream = (stream, $is_per_thread(null));
                // SAFETY: the program passes an array of `count` elements.
                unsafe { stream_memory::batch::<$library>(stream, count, operations, flags) }
            }
            /// No device supports a decompression algorithm
            /// (CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK).
            fn cuMemBatchDecompressAsync, fn cuMemBatchDecompressAsync_ptsz(
                _batch: *mut CUmemDecompressParams, _count: usize, _flags: u32, failed: Out<usize>,
                stream: CUstream,
            ) |null| {
                <$library>::check_stream(stream, $is_per_thread(null))?;
                failed.set_if_wanted(usize::MAX);
                Err($crate::error::CuError::NOT_SUPPORTED)
            }
        }
    };
}
