//! Batches of copies. The copies are queued one after another, which is one of the orders that CUDA
//! permits.

use super::{Library, Sides, When};
use crate::args::{In, Out};
use crate::error::{CuError, CuResult};
use crate::sys::{
    CU_STREAM_LEGACY, CUDA_MEMCPY3D, CUDA_MEMCPY3D_BATCH_OP, CUdeviceptr, CUmemcpy3DOperand,
    CUmemcpy3DOperandType as Operand, CUmemcpyAttributes, CUmemcpyFlags,
    CUmemcpySrcAccessOrder as Order, CUmemorytype as Memory, CUstream,
};

/// The value that `failIdx` gets if the error isn't that of a particular copy.
const NO_COPY: usize = usize::MAX;

/// The arguments of `cuMemcpyBatchAsync`.
#[derive(Clone, Copy)]
pub struct Batch {
    /// The destination of each copy.
    pub dsts: In<CUdeviceptr>,
    /// The source of each copy.
    pub srcs: In<CUdeviceptr>,
    /// The size of each copy in bytes.
    pub sizes: In<usize>,
    /// The number of copies.
    pub count: usize,
    /// Attributes, each of which applies to one or more copies.
    pub attributes: In<CUmemcpyAttributes>,
    /// The first copy that each attribute applies to.
    pub first: In<usize>,
    /// The number of attributes.
    pub attribute_count: usize,
}

fn check_attributes(order: Order, flags: u32) -> CuResult {
    let known = [
        Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
        Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
        Order::CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
    ];
    let overlap = CUmemcpyFlags::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0;
    if known.contains(&order) && flags & !overlap == 0 {
        Ok(())
    } else {
        Err(CuError::INVALID_VALUE)
    }
}

/// Fails if a stream can't run a batch. The legacy default stream can't, and a null handle is
/// refused even if it means the thread's default stream.
fn check_stream(stream: CUstream) -> CuResult {
    let refused = stream == CU_STREAM_LEGACY || stream.is_null();
    if refused { Err(CuError::INVALID_VALUE) } else { Ok(()) }
}

impl Batch {
    /// Describes a batch by the arguments of `cuMemcpyBatchAsync`: the destinations, sources, and
    /// sizes; their number; the attributes and the first copy of each; and the number of
    /// attributes.
    ///
    /// # Safety
    ///
    /// Each pointer must be null or valid for as long as the batch is used.
    pub unsafe fn new(
        (dsts, srcs, sizes): (*mut CUdeviceptr, *mut CUdeviceptr, *mut usize),
        count: usize,
        (attributes, first): (*mut CUmemcpyAttributes, *mut usize),
        attribute_count: usize,
    ) -> Self {
        // SAFETY: the caller promises that the pointers are null or valid.
        unsafe {
            Self {
                dsts: In::from_address(dsts as usize),
                srcs: In::from_address(srcs as usize),
                sizes: In::from_address(sizes as usize),
                count,
                attributes: In::from_address(attributes as usize),
                first: In::from_address(first as usize),
                attribute_count,
            }
        }
    }

    /// Checks the attributes. Returns whether a source must be read before the call returns.
    ///
    /// # Safety
    ///
    /// The arrays must have as many elements as the counts say.
    unsafe fn check(&self) -> CuResult<bool> {
        if self.count == 0 || self.attribute_count == 0 || self.attribute_count > self.count {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the caller promises that the arrays have this many elements.
        let (attributes, first) = unsafe {
            (self.attributes.array(self.attribute_count), self.first.array(self.attribute_count))
        };
        let mut during_call = false;
        let mut next = 0;
        for index in 0..self.attribute_count {
            let attribute = attributes.get(index)?;
            check_attributes(attribute.srcAccessOrder, attribute.flags)?;
            let first = first.get(index)?;
            let in_order = if index == 0 { first == 0 } else { first >= next };
            if !in_order || first >= self.count {
                return Err(CuError::INVALID_VALUE);
            }
            next = first + 1;
            during_call |=
                attribute.srcAccessOrder == Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
        }
        Ok(during_call)
    }
}

/// Runs `copy` for each copy of a batch, until one fails, and stores the index of the copy that
/// failed.
fn each(count: usize, failed: Out<usize>, mut copy: impl FnMut(usize) -> CuResult) -> CuResult {
    for index in 0..count {
        copy(index).inspect_err(|_| failed.set_if_wanted(index))?;
    }
    Ok(())
}

/// Queues a batch of copies of contiguous bytes.
///
/// # Safety
///
/// The arrays must have as many elements as the counts say, and addresses in the program's own
/// memory must be valid for as long as CUDA requires, which depends on `srcAccessOrder`.
pub unsafe fn linear<L: Library>(
    batch: Batch,
    failed: Out<usize>,
    stream: CUstream,
    per_thread: bool,
) -> CuResult {
    failed.set_if_wanted(NO_COPY);
    check_stream(stream)?;
    // SAFETY: the caller promises that the arrays have as many elements as the counts say.
    let during_call = unsafe { batch.check() }?;
    // SAFETY: the caller promises that these arrays have `count` elements.
    let (dsts, srcs, sizes) = unsafe {
        (
            batch.dsts.array(batch.count),
            batch.srcs.array(batch.count),
            batch.sizes.array(batch.count),
        )
    };
    each(batch.count, failed, |index| {
        let (dst, src, len) = (dsts.get(index)?, srcs.get(index)?, sizes.get(index)?);
        // SAFETY: the caller promises that the program's addresses are valid.
        unsafe { L::copy(Sides::Any, dst, src, len, When::InStream(stream), per_thread) }
    })?;
    if during_call { L::synchronize(stream, per_thread) } else { Ok(()) }
}

/// The source or destination of a copy of a box: memory, with the bytes per row and the rows per
/// slice, or a position in an array.
struct Side {
    kind: Memory,
    address: CUdeviceptr,
    array: crate::sys::CUarray,
    at: [usize; 3],
    pitch: usize,
    height: usize,
}

/// Returns the size in bytes of the elements of an operand, if it's an array.
fn element_bytes<L: Library>(operand: &CUmemcpy3DOperand) -> CuResult<Option<usize>> {
    match operand.type_ {
        Operand::CU_MEMCPY_OPERAND_TYPE_POINTER => Ok(None),
        Operand::CU_MEMCPY_OPERAND_TYPE_ARRAY => {
            // SAFETY: the type says that the operand is an array.
            let array = unsafe { operand.op.array }.array;
            L::element_bytes(array).map(Some)
        }
        _ => Err(CuError::INVALID_VALUE),
    }
}

fn side(operand: &CUmemcpy3DOperand, extent: [usize; 3], element: usize) -> CuResult<Side> {
    let [width, height, _] = extent;
    let bytes = |elements: usize| elements.checked_mul(element).ok_or(CuError::INVALID_VALUE);
    if operand.type_ == Operand::CU_MEMCPY_OPERAND_TYPE_ARRAY {
        // SAFETY: the type says that the operand is an array.
        let place = unsafe { operand.op.array };
        let at = [bytes(place.offset.x)?, place.offset.y, place.offset.z];
        let (kind, array) = (Memory::CU_MEMORYTYPE_ARRAY, place.array);
        return Ok(Side { kind, address: 0, array, at, pitch: 0, height: 0 });
    }
    // SAFETY: an operand that isn't an array is a pointer; `element_bytes` refused other types.
    let place = unsafe { operand.op.ptr };
    let or = |given: usize, packed: usize| match given {
        0 => Ok(packed),
        given if given < packed => Err(CuError::INVALID_VALUE),
        given => Ok(given),
    };
    Ok(Side {
        kind: Memory::CU_MEMORYTYPE_UNIFIED,
        address: place.ptr,
        array: std::ptr::null_mut(),
        at: [0; 3],
        pitch: bytes(or(place.rowLength, width)?)?,
        height: or(place.layerHeight, height)?,
    })
}

/// Converts one of the copies in a batch to the parameters of `cuMemcpy3DAsync`.
fn separate<L: Library>(op: &CUDA_MEMCPY3D_BATCH_OP) -> CuResult<CUDA_MEMCPY3D> {
    check_attributes(op.srcAccessOrder, op.flags)?;
    let extent = [op.extent.width, op.extent.height, op.extent.depth];
    if extent.contains(&0) {
        return Err(CuError::INVALID_VALUE);
    }
    let element = match (element_bytes::<L>(&op.dst)?, element_bytes::<L>(&op.src)?) {
        (Some(a), Some(b)) if a != b => return Err(CuError::INVALID_VALUE),
        (Some(bytes), _) | (None, Some(bytes)) => bytes,
        (None, None) => 1,
    };
    let (dst, src) = (side(&op.dst, extent, element)?, side(&op.src, extent, element)?);
    Ok(CUDA_MEMCPY3D {
        srcXInBytes: src.at[0],
        srcY: src.at[1],
        srcZ: src.at[2],
        srcMemoryType: src.kind,
        srcDevice: src.address,
        srcArray: src.array,
        srcPitch: src.pitch,
        srcHeight: src.height,
        dstXInBytes: dst.at[0],
        dstY: dst.at[1],
        dstZ: dst.at[2],
        dstMemoryType: dst.kind,
        dstDevice: dst.address,
        dstArray: dst.array,
        dstPitch: dst.pitch,
        dstHeight: dst.height,
        WidthInBytes: extent[0].checked_mul(element).ok_or(CuError::INVALID_VALUE)?,
        Height: extent[1],
        Depth: extent[2],
        ..Default::default()
    })
}

/// Queues a batch of copies of boxes.
///
/// # Safety
///
/// The array must have `count` elements, and addresses in the program's own memory must be valid
/// for as long as CUDA requires, which depends on `srcAccessOrder`.
pub unsafe fn boxes<L: Library>(
    copies: In<CUDA_MEMCPY3D_BATCH_OP>,
    count: usize,
    failed: Out<usize>,
    flags: u64,
    stream: CUstream,
    per_thread: bool,
) -> CuResult {
    failed.set_if_wanted(NO_COPY);
    check_stream(stream)?;
    if count == 0 || flags != 0 {
        return Err(CuError::INVALID_VALUE);
    }
    // SAFETY: the caller promises that the array has this many elements.
    let copies = unsafe { copies.array(count) };
    let mut during_call = false;
    // Check all copies before the first one is queued, because a call that fails must not queue a
    // part of its batch.
    each(count, failed, |index| {
        let op = copies.get(index)?;
        during_call |= op.srcAccessOrder == Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
        separate::<L>(&op).map(drop)
    })?;
    each(count, failed, |index| {
        let params = separate::<L>(&copies.get(index)?)?;
        // SAFETY: the caller promises that the program's addresses are valid.
        unsafe { L::copy_box(&params, When::InStream(stream), per_thread) }
    })?;
    if during_call { L::synchronize(stream, per_thread) } else { Ok(()) }
}
