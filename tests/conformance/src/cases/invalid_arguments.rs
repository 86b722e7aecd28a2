//! Null results, null handles, and other values that calls for memory and images refuse.

use super::cases;
use crate::cuda::{cu, get, refused};
use crate::images::{array, floats, of_array, plain, ramp, texture};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_SURFACE_LDST, CUarray_format,
    CUmemAllocationGranularity_flags as Granularity, CUmemAllocationProp, CUmemAllocationType,
    CUmemLocation, CUmemLocationType,
};
use std::ptr::{null, null_mut};

cases! {
    fn arrays_are_checked(cuda, primary) {
        let (mut made, null_array) = (null_mut(), null_mut());
        let source = array(cuda, &floats([8, 4, 0], 0), &ramp(32))?;
        refused!(cu!(cuda, cuArray3DGetDescriptor_v2(null_mut(), source)), INVALID_VALUE);
        refused!(cu!(cuda, cuArrayGetDescriptor_v2(null_mut(), source)), INVALID_VALUE);
        refused!(cu!(cuda, cuArrayCreate_v2(&mut made, null())), INVALID_VALUE);
        let empty = CUDA_ARRAY_DESCRIPTOR {
            Width: 0,
            Height: 0,
            Format: CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
        };
        refused!(cu!(cuda, cuArrayCreate_v2(&mut made, &empty)), INVALID_VALUE);
        refused!(cu!(cuda, cuArrayDestroy(null_array)), INVALID_HANDLE | INVALID_VALUE);
        let mut mipmap = null_mut();
        refused!(cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, null(), 2)), INVALID_VALUE);
        let three = cuda_api::sys::CUDA_ARRAY3D_DESCRIPTOR { NumChannels: 3, ..floats([8, 4, 0], 0) };
        refused!(cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &three, 2)), INVALID_VALUE);
        refused!(cu!(cuda, cuMipmappedArrayDestroy(null_mut())), INVALID_HANDLE | INVALID_VALUE);
        // The query of sparse properties fails for an array that wasn't created as sparse.
        let mut sparse = Default::default();
        refused!(cu!(cuda, cuArrayGetSparseProperties(&mut sparse, source)), INVALID_VALUE);
        cu!(cuda, cuMipmappedArrayCreate(&mut mipmap, &floats([8, 4, 0], 0), 2))?;
        refused!(cu!(cuda, cuMipmappedArrayGetSparseProperties(&mut sparse, mipmap)), INVALID_VALUE);
        cu!(cuda, cuMipmappedArrayDestroy(mipmap))?;
        let object = texture(cuda, &of_array(source), &plain())?;
        refused!(cu!(cuda, cuTexObjectGetResourceDesc(null_mut(), object)), INVALID_VALUE);
        refused!(cu!(cuda, cuTexObjectGetTextureDesc(null_mut(), object)), INVALID_VALUE);
        cu!(cuda, cuTexObjectDestroy(object))?;
        let (mut surface, stored) = (0, array(cuda, &floats([8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST), &ramp(32))?);
        cu!(cuda, cuSurfObjectCreate(&mut surface, &of_array(stored)))?;
        refused!(cu!(cuda, cuSurfObjectGetResourceDesc(null_mut(), surface)), INVALID_VALUE);
        cu!(cuda, cuSurfObjectDestroy(surface))?;
        cu!(cuda, cuArrayDestroy(stored))?;
        cu!(cuda, cuArrayDestroy(source))?;
    }

    fn virtual_memory_is_checked(cuda, primary = (device, _)) {
        let location =
            CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device };
        let mut properties = CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            location,
            ..CUmemAllocationProp::default()
        };
        let (mut bytes, option) = (0, Granularity::CU_MEM_ALLOC_GRANULARITY_MINIMUM);
        cu!(cuda, cuMemGetAllocationGranularity(&mut bytes, &properties, option))?;
        refused!(cu!(cuda, cuMemGetAllocationGranularity(null_mut(), &properties, option)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemGetAllocationGranularity(&mut bytes, null(), option)), INVALID_VALUE);
        let called = cu!(cuda, cuMemGetAllocationGranularity(&mut bytes, &properties, Granularity(99)));
        refused!(called, INVALID_VALUE);
        let (mut handle, mut flags) = (0, 0);
        cu!(cuda, cuMemCreate(&mut handle, bytes, &properties, 0))?;
        refused!(cu!(cuda, cuMemGetAllocationPropertiesFromHandle(null_mut(), handle)), INVALID_VALUE);
        let called = cu!(cuda, cuMemGetAllocationPropertiesFromHandle(&mut properties, 0));
        refused!(called, INVALID_VALUE | INVALID_HANDLE);
        cu!(cuda, cuMemRelease(handle))?;
        refused!(cu!(cuda, cuMemRelease(0)), INVALID_VALUE | INVALID_HANDLE);
        refused!(cu!(cuda, cuMemRetainAllocationHandle(&mut handle, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemGetAccess(&mut flags, &location, 0)), INVALID_VALUE);
    }

    fn pools_are_checked(cuda, primary) {
        let pool = get!(cuda, cuDeviceGetDefaultMemPool(@, 0))?;
        let mut location =
            CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
        refused!(cu!(cuda, cuMemAllocAsync(null_mut(), 64, null_mut())), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPoolGetAccess(null_mut(), pool, &mut location)), INVALID_VALUE);
        refused!(cu!(cuda, cuMemPoolSetAccess(pool, null(), 1)), INVALID_VALUE);
        let none = null_mut();
        refused!(cu!(cuda, cuMemPoolTrimTo(none, 0)), INVALID_VALUE | INVALID_HANDLE);
    }

    fn modules_and_links_are_checked(cuda, primary) {
        let (mut module, none) = (null_mut(), null_mut());
        refused!(cu!(cuda, cuModuleLoadFatBinary(&mut module, null())), INVALID_VALUE);
        let called = cu!(cuda, cuLinkCreate_v2(0, null_mut(), null_mut(), null_mut()));
        refused!(called, INVALID_VALUE);
        refused!(cu!(cuda, cuLinkDestroy(none)), INVALID_VALUE | INVALID_HANDLE);
    }
}
