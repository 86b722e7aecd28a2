//! Device memory, host memory, copies, and memsets.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use crate::free_memory::leaves_free_memory;
use cuda_api::sys::{
    CUDA_MEMCPY2D, CUdevice_attribute, CUmemDecompressAlgorithm, CUmemDecompressParams,
    CUmemorytype, CUpointer_attribute,
};
use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

cases! {
    fn allocations_are_distinct_and_freed_once(cuda, primary) {
        let mut first = get!(cuda, cuMemAlloc_v2(@, 1 << 20))?;
        let second = get!(cuda, cuMemAlloc_v2(@, 100))?;
        ensure!(first.abs_diff(second) >= 100, "{first:#x} and {second:#x} overlap");
        same!((first % 256, second % 256), (0, 0));
        let (mut base, mut size) = (0, 0);
        cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, second + 50))?;
        same!((base, size), (second, 100));
        refused!(cu!(cuda, cuMemAlloc_v2(&mut first, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAlloc_v2(null_mut(), 16)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAlloc_v2(&mut base, 1 << 60)), OUT_OF_MEMORY);
        cu!(cuda, cuMemFree_v2(second))?;
        refused!(cu!(cuda, cuMemFree_v2(second)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemFree_v2(first + 4)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, second)), NOT_FOUND | INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(first))?;
        cu!(cuda, cuMemFree_v2(0))?;
    }

    fn free_memory_goes_down_and_up(cuda, primary) {
        let (mut free, mut total, mut down) = (0, 0, false);
        cu!(cuda, cuMemGetInfo_v2(&mut free, &mut total))?;
        ensure!(free <= total, "{free} of {total} is free");
        leaves_free_memory(cuda, || {
            let (mut before, mut during) = (0, 0);
            cu!(cuda, cuMemGetInfo_v2(&mut before, &mut total))?;
            let pointer = cuda.alloc(64 << 20)?;
            cu!(cuda, cuMemGetInfo_v2(&mut during, &mut total))?;
            down |= during + (64 << 20) <= before;
            Ok(cu!(cuda, cuMemFree_v2(pointer))?)
        })?;
        ensure!(down, "an allocation left as much memory free as before");
    }

    fn copies_arrive(cuda, primary) {
        let values: Vec<u32> = (0..100_000).collect();
        let bytes = size_of_val(&values[..]);
        let (first, second) = (cuda.alloc(bytes)?, cuda.alloc(bytes)?);
        cuda.upload(first, &values)?;
        cu!(cuda, cuMemcpyDtoD_v2(second, first, bytes))?;
        same!(cuda.download::<u32>(second, values.len())?, values);
        cu!(cuda, cuMemcpy(first + 4, second, 8))?;
        same!(cuda.download::<u32>(first, 4)?, [0, 0, 1, 3]);
        let mut word = 0u32;
        let to = (&raw mut word).cast();
        cu!(cuda, cuMemcpyDtoHAsync_v2(to, second + 40, 4, null_mut()))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        same!(word, 10);
        cu!(cuda, cuMemcpyHtoD_v2(first, values.as_ptr().cast(), 0))?;
        refused!(cu!(cuda, cuMemcpyHtoD_v2(first, null(), 4)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyDtoH_v2(null_mut(), first, 4)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpyDtoD_v2(first, 16, 4)), INVALID_VALUE);
    }

    fn rows_are_copied(cuda, primary) {
        let (mut pointer, mut pitch) = (0, 0);
        cu!(cuda, cuMemAllocPitch_v2(&mut pointer, &mut pitch, 100, 8, 4))?;
        ensure!(pitch >= 100 && pitch % 32 == 0, "the pitch is {pitch}");
        cu!(cuda, cuMemsetD2D8_v2(pointer, pitch, 7, 100, 8))?;
        let rows: Vec<u8> = (0..24).collect();
        let mut copy = CUDA_MEMCPY2D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: rows.as_ptr().cast(),
            srcPitch: 12,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: pointer,
            dstPitch: pitch,
            dstXInBytes: 1,
            dstY: 2,
            WidthInBytes: 10,
            Height: 2,
            ..CUDA_MEMCPY2D::default()
        };
        cu!(cuda, cuMemcpy2D_v2(&copy))?;
        let row = cuda.download::<u8>(pointer + 3 * pitch as u64, 12)?;
        same!(row, [7, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 7]);
        copy.srcPitch = 4;
        refused!(cu!(cuda, cuMemcpy2D_v2(&copy)), INVALID_VALUE);
        copy.srcPitch = 12;
        copy.dstMemoryType = CUmemorytype(77);
        refused!(cu!(cuda, cuMemcpy2D_v2(&copy)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemcpy2D_v2(null())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAllocPitch_v2(&mut pointer, &mut pitch, 100, 8, 3)), INVALID_VALUE);
    }

    fn only_some_devices_decompress(cuda, primary = (device, _)) {
        let algorithms = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK;
        if cuda.attribute(device, algorithms)? != 0 {
            println!("this device decompresses");
            return Ok(());
        }
        let (from, to, mut written) = (cuda.alloc(64)?, cuda.alloc(64)?, 0u32);
        let mut parameters = CUmemDecompressParams {
            srcNumBytes: 64,
            dstNumBytes: 64,
            dstActBytes: &mut written,
            src: without_provenance(from as usize),
            dst: without_provenance_mut(to as usize),
            algo: CUmemDecompressAlgorithm::CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE,
            padding: [0; 20],
        };
        let (mut stream, mut failed) = (null_mut(), 77);
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let called = cu!(cuda, cuMemBatchDecompressAsync(&mut parameters, 1, 0, &mut failed, stream));
        refused!(called, NOT_SUPPORTED | INVALID_VALUE | INVALID_DEVICE);
    }

    fn memsets_fill_whole_elements(cuda, primary) {
        let pointer = cuda.alloc(64)?;
        cu!(cuda, cuMemsetD8_v2(pointer, 1, 64))?;
        cu!(cuda, cuMemsetD16_v2(pointer, 0x203, 4))?;
        cu!(cuda, cuMemsetD32_v2(pointer + 8, 0x0405_0607, 2))?;
        let bytes = cuda.download::<u8>(pointer, 20)?;
        same!(bytes, [3, 2, 3, 2, 3, 2, 3, 2, 7, 6, 5, 4, 7, 6, 5, 4, 1, 1, 1, 1]);
        refused!(cu!(cuda, cuMemsetD32_v2(pointer + 1, 0, 1)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemsetD8_v2(16, 0, 1)), INVALID_VALUE);
    }

    fn pinned_memory_is_seen_by_the_device(cuda, primary) {
        let host = get!(cuda, cuMemHostAlloc(@, 4096, 2))?;
        let device = get!(cuda, cuMemHostGetDevicePointer_v2(@, host, 0))?;
        let flags = get!(cuda, cuMemHostGetFlags(@, host))?;
        ensure!(flags & 2 != 0, "the flags are {flags}");
        cu!(cuda, cuMemsetD8_v2(device, 9, 4096))?;
        cu!(cuda, cuCtxSynchronize())?;
        // SAFETY: the memory has 4096 bytes, and nothing writes them now.
        let seen = unsafe { std::slice::from_raw_parts(host.cast::<u8>(), 4096) };
        ensure!(seen.iter().all(|byte| *byte == 9), "the memset didn't arrive");
        let mut kind = 0u32;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        cu!(cuda, cuPointerGetAttribute((&raw mut kind).cast(), attribute, device))?;
        same!(kind, CUmemorytype::CU_MEMORYTYPE_HOST.0);
        let (mut base, mut size) = (0, 0);
        cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, device + 100))?;
        same!((base, size), (device, 4096));
        cu!(cuda, cuMemFreeHost(host))?;
        refused!(cu!(cuda, cuMemFreeHost(host)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostAlloc(null_mut(), 4096, 0)), INVALID_VALUE);
    }

    fn pointers_have_attributes(cuda, primary = (device, context)) {
        let pointer = cuda.alloc(4096)?;
        let (mut kind, mut ordinal, mut owner) = (0u32, 9, null_mut::<u8>());
        let get = |attribute, value| cu!(cuda, cuPointerGetAttribute(value, attribute, pointer + 8));
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast())?;
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast())?;
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT, (&raw mut owner).cast())?;
        same!((kind, ordinal), (CUmemorytype::CU_MEMORYTYPE_DEVICE.0, device));
        same!(owner, context.cast());
        let local = 0u64;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let unknown = (&raw const local) as u64;
        refused!(cu!(cuda, cuPointerGetAttribute((&raw mut kind).cast(), attribute, unknown)), INVALID_VALUE);
        refused!(get(CUpointer_attribute(0), (&raw mut kind).cast()), INVALID_VALUE);
        refused!(get(attribute, null_mut()), INVALID_VALUE);
    }

    fn memory_can_be_marked_for_synchronous_operations(cuda, primary) {
        let (pointer, mut managed) = (cuda.alloc(64)?, 0);
        cu!(cuda, cuMemAllocManaged(&mut managed, 64, 1))?;
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
        for (value, pointer) in [(1u32, pointer), (0, pointer), (1, managed), (0, managed)] {
            cu!(cuda, cuPointerSetAttribute((&raw const value).cast(), which, pointer))?;
            let mut found = 9u32;
            cu!(cuda, cuPointerGetAttribute((&raw mut found).cast(), which, pointer))?;
            // The attribute is a boolean. NVIDIA's library may write only one byte of it, so
            // compare one byte.
            same!(found & 0xff, value);
        }
        cu!(cuda, cuMemFree_v2(managed))?;
        let on = 1u32;
        let on = (&raw const on).cast();
        refused!(cu!(cuda, cuPointerSetAttribute(on, which, 4096)), INVALID_VALUE);
        let other = CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        refused!(cu!(cuda, cuPointerSetAttribute(on, other, pointer)), INVALID_VALUE);
    }

    fn setting_host_memory_waits(cuda, primary) {
        let host = get!(cuda, cuMemHostAlloc(@, 4096, 0))?;
        let address = get!(cuda, cuMemHostGetDevicePointer_v2(@, host, 0))?;
        // SAFETY: the memory was just allocated, and no other thread uses it.
        let last = || unsafe { host.cast::<u8>().add(4095).read_volatile() };
        for round in 1..20u8 {
            cu!(cuda, cuMemsetD8_v2(address, round, 4096))?;
            same!(last(), round);
            let word = u32::from_le_bytes([round + 100; 4]);
            cu!(cuda, cuMemsetD2D32_v2(address, 64, word, 16, 64))?;
            same!(last(), round + 100);
        }
        refused!(cu!(cuda, cuMemsetD16_v2(address + 1, 0, 8)), INVALID_VALUE);
        cu!(cuda, cuMemFreeHost(host))?;
    }

    fn registered_memory_can_share_a_page_or_be_on_the_stack(cuda, primary) {
        let device = cuda.alloc(4096)?;
        let mut area = vec![0u8; 8 * 4096];
        let start = area.as_ptr().align_offset(4096) + 1024;
        // The first buffer ends in the middle of a page, and the second one begins there.
        let (first, second) = area[start..].split_at_mut(2 * 4096);
        let mut stack = [0u8; 4096];
        for (buffer, value) in [(first, 1), (&mut second[..2 * 4096], 2), (&mut stack[..], 3)] {
            cu!(cuda, cuMemHostRegister_v2(buffer.as_mut_ptr().cast(), buffer.len(), 0))?;
            cu!(cuda, cuMemsetD8_v2(device, value, 4096))?;
            for part in buffer.chunks_mut(4096) {
                cu!(cuda, cuMemcpyDtoH_v2(part.as_mut_ptr().cast(), device, part.len()))?;
            }
        }
        let found: Vec<_> = area[start..][..4 * 4096].chunk_by(|a, b| a == b).collect();
        same!(found, [&[1; 2 * 4096][..], &[2; 2 * 4096]]);
        same!(stack, [3; 4096]);
        let again = area[start..].as_mut_ptr();
        let registered = cu!(cuda, cuMemHostRegister_v2(again.cast(), 4096, 0));
        refused!(registered, HOST_MEMORY_ALREADY_REGISTERED);
        for buffer in [again, area[start + 2 * 4096..].as_mut_ptr(), stack.as_mut_ptr()] {
            cu!(cuda, cuMemHostUnregister(buffer.cast()))?;
        }
        refused!(cu!(cuda, cuMemHostUnregister(again.cast())), HOST_MEMORY_NOT_REGISTERED);
        same!((area[start], area[start + 4 * 4096 - 1], stack[4095]), (1, 2, 3));
    }
}
