//! Batches of copies, and copies between contexts.

use super::cases;
use crate::cuda::{cu, get, refused, same};
use cuda_api::sys::{
    CU_STREAM_LEGACY, CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY3D_BATCH_OP, CUDA_MEMCPY3D_PEER,
    CUarray_format as Format, CUextent3D, CUmemcpy3DOperand,
    CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1 as PointerOperand,
    CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2 as ArrayOperand,
    CUmemcpy3DOperandType as Operand, CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order,
    CUmemorytype as Memory, CUoffset3D,
};
use std::ptr::null_mut;

fn attributes(order: Order) -> CUmemcpyAttributes {
    CUmemcpyAttributes { srcAccessOrder: order, ..Default::default() }
}

fn operand(type_: Operand) -> CUmemcpy3DOperand {
    CUmemcpy3DOperand { type_, ..Default::default() }
}

cases! {
    fn a_batch_copies_everything(cuda, primary) {
        let (from, to) = (cuda.alloc(4096)?, cuda.alloc(4096)?);
        let values: Vec<u32> = (0..1024).collect();
        cuda.upload(from, &values)?;
        cu!(cuda, cuMemsetD32_v2(to, 0, 1024))?;
        cu!(cuda, cuCtxSynchronize())?;
        let host = [7u32; 4];
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let mut dsts = [to, to + 1024, to + 2048];
        let mut srcs = [from + 2048, from, host.as_ptr() as u64];
        let mut sizes = [1024, 512, 16];
        let mut how = [
            attributes(Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM),
            attributes(Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL),
        ];
        let mut first = [0, 2];
        let (d, s, n) = (dsts.as_mut_ptr(), srcs.as_mut_ptr(), sizes.as_mut_ptr());
        let (a, f) = (how.as_mut_ptr(), first.as_mut_ptr());
        cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 3, a, f, 2, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        let mut expected = vec![0; 1024];
        expected[..256].copy_from_slice(&values[512..768]);
        expected[256..384].copy_from_slice(&values[..128]);
        expected[512..516].copy_from_slice(&host);
        same!(cuda.download::<u32>(to, 1024)?, expected);

        // The elements are the indices of the copies to which the first and the second attribute
        // apply. The first must be 0, and the second must be larger and less than the number of
        // copies.
        for wrong in [[1, 2], [0, 0], [0, 3]] {
            first.copy_from_slice(&wrong);
            let f = first.as_mut_ptr();
            let called = cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 3, a, f, 2, stream));
            refused!(called, INVALID_VALUE);
        }
        first = [0, 2];
        let f = first.as_mut_ptr();
        refused!(cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 0, a, f, 2, stream)), INVALID_VALUE);
        let legacy = CU_STREAM_LEGACY;
        // The call refuses default streams. It refuses a null handle even if null means the
        // per-thread default stream.
        for refused in [legacy, null_mut()] {
            let called = cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 3, a, f, 2, refused));
            refused!(called, INVALID_VALUE);
        }
        how[0].srcAccessOrder = Order::CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
        let a = how.as_mut_ptr();
        refused!(cu!(cuda, cuMemcpyBatchAsync_v2(d, s, n, 3, a, f, 2, stream)), INVALID_VALUE);
    }

    fn a_batch_copies_boxes_and_arrays(cuda, primary) {
        let (from, to) = (cuda.alloc(256)?, cuda.alloc(256)?);
        let values: Vec<u32> = (0..64).collect();
        cuda.upload(from, &values)?;
        cu!(cuda, cuMemsetD32_v2(to, 0, 64))?;
        cu!(cuda, cuCtxSynchronize())?;
        let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
            Width: 8,
            Height: 8,
            Depth: 0,
            Format: Format::CU_AD_FORMAT_UNSIGNED_INT32,
            NumChannels: 1,
            Flags: 0,
        };
        let array = get!(cuda, cuArray3DCreate_v2(@, &descriptor))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let mut in_array = operand(Operand::CU_MEMCPY_OPERAND_TYPE_ARRAY);
        in_array.op.array = ArrayOperand { array, offset: CUoffset3D { x: 2, y: 0, z: 0 } };
        let pointer = |ptr, row_length| {
            let mut operand = operand(Operand::CU_MEMCPY_OPERAND_TYPE_POINTER);
            operand.op.ptr =
                PointerOperand { ptr, rowLength: row_length, ..Default::default() };
            operand
        };
        let op = |src, dst| CUDA_MEMCPY3D_BATCH_OP {
            src,
            dst,
            extent: CUextent3D { width: 4, height: 2, depth: 1 },
            srcAccessOrder: Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            flags: 0,
        };
        // The sizes in an operand are in elements. The copy takes rows of 4 elements from a matrix
        // with 8 columns.
        let mut into = op(pointer(from, 8), in_array);
        let mut out = op(in_array, pointer(to, 0));
        cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut into, 0, stream))?;
        cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut out, 0, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(to, 9)?, [0, 1, 2, 3, 8, 9, 10, 11, 0]);

        let legacy = CU_STREAM_LEGACY;
        refused!(cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut out, 0, legacy)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut out, 0, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut out, 1, stream)), INVALID_VALUE);
        // The first version of the call also has a parameter in which it returns the index of the
        // invalid copy.
        cu!(cuda, cuMemsetD32_v2(to, 0, 64))?;
        cu!(cuda, cuCtxSynchronize())?;
        let mut failed = 77;
        cu!(cuda, cuMemcpy3DBatchAsync(1, &mut out, &mut failed, 0, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(to, 9)?, [0, 1, 2, 3, 8, 9, 10, 11, 0]);
        let called = cu!(cuda, cuMemcpy3DBatchAsync(1, &mut out, &mut failed, 0, legacy));
        refused!(called, INVALID_VALUE);
        let mut empty = op(in_array, pointer(to, 0));
        empty.extent.depth = 0;
        refused!(cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut empty, 0, stream)), INVALID_VALUE);
        let mut narrow = op(in_array, pointer(to, 3));
        refused!(cu!(cuda, cuMemcpy3DBatchAsync_v2(1, &mut narrow, 0, stream)), INVALID_VALUE);
    }

    fn copies_between_contexts_arrive(cuda, primary = (device, primary)) {
        let from = cuda.alloc(256)?;
        let values: Vec<u32> = (0..64).collect();
        cuda.upload(from, &values)?;
        let other = get!(cuda, cuCtxCreate_v2(@, 0, device))?;
        let to = cuda.alloc(256)?;
        let zeros = |to| {
            cu!(cuda, cuMemsetD32_v2(to, 0, 64))?;
            cu!(cuda, cuCtxSynchronize())
        };
        zeros(to)?;
        cu!(cuda, cuMemcpyPeer(to, other, from, primary, 256))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(to, 64)?, values);

        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        zeros(to)?;
        cu!(cuda, cuMemcpyPeerAsync(to, other, from + 128, primary, 64, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(to, 17)?, [&values[32..48], &[0]].concat());

        zeros(to)?;
        let device_memory = Memory::CU_MEMORYTYPE_DEVICE;
        let params = CUDA_MEMCPY3D_PEER {
            srcMemoryType: device_memory,
            srcDevice: from,
            srcContext: primary,
            srcPitch: 32,
            srcHeight: 8,
            dstMemoryType: device_memory,
            dstDevice: to,
            dstContext: other,
            dstPitch: 8,
            dstHeight: 2,
            WidthInBytes: 8,
            Height: 2,
            Depth: 1,
            ..Default::default()
        };
        cu!(cuda, cuMemcpy3DPeer(&params))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(to, 5)?, [0, 1, 8, 9, 0]);
        let second = CUDA_MEMCPY3D_PEER { srcY: 2, ..params };
        cu!(cuda, cuMemcpy3DPeerAsync(&second, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(to, 5)?, [16, 17, 24, 25, 0]);
        let unknown = CUDA_MEMCPY3D_PEER { dstMemoryType: Memory(77), ..params };
        let narrow = CUDA_MEMCPY3D_PEER { dstPitch: 4, ..params };
        for wrong in [unknown, narrow] {
            refused!(cu!(cuda, cuMemcpy3DPeer(&wrong)), INVALID_VALUE);
            refused!(cu!(cuda, cuMemcpy3DPeerAsync(&wrong, stream)), INVALID_VALUE);
        }

        cu!(cuda, cuCtxDestroy_v2(other))?;
        cu!(cuda, cuCtxSetCurrent(primary))?;
    }

    fn a_context_has_no_access_to_itself(cuda, primary = (device, primary)) {
        refused!(cu!(cuda, cuCtxEnablePeerAccess(primary, 0)), PEER_ACCESS_UNSUPPORTED);
        refused!(cu!(cuda, cuCtxEnablePeerAccess(primary, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxEnablePeerAccess(null_mut(), 0)), INVALID_CONTEXT);
        let other = get!(cuda, cuCtxCreate_v2(@, 0, device))?;
        refused!(cu!(cuda, cuCtxDisablePeerAccess(primary)), PEER_ACCESS_NOT_ENABLED);
        cu!(cuda, cuCtxDestroy_v2(other))?;
    }
}
