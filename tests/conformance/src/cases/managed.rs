//! Managed memory: allocation, access from the host and kernels, and hints.

use super::cases;
use crate::cuda::parameter;
use crate::cuda::{cu, ensure, get, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CU_STREAM_LEGACY, CUmem_advise as Advice, CUmem_range_attribute as Attribute, CUmemLocation,
    CUmemLocationType, CUmemorytype, CUpointer_attribute,
};
use std::ptr::null_mut;

const GLOBAL: u32 = 1;
const CPU: i32 = -1;
const INVALID: i32 = -2;

cases! {
    fn host_and_device_see_each_others_writes(cuda, primary) {
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let mut pointer = get!(cuda, cuMemAllocManaged(@, 4096, GLOBAL))?;
        // SAFETY: managed memory has this address on the host too, and no kernel is running.
        let words = || unsafe { std::slice::from_raw_parts_mut(pointer as *mut u32, 1024) };
        words().fill(40);
        let (value, count) = (2u32, 1024u32);
        let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
        cuda.launch(add, [8, 128], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        ensure!(words().iter().all(|word| *word == 42), "a word isn't 42");
        cu!(cuda, cuMemsetD32_v2(pointer, 7, 512))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!((words()[511], words()[512]), (7, 42));
        same!(cuda.download::<u32>(pointer, 1)?, [7]);
        cu!(cuda, cuMemFree_v2(pointer))?;
        refused!(cu!(cuda, cuMemFree_v2(pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAllocManaged(&mut pointer, 0, GLOBAL)), INVALID_VALUE);
        for flags in [0, 3, 4] {
            refused!(cu!(cuda, cuMemAllocManaged(&mut pointer, 16, flags)), INVALID_VALUE);
        }
    }

    fn managed_pointers_have_attributes(cuda, primary) {
        let (mut pointer, mut base, mut size) = (0, 0, 0);
        cu!(cuda, cuMemAllocManaged(&mut pointer, 1 << 20, GLOBAL))?;
        cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut size, pointer + 8))?;
        same!((base, size), (pointer, 1 << 20));
        let (mut kind, mut managed, mut host) = (0u32, 0u32, 0u64);
        let get = |attribute, value| cu!(cuda, cuPointerGetAttribute(value, attribute, pointer + 8));
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast())?;
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, (&raw mut managed).cast())?;
        get(CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER, (&raw mut host).cast())?;
        same!((kind, managed & 0xff), (CUmemorytype::CU_MEMORYTYPE_DEVICE.0, 1));
        same!(host, pointer + 8);
        refused!(cu!(cuda, cuMemFreeHost(pointer as *mut _)), INVALID_VALUE);
        let mut device = 0;
        refused!(cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, pointer as *mut _, 0)), INVALID_VALUE);
    }

    fn hints_are_remembered(cuda, primary) {
        let (mut pointer, size) = (0, 1 << 20);
        cu!(cuda, cuMemAllocManaged(&mut pointer, size, GLOBAL))?;
        let get = |attribute, len| {
            let mut value = [7i32; 1];
            cu!(cuda, cuMemRangeGetAttribute(value.as_mut_ptr().cast(), 4, attribute, pointer, len))?;
            Ok::<_, crate::cuda::Failure>(value[0])
        };
        let preferred = Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
        let prefetched = Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
        let prefetched_type = Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE;
        let read_mostly = Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
        same!((get(preferred, size)?, get(prefetched, size)?, get(read_mostly, size)?), (INVALID, INVALID, 0));
        cu!(cuda, cuMemAdvise(pointer, size, Advice::CU_MEM_ADVISE_SET_READ_MOSTLY, 0))?;
        cu!(cuda, cuMemAdvise(pointer, size / 2, Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0))?;
        cu!(cuda, cuMemPrefetchAsync(pointer, size, CPU, null_mut()))?;
        same!((get(read_mostly, size)?, get(preferred, size / 2)?, get(preferred, size)?), (1, 0, INVALID));
        same!((get(prefetched, size)?, get(prefetched_type, size)?), (CPU, 2));
        let mut users = [7i32; 3];
        cu!(cuda, cuMemAdvise(pointer, size, Advice::CU_MEM_ADVISE_SET_ACCESSED_BY, 0))?;
        let accessed = Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
        cu!(cuda, cuMemRangeGetAttribute(users.as_mut_ptr().cast(), 12, accessed, pointer, size))?;
        same!(users, [0, INVALID, INVALID]);
        refused!(cu!(cuda, cuMemAdvise(pointer, size, Advice(0), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAdvise(pointer, size, Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 5)), INVALID_DEVICE);
        refused!(cu!(cuda, cuMemPrefetchAsync(pointer, size, 5, null_mut())), INVALID_DEVICE);
        refused!(cu!(cuda, cuMemPrefetchAsync(pointer, 2 * size, 0, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPrefetchAsync(pointer, 0, 0, null_mut())), INVALID_VALUE);
        let device = cuda.alloc(4096)?;
        refused!(cu!(cuda, cuMemPrefetchAsync(device, 4096, 0, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemAdvise(device, 4096, Advice::CU_MEM_ADVISE_SET_READ_MOSTLY, 0)), INVALID_VALUE);
        let mut value = 0i32;
        let data = (&raw mut value).cast();
        refused!(cu!(cuda, cuMemRangeGetAttribute(data, 4, Attribute(99), pointer, size)), INVALID_VALUE);
    }

    fn batches_of_hints_are_checked_and_remembered(cuda, primary) {
        let managed = get!(cuda, cuMemAllocManaged(@, 4 << 20, GLOBAL))?;
        let stream = get!(cuda, cuStreamCreate(@, 1))?;
        let device = cuda.alloc(1 << 20)?;
        let (mut at, mut sizes) = ([managed], [1usize << 20]);
        let kind = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        let (mut places, mut firsts) = ([CUmemLocation { type_: kind, id: 0 }], [0usize, 1]);
        let (lens, to, from) = (sizes.as_mut_ptr(), places.as_mut_ptr(), firsts.as_mut_ptr());
        let list = at.as_mut_ptr();
        cu!(cuda, cuMemDiscardBatchAsync(list, lens, 1, 0, stream))?;
        cu!(cuda, cuMemPrefetchBatchAsync(list, lens, 1, to, from, 1, 0, stream))?;
        cu!(cuda, cuMemDiscardAndPrefetchBatchAsync(list, lens, 1, to, from, 1, 0, stream))?;
        let mut place = 7i32;
        let last = Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
        cu!(cuda, cuMemRangeGetAttribute((&raw mut place).cast(), 4, last, managed, 1 << 20))?;
        same!(place, 0);
        refused!(cu!(cuda, cuMemPrefetchBatchAsync(list, lens, 1, to, from, 1, 0, CU_STREAM_LEGACY)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPrefetchBatchAsync(list, lens, 0, to, from, 1, 0, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPrefetchBatchAsync(list, lens, 1, to, from, 2, 0, stream)), INVALID_VALUE);
        refused!(
            cu!(cuda, cuMemDiscardAndPrefetchBatchAsync(list, lens, 0, to, from, 1, 0, stream)),
            INVALID_VALUE
        );
        let mut other = [device];
        let list = other.as_mut_ptr();
        refused!(cu!(cuda, cuMemPrefetchBatchAsync(list, lens, 1, to, from, 1, 0, stream)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemDiscardBatchAsync(list, lens, 1, 0, stream)), INVALID_VALUE);
        cu!(cuda, cuStreamSynchronize(stream))?;
    }
}
