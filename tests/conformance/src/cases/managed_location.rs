//! Managed memory: hints with a type of location, queries of several attributes at once, and
//! attachment to streams.

use super::cases;
use crate::cuda::{cu, get, refused, same};
use cuda_api::sys::{
    CUmem_advise as Advice, CUmem_range_attribute as Attribute, CUmemAllocationType, CUmemLocation,
    CUmemLocationType as Kind,
};
use std::ffi::c_void;
use std::ptr::null_mut;

const DEVICE: CUmemLocation = CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
const HOST: CUmemLocation = CUmemLocation { type_: Kind::CU_MEM_LOCATION_TYPE_HOST, id: 0 };
const NOWHERE: CUmemLocation = CUmemLocation { type_: Kind(99), id: 0 };
const SIZE: usize = 1 << 20;

cases! {
    fn locations_have_a_kind(cuda, primary) {
        let pointer = get!(cuda, cuMemAllocManaged(@, SIZE, 1))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let (preferred, mostly) =
            (Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, Advice::CU_MEM_ADVISE_SET_READ_MOSTLY);
        cu!(cuda, cuMemAdvise_v2(pointer, SIZE, mostly, DEVICE))?;
        cu!(cuda, cuMemAdvise_v2(pointer, SIZE, preferred, HOST))?;
        cu!(cuda, cuMemPrefetchAsync_v2(pointer, SIZE, DEVICE, 0, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        let mut values = [7i32; 3];
        let [read, at, last] = &mut values;
        let mut data: [*mut c_void; 3] =
            [(&raw mut *read).cast(), (&raw mut *at).cast(), (&raw mut *last).cast()];
        let mut sizes = [4; 3];
        let mut which = [
            Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
            Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
            Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
        ];
        let (d, s, w) = (data.as_mut_ptr(), sizes.as_mut_ptr(), which.as_mut_ptr());
        cu!(cuda, cuMemRangeGetAttributes(d, s, w, 3, pointer, SIZE))?;
        // In these attributes, -1 means the CPU.
        same!(values, [1, -1, 0]);
        refused!(cu!(cuda, cuMemRangeGetAttributes(d, s, w, 3, pointer, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAdvise_v2(pointer, SIZE, preferred, NOWHERE)), INVALID_VALUE | INVALID_DEVICE);
        refused!(cu!(cuda, cuMemAdvise_v2(pointer, SIZE, Advice(0), DEVICE)), INVALID_VALUE);
        let called = cu!(cuda, cuMemPrefetchAsync_v2(pointer, SIZE, NOWHERE, 0, stream));
        refused!(called, INVALID_VALUE | INVALID_DEVICE);
        refused!(cu!(cuda, cuMemPrefetchAsync_v2(pointer, SIZE, DEVICE, 99, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPrefetchAsync_v2(pointer, 0, DEVICE, 0, stream)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(pointer))?;
    }

    fn memory_is_attached_to_a_stream(cuda, primary) {
        let pointer = get!(cuda, cuMemAllocManaged(@, 4096, 1))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let (host, single) = (2, 4);
        cu!(cuda, cuStreamAttachMemAsync(stream, pointer, 0, single))?;
        cu!(cuda, cuMemsetD32Async(pointer, 7, 16, stream))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        // SAFETY: managed memory has this address on the host too, and the stream has no work.
        let word = unsafe { (pointer as *const u32).add(15).read_volatile() };
        same!(word, 7);
        cu!(cuda, cuStreamAttachMemAsync(stream, pointer, 0, host))?;
        cu!(cuda, cuStreamSynchronize(stream))?;
        refused!(cu!(cuda, cuStreamAttachMemAsync(stream, pointer, 0, 99)), INVALID_VALUE);
        refused!(cu!(cuda, cuStreamAttachMemAsync(stream, 0, 0, single)), INVALID_VALUE);
        cu!(cuda, cuMemFree_v2(pointer))?;
    }

    fn pools_are_found_by_location(cuda, primary) {
        let (mut device, pinned) = (DEVICE, CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED);
        let expected = get!(cuda, cuDeviceGetDefaultMemPool(@, 0))?;
        let mut found = get!(cuda, cuMemGetDefaultMemPool(@, &mut device, pinned))?;
        same!(found, expected);
        found = null_mut();
        cu!(cuda, cuMemGetMemPool(&mut found, &mut device, pinned))?;
        same!(found, expected);
        cu!(cuda, cuMemSetMemPool(&mut device, pinned, expected))?;
        let none = null_mut();
        refused!(cu!(cuda, cuMemGetDefaultMemPool(none, &mut device, pinned)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemGetMemPool(null_mut(), &mut device, pinned)), INVALID_VALUE);
        let null = null_mut();
        refused!(cu!(cuda, cuMemSetMemPool(&mut device, pinned, null)), INVALID_VALUE | INVALID_HANDLE);
    }
}
