//! Copy functions other than those in `memory`: copies by address alone, in two and three
//! dimensions, and in streams.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, get, refused, same};
use cuda_api::sys::{
    CU_STREAM_LEGACY, CUDA_ARRAY_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUarray_format,
    CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order, CUmemorytype as Memory, CUstream,
};
use std::ptr::{null, null_mut};

fn stream(cuda: &Cuda) -> Outcome<CUstream> {
    Ok(get!(cuda, cuStreamCreate(@, 1))?)
}

/// Creates an array of 64 words.
fn row(cuda: &Cuda) -> Outcome<CUarray> {
    let (mut array, words) = (null_mut(), CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32);
    let descriptor = CUDA_ARRAY_DESCRIPTOR { Width: 64, Height: 0, Format: words, NumChannels: 1 };
    cu!(cuda, cuArrayCreate_v2(&mut array, &descriptor))?;
    Ok(array)
}

cases! {
    fn addresses_say_where_memory_is(cuda, primary) {
        let (first, second, stream) = (cuda.alloc(256)?, cuda.alloc(256)?, stream(cuda)?);
        let (from, mut to) = ([1u32, 2, 3, 4], [0u32; 4]);
        cu!(cuda, cuMemcpyAsync(first, from.as_ptr() as u64, 16, stream))?;
        cu!(cuda, cuMemcpyAsync(second + 16, first, 16, stream))?;
        cu!(cuda, cuMemcpyAsync(to.as_mut_ptr() as u64, second + 20, 12, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut to);
        same!(to, [2, 3, 4, 0]);
        let words = to.as_mut_ptr().cast();
        cu!(cuda, cuMemcpyHtoDAsync_v2(first, from.as_ptr().cast(), 16, stream))?;
        cu!(cuda, cuMemcpyDtoDAsync_v2(second, first, 16, stream))?;
        cu!(cuda, cuMemcpyDtoHAsync_v2(words, second, 16, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut to);
        same!(to, from);
        refused!(cu!(cuda, cuMemcpyHtoDAsync_v2(first, null(), 16, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyDtoHAsync_v2(null_mut(), first, 16, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyDtoDAsync_v2(first, 16, 16, stream)), INVALID_VALUE);
    }

    fn rows_are_copied_in_other_ways(cuda, primary) {
        let (device, stream) = (cuda.alloc(256)?, stream(cuda)?);
        let from: Vec<u8> = (0..64).collect();
        let mut to = [0u8; 16];
        let device_memory = Memory::CU_MEMORYTYPE_DEVICE;
        let mut copy = CUDA_MEMCPY2D {
            srcMemoryType: Memory::CU_MEMORYTYPE_HOST,
            srcHost: from.as_ptr().cast(),
            srcPitch: 13,
            srcXInBytes: 1,
            dstMemoryType: device_memory,
            dstDevice: device,
            dstPitch: 7,
            WidthInBytes: 5,
            Height: 3,
            ..CUDA_MEMCPY2D::default()
        };
        cu!(cuda, cuMemsetD8_v2(device, 99, 256))?;
        cu!(cuda, cuMemcpy2DUnaligned_v2(&copy))?;
        let rows = cuda.download::<u8>(device, 21)?;
        same!(rows[..14], [1, 2, 3, 4, 5, 99, 99, 14, 15, 16, 17, 18, 99, 99]);
        let down = CUDA_MEMCPY2D {
            srcMemoryType: device_memory,
            srcDevice: device,
            srcPitch: 7,
            dstMemoryType: Memory::CU_MEMORYTYPE_HOST,
            dstHost: to.as_mut_ptr().cast(),
            dstPitch: 5,
            WidthInBytes: 5,
            Height: 3,
            ..CUDA_MEMCPY2D::default()
        };
        cu!(cuda, cuMemcpy2DAsync_v2(&down, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut to);
        same!(to, [1, 2, 3, 4, 5, 14, 15, 16, 17, 18, 27, 28, 29, 30, 31, 0]);
        copy.srcPitch = 4;
        refused!(cu!(cuda, cuMemcpy2DUnaligned_v2(&copy)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy2DAsync_v2(&copy, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy2DUnaligned_v2(null())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy2DAsync_v2(null(), stream)), INVALID_VALUE);
    }

    fn boxes_are_copied_in_a_stream(cuda, primary) {
        let (device, stream) = (cuda.alloc(4096)?, stream(cuda)?);
        let from: Vec<u32> = (0..24).collect();
        let mut to = [0u32; 8];
        let up = CUDA_MEMCPY3D {
            srcMemoryType: Memory::CU_MEMORYTYPE_HOST,
            srcHost: from.as_ptr().cast(),
            srcPitch: 16,
            srcHeight: 3,
            dstMemoryType: Memory::CU_MEMORYTYPE_DEVICE,
            dstDevice: device,
            dstPitch: 64,
            dstHeight: 4,
            WidthInBytes: 16,
            Height: 3,
            Depth: 2,
            ..Default::default()
        };
        cu!(cuda, cuMemcpy3DAsync_v2(&up, stream))?;
        // Copy the second and third columns of the last two rows.
        let down = CUDA_MEMCPY3D {
            srcMemoryType: Memory::CU_MEMORYTYPE_DEVICE,
            srcDevice: device,
            srcPitch: 64,
            srcHeight: 4,
            srcXInBytes: 4,
            srcY: 1,
            dstMemoryType: Memory::CU_MEMORYTYPE_HOST,
            dstHost: to.as_mut_ptr().cast(),
            dstPitch: 8,
            dstHeight: 2,
            WidthInBytes: 8,
            Height: 2,
            Depth: 2,
            ..Default::default()
        };
        cu!(cuda, cuMemcpy3DAsync_v2(&down, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        std::hint::black_box(&mut to);
        same!(to, [5, 6, 9, 10, 17, 18, 21, 22]);
        let unknown = CUDA_MEMCPY3D { dstMemoryType: Memory(77), ..up };
        let narrow = CUDA_MEMCPY3D { srcPitch: 8, ..up };
        for wrong in [unknown, narrow] {
            refused!(cu!(cuda, cuMemcpy3DAsync_v2(&wrong, stream)), INVALID_VALUE);
            refused!(cu!(cuda, cuMemcpy3D_v2(&wrong)), INVALID_VALUE);
        }
    }

    fn bytes_past_the_end_of_an_array_are_refused(cuda, primary) {
        let (first, second, device) = (row(cuda)?, row(cuda)?, cuda.alloc(512)?);
        let mut words = [3u32; 128];
        let host = words.as_mut_ptr().cast();
        refused!(cu!(cuda, cuMemcpyAtoA_v2(first, 4, second, 0, 256)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyAtoD_v2(device, first, 4, 256)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyDtoA_v2(first, 4, device, 256)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyHtoA_v2(first, 4, host, 256)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyAtoH_v2(host, first, 4, 256)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyHtoAAsync_v2(first, 4, host, 256, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyAtoHAsync_v2(host, first, 4, 256, null_mut())), INVALID_VALUE);
        same!(words, [3; 128]);
        cu!(cuda, cuArrayDestroy(first))?;
        cu!(cuda, cuArrayDestroy(second))?;
    }

    fn contexts_of_copies_must_exist(cuda, primary = (_, primary)) {
        let (from, to) = (cuda.alloc(64)?, cuda.alloc(64)?);
        cuda.upload(from, &[1u32; 16])?;
        cu!(cuda, cuMemcpyPeer(to, primary, from, primary, 64))?;
        same!(cuda.download::<u32>(to, 16)?, [1; 16]);
        cu!(cuda, cuCtxSetCurrent(null_mut()))?;
        let null = null_mut();
        refused!(cu!(cuda, cuMemcpyPeer(to, null, from, null, 64)), INVALID_CONTEXT | INVALID_VALUE);
        let called = cu!(cuda, cuMemcpyPeerAsync(to, null, from, null, 64, null_mut()));
        refused!(called, INVALID_CONTEXT | INVALID_VALUE);
    }

    fn the_first_form_of_a_batch_reports_the_failed_copy(cuda, primary) {
        let (from, to, stream) = (cuda.alloc(64)?, cuda.alloc(64)?, stream(cuda)?);
        cuda.upload(from, &[1u32, 2, 3, 4])?;
        cu!(cuda, cuCtxSynchronize())?;
        let (mut dsts, mut srcs, mut sizes) = ([to, to + 8], [from + 8, from], [8, 4]);
        let order = Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        let mut how = [CUmemcpyAttributes { srcAccessOrder: order, ..Default::default() }];
        let (mut first, mut failed) = ([0], 77);
        let (d, s, n) = (dsts.as_mut_ptr(), srcs.as_mut_ptr(), sizes.as_mut_ptr());
        let (a, f) = (how.as_mut_ptr(), first.as_mut_ptr());
        cu!(cuda, cuMemcpyBatchAsync(d, s, n, 2, a, f, 1, &mut failed, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        same!(cuda.download::<u32>(to, 3)?, [3, 4, 1]);
        let called = cu!(cuda, cuMemcpyBatchAsync(d, s, n, 0, a, f, 1, &mut failed, stream));
        refused!(called, INVALID_VALUE);
        let legacy = CU_STREAM_LEGACY;
        refused!(cu!(cuda, cuMemcpy3DBatchAsync(0, null_mut(), &mut failed, 0, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyBatchAsync(d, s, n, 2, a, f, 1, &mut failed, legacy)), INVALID_VALUE);
    }
}
