//! Host memory that the driver allocates, and host memory that the program registers.

use super::cases;
use crate::cuda::{cu, ensure, refused, same};
use cuda_api::sys::{CUmemorytype, CUpointer_attribute as Attribute};
use std::ptr::null_mut;

/// A page of host memory.
#[repr(align(4096))]
struct Page([u8; 4096]);

const MAPPED: u32 = 2;

cases! {
    fn the_driver_allocates_host_memory(cuda) {
        cuda.primary()?;
        let mut host = null_mut();
        cu!(cuda, cuMemAllocHost_v2(&mut host, 4096))?;
        let pointer = cuda.alloc(4096)?;
        cu!(cuda, cuMemsetD8_v2(pointer, 5, 4096))?;
        cu!(cuda, cuMemcpyDtoHAsync_v2(host, pointer, 4096, null_mut()))?;
        cu!(cuda, cuStreamSynchronize(null_mut()))?;
        // SAFETY: the memory has 4096 bytes, and nothing writes them now.
        let seen = unsafe { std::slice::from_raw_parts(host.cast::<u8>(), 4096) };
        ensure!(seen.iter().all(|byte| *byte == 5), "the copy didn't arrive");
        let mut flags = 7;
        cu!(cuda, cuMemHostGetFlags(&mut flags, host))?;
        refused!(cu!(cuda, cuMemHostGetFlags(null_mut(), host)), INVALID_VALUE);
        cu!(cuda, cuMemFreeHost(host))?;
        refused!(cu!(cuda, cuMemHostGetFlags(&mut flags, host)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAllocHost_v2(null_mut(), 4096)), INVALID_VALUE);
        cu!(cuda, cuMemAllocHost_v2(&mut host, 0))?;
        refused!(cu!(cuda, cuMemHostAlloc(&mut host, 4096, 0x8000)), INVALID_VALUE);
        Ok(())
    }

    fn registered_memory_is_seen_by_the_device(cuda) {
        cuda.primary()?;
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
        refused!(cu!(cuda, cuMemHostUnregister(null_mut())), INVALID_VALUE | HOST_MEMORY_NOT_REGISTERED);
        same!(byte(8), 9);
        Ok(())
    }

    fn registrations_are_checked(cuda) {
        cuda.primary()?;
        let mut page = Box::new(Page([1; 4096]));
        let at = page.0.as_mut_ptr().cast();
        refused!(cu!(cuda, cuMemHostRegister_v2(null_mut(), 4096, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostRegister_v2(at, 0, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemHostRegister_v2(at, 4096, 0x8000)), INVALID_VALUE);
        // The first form works, too.
        cu!(cuda, cuMemHostRegister(at, 4096, 0))?;
        cu!(cuda, cuMemHostUnregister(at))?;
        refused!(cu!(cuda, cuMemHostRegister(at, 0, 0)), INVALID_VALUE);
        Ok(())
    }

    fn several_attributes_are_read_at_once(cuda) {
        let (device, _) = cuda.primary()?;
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
        // Memory that CUDA doesn't know has no type. That isn't an error.
        let local = 0u64;
        cu!(cuda, cuPointerGetAttributes(1, attributes, data, (&raw const local) as u64))?;
        same!(kind, 0);
        refused!(cu!(cuda, cuPointerGetAttributes(3, null_mut(), data, pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuPointerGetAttributes(3, attributes, null_mut(), pointer)), INVALID_VALUE);
        which[1] = Attribute(0);
        let attributes = which.as_mut_ptr();
        refused!(cu!(cuda, cuPointerGetAttributes(3, attributes, data, pointer)), INVALID_VALUE);
        Ok(())
    }
}
