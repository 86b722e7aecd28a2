//! Host memory that the driver allocates, and host memory that the program registers.

use super::cases;
use crate::cuda::parameter;
use crate::cuda::{cu, ensure, get, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{CUmemorytype, CUpointer_attribute as Attribute};
use std::ptr::null_mut;

/// A page of host memory.
#[repr(align(4096))]
struct Page([u8; 4096]);

const PORTABLE: u32 = 1;
const MAPPED: u32 = 2;

cases! {
    fn the_driver_allocates_host_memory(cuda, primary) {
        let mut host = get!(cuda, cuMemAllocHost_v2(@, 4096))?;
        let pointer = cuda.alloc(4096)?;
        cu!(cuda, cuMemsetD8_v2(pointer, 5, 4096))?;
        cu!(cuda, cuMemcpyDtoHAsync_v2(host, pointer, 4096, null_mut()))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        // SAFETY: the memory has 4096 bytes, and nothing writes them now.
        let seen = unsafe { std::slice::from_raw_parts(host.cast::<u8>(), 4096) };
        ensure!(seen.iter().all(|byte| *byte == 5), "the copy didn't arrive");
        let mut flags = 7;
        cu!(cuda, cuMemHostGetFlags(&mut flags, host))?;
        // The reported flags are those that the program asked for (none) and DEVICEMAP (2).
        same!(flags, 2);
        refused!(cu!(cuda, cuMemHostGetFlags(null_mut(), host)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostUnregister(host)), INVALID_VALUE);
        cu!(cuda, cuMemFreeHost(host))?;
        refused!(cu!(cuda, cuMemHostGetFlags(&mut flags, host)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAllocHost_v2(null_mut(), 4096)), INVALID_VALUE);
        cu!(cuda, cuMemAllocHost_v2(&mut host, 0))?;
        refused!(cu!(cuda, cuMemHostAlloc(&mut host, 4096, 0x8000)), INVALID_VALUE);
    }

    /// The driver may allocate several small allocations in the same pinned pages. Their contents
    /// must still be separate.
    fn small_allocations_of_host_memory_are_separate(cuda, primary) {
        let stream = null_mut();
        let source = cuda.alloc(70_000)?;
        let (mut all, mut ids) = (Vec::new(), std::collections::HashSet::new());
        for index in 0..200usize {
            let len = [1, 100, 4096, 4097, 65_536, 70_000][index % 6];
            let asked = [0, 1, 4, 5][index / 6 % 4];
            let host = get!(cuda, cuMemHostAlloc(@, len, asked))?;
            all.push((host, len, asked));
        }
        for (index, &(host, len, asked)) in all.iter().enumerate() {
            let (mut flags, mut device, mut start, mut size, mut id) = (0, 0, 0u64, 0usize, 0u64);
            cu!(cuda, cuMemHostGetFlags(&mut flags, host))?;
            same!((index, flags), (index, asked & !PORTABLE | MAPPED));
            let last = host.wrapping_byte_add(len - 1);
            cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, last, 0))?;
            same!((index, device), (index, last as u64));
            for (which, value) in [
                (Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (&raw mut start).cast()),
                (Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, (&raw mut size).cast()),
                (Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID, (&raw mut id).cast()),
            ] {
                cu!(cuda, cuPointerGetAttribute(value, which, last as u64))?;
            }
            same!((index, start, size), (index, host as u64, len));
            ensure!(ids.insert(id), "two allocations have the id {id}");
            cu!(cuda, cuMemsetD8Async(source, index as u8, len, stream))?;
            cu!(cuda, cuMemcpyDtoHAsync_v2(host, source, len, stream))?;
        }
        let is_good = |index: usize| {
            let (host, len, _) = all[index];
            // SAFETY: the memory has this length, and nothing writes it now.
            let bytes = unsafe { std::slice::from_raw_parts(host.cast::<u8>(), len) };
            bytes.iter().all(|byte| *byte == index as u8)
        };
        cu!(cuda, cuStreamSynchronize(stream))?;
        ensure!((0..200).all(is_good), "an allocation doesn't contain what was written to it");

        let mut flags = 0;
        for (index, &(host, len, _)) in all.iter().enumerate().step_by(2) {
            refused!(cu!(cuda, cuMemHostUnregister(host)), INVALID_VALUE);
            if len > 1 {
                refused!(cu!(cuda, cuMemFreeHost(host.wrapping_byte_add(1))), INVALID_VALUE);
            }
            cu!(cuda, cuMemFreeHost(host))?;
            refused!(cu!(cuda, cuMemFreeHost(host)), INVALID_VALUE);
            refused!(cu!(cuda, cuMemHostGetFlags(&mut flags, host)), INVALID_VALUE);
            ensure!((index + 1..200).step_by(2).all(is_good), "freeing {index} changed another one");
        }
        // New allocations must not overlap the allocations that haven't been freed.
        for _ in 0..100 {
            let host = get!(cuda, cuMemHostAlloc(@, 4096, 0))?;
            // SAFETY: the memory was just allocated.
            unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), 4096) }.fill(255);
        }
        ensure!((1..200).step_by(2).all(is_good), "two allocations overlap");
    }

    /// `cuMemFreeHost` must wait until the work that uses the memory has finished, in any stream.
    fn freeing_host_memory_waits_for_its_use(cuda, primary) {
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let (mut host, source) = (null_mut(), cuda.alloc(1 << 20)?);
        for round in 0..20u8 {
            cu!(cuda, cuMemHostAlloc(&mut host, 4096, 0))?;
            cu!(cuda, cuMemsetD8Async(source, round, 1 << 20, stream))?;
            cu!(cuda, cuMemcpyDtoHAsync_v2(host, source, 4096, stream))?;
            cu!(cuda, cuMemFreeHost(host))?;
            cu!(cuda, cuStreamQuery(stream))?;
        }
    }

    fn registered_memory_is_seen_by_the_device(cuda, primary) {
        let mut page = Box::new(Page([1; 4096]));
        let host = page.0.as_mut_ptr();
        let (at, mut device, mut kind) = (host.cast(), 0, 0u32);
        cu!(cuda, cuMemHostRegister_v2(at, 4096, MAPPED))?;
        cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, at, 0))?;
        cu!(cuda, cuMemsetD8_v2(device + 8, 9, 4))?;
        cu!(cuda, cuCtxSynchronize())?;
        let byte = |index: usize| {
            // SAFETY: the page has 4096 bytes, and nothing writes them now.
            unsafe { host.add(index).read_volatile() }
        };
        same!([7, 8, 11, 12].map(byte), [1, 9, 9, 1]);
        let which = Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        cu!(cuda, cuPointerGetAttribute((&raw mut kind).cast(), which, device))?;
        same!(kind, CUmemorytype::CU_MEMORYTYPE_HOST.0);
        refused!(cu!(cuda, cuMemHostRegister_v2(at, 4096, 0)), HOST_MEMORY_ALREADY_REGISTERED);
        refused!(cu!(cuda, cuMemHostUnregister(at.wrapping_byte_add(8))), INVALID_VALUE);
        cu!(cuda, cuMemHostUnregister(at))?;
        refused!(cu!(cuda, cuMemHostUnregister(at)), HOST_MEMORY_NOT_REGISTERED);
        refused!(cu!(cuda, cuMemHostUnregister(null_mut())), INVALID_VALUE);
        let allocated = get!(cuda, cuMemHostAlloc(@, 4096, 0))?;
        refused!(cu!(cuda, cuMemHostUnregister(allocated)), INVALID_VALUE);
        cu!(cuda, cuMemFreeHost(allocated))?;
        same!(byte(8), 9);
    }

    fn registrations_are_checked(cuda, primary) {
        let mut page = Box::new(Page([1; 4096]));
        let at = page.0.as_mut_ptr().cast();
        refused!(cu!(cuda, cuMemHostRegister_v2(null_mut(), 4096, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostRegister_v2(at, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostRegister_v2(at, 4096, 0x8000)), INVALID_VALUE);
        // The first version of the call works, too.
        cu!(cuda, cuMemHostRegister(at, 4096, 0))?;
        cu!(cuda, cuMemHostUnregister(at))?;
        refused!(cu!(cuda, cuMemHostRegister(at, 0, 0)), INVALID_VALUE);
    }

    fn memory_from_cuda_cannot_be_registered(cuda, primary) {
        let pages = 4 * 4096;
        let mut hosts = [0, 4].map(|_| null_mut());
        for (host, flags) in hosts.iter_mut().zip([0, 4]) {
            cu!(cuda, cuMemHostAlloc(host, pages, flags))?;
        }
        let managed = get!(cuda, cuMemAllocManaged(@, pages, 1))?;
        let device = get!(cuda, cuMemAlloc_v2(@, pages))?;
        // Each element is the first page of a range relative to the memory's start, and its number
        // of pages. The ranges contain all of the memory, a part of it, or pages before or after
        // it.
        let ranges = &[(0, 4), (0, 1), (1, 1), (3, 2), (-1, 2), (-1, 6)][..];
        let pinned = hosts.map(|host| (host as u64, ranges));
        for (start, ranges) in pinned.into_iter().chain([(managed, &ranges[..2]), (device, &ranges[..1])]) {
            for (offset, len) in ranges {
                let (at, len) = (start.wrapping_add_signed(offset * 4096), len * 4096);
                for flags in [0, MAPPED] {
                    let registered = cu!(cuda, cuMemHostRegister_v2(at as *mut _, len, flags));
                    refused!(registered, INVALID_VALUE);
                }
            }
        }
        for host in hosts {
            cu!(cuda, cuMemFreeHost(host))?;
        }
        cu!(cuda, cuMemFree_v2(managed))?;
        cu!(cuda, cuMemFree_v2(device))?;
    }

    fn registered_buffers_can_lie_in_one_page(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let mut area = Box::new([Page([1; 4096]), Page([1; 4096]), Page([1; 4096])]);
        let host = area.as_mut_ptr().cast::<u8>();
        let at = |offset: usize| host.wrapping_add(offset).cast();
        // The first three buffers have parts in the first page. The third buffer ends in the second
        // page, and the fourth is in the last one.
        let buffers = [(64, 936), (1000, 3000), (4000, 6000), (10_000, 100)];
        let mut devices = [0; 4];
        for (index, (offset, len)) in buffers.into_iter().enumerate() {
            cu!(cuda, cuMemHostRegister_v2(at(offset), len, MAPPED))?;
            cu!(cuda, cuMemHostGetDevicePointer_v2(&mut devices[index], at(offset), 0))?;
        }
        for (offset, len) in [(64, 936), (0, 65), (999, 1), (1100, 8), (3999, 2), (0, 3 * 4096)] {
            let registered = cu!(cuda, cuMemHostRegister_v2(at(offset), len, MAPPED));
            refused!(registered, HOST_MEMORY_ALREADY_REGISTERED);
        }
        for ((offset, len), device) in buffers.into_iter().zip(devices) {
            let (mut start, mut size) = (0u64, 0usize);
            let which = Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
            cu!(cuda, cuPointerGetAttribute((&raw mut start).cast(), which, device + 8))?;
            let which = Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE;
            cu!(cuda, cuPointerGetAttribute((&raw mut size).cast(), which, device + 8))?;
            same!((start, size), (at(offset) as u64, len));
        }

        // A copy from the device, a memset, and a kernel write the last bytes of each buffer.
        let pointer = cuda.alloc(4096)?;
        cu!(cuda, cuMemsetD8_v2(pointer, 2, 4096))?;
        let stream = null_mut();
        for ((offset, len), device) in buffers.into_iter().zip(devices) {
            let last = len - 12;
            cu!(cuda, cuMemcpyDtoHAsync_v2(at(offset + last), pointer, 4, stream))?;
            cu!(cuda, cuMemsetD8Async(device + last as u64 + 4, 3, 4, stream))?;
            let (target, value, count) = (device + last as u64 + 8, 0x0404_0404u32, 1u32);
            let mut parameters = [parameter(&target), parameter(&value), parameter(&count)];
            cuda.launch(add, [1, 1], stream, &mut parameters)?;
        }
        cu!(cuda, cuStreamSynchronize(stream))?;
        let mut expected = vec![1u8; 3 * 4096];
        for (offset, len) in buffers {
            expected[offset + len - 12..][..12].copy_from_slice(&[2, 2, 2, 2, 3, 3, 3, 3, 5, 5, 5, 5]);
        }
        let seen = || {
            // SAFETY: the area has 3 pages, and nothing writes them now.
            unsafe { std::slice::from_raw_parts(host, 3 * 4096) }.to_vec()
        };
        ensure!(seen() == expected, "a buffer doesn't contain what was written to it");

        // The buffers are unregistered one by one. Those that are still registered must still work.
        for index in [2, 0, 3, 1] {
            let ((offset, len), device) = (buffers[index], devices[index]);
            cu!(cuda, cuMemsetD8Async(device, 6 + index as u8, len, stream))?;
            cu!(cuda, cuMemcpyHtoDAsync_v2(pointer, at(offset), len.min(4096), stream))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            let copied = cuda.download::<u8>(pointer, len.min(4096))?;
            ensure!(copied.iter().all(|byte| *byte == 6 + index as u8), "buffer {index} differs");
            expected[offset..][..len].fill(6 + index as u8);
            cu!(cuda, cuMemHostUnregister(at(offset)))?;
            refused!(cu!(cuda, cuMemHostUnregister(at(offset))), HOST_MEMORY_NOT_REGISTERED);
        }
        ensure!(seen() == expected, "the buffers differ after they were unregistered");

        // A page can contain many small registered buffers.
        for offset in (0..4096).step_by(64) {
            cu!(cuda, cuMemHostRegister_v2(at(offset), 64, 0))?;
        }
        cu!(cuda, cuMemcpyHtoDAsync_v2(pointer, at(4032), 64, stream))?;
        for offset in (0..4096).step_by(64) {
            cu!(cuda, cuMemHostUnregister(at(offset)))?;
        }
        same!(cuda.download::<u8>(pointer, 64)?, expected[4032..4096]);
        cu!(cuda, cuMemHostRegister_v2(at(0), 3 * 4096, 0))?;
        cu!(cuda, cuMemHostUnregister(at(0)))?;
    }

    fn several_attributes_are_read_at_once(cuda, primary = (device, _)) {
        let pointer = cuda.alloc(4096)?;
        let (mut kind, mut ordinal, mut start) = (9u32, 9, 9u64);
        let mut which = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        ];
        let mut values =
            [(&raw mut kind).cast(), (&raw mut ordinal).cast(), (&raw mut start).cast()];
        let (attributes, data) = (which.as_mut_ptr(), values.as_mut_ptr());
        cu!(cuda, cuPointerGetAttributes(3, attributes, data, pointer + 100))?;
        same!((kind, ordinal, start), (CUmemorytype::CU_MEMORYTYPE_DEVICE.0, device, pointer));
        // For memory that CUDA doesn't know, the query returns 0 as the type and succeeds.
        let local = 0u64;
        cu!(cuda, cuPointerGetAttributes(1, attributes, data, (&raw const local) as u64))?;
        same!(kind, 0);
        refused!(cu!(cuda, cuPointerGetAttributes(3, null_mut(), data, pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuPointerGetAttributes(3, attributes, null_mut(), pointer)), INVALID_VALUE);
        which[1] = Attribute(0);
        let attributes = which.as_mut_ptr();
        refused!(cu!(cuda, cuPointerGetAttributes(3, attributes, data, pointer)), INVALID_VALUE);
    }
}
