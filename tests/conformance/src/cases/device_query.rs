//! Less common device queries.

use super::cases;
use crate::cuda::{cu, ensure, refused, same};
use cuda_api::sys::{
    CUarray_format, CUdevice_P2PAttribute as Peer, CUdevice_attribute as Attribute, CUdevprop,
    CUgraphMem_attribute as GraphMemory, CUuuid,
};
use std::ptr::null_mut;

cases! {
    fn a_device_is_not_its_own_peer(cuda) {
        cu!(cuda, cuInit(0))?;
        let mut value = 7;
        cu!(cuda, cuDeviceCanAccessPeer(&mut value, 0, 0))?;
        same!(value, 0);
        let access = Peer::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
        refused!(cu!(cuda, cuDeviceGetP2PAttribute(&mut value, access, 0, 0)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetP2PAttribute(&mut value, access, 0, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceCanAccessPeer(&mut value, 0, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceCanAccessPeer(null_mut(), 0, 0)), INVALID_VALUE);
    }

    fn textures_of_memory_have_a_maximum_width(cuda, primary) {
        let (mut bytes, mut floats) = (0, 0);
        let (byte, float) =
            (CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8, CUarray_format::CU_AD_FORMAT_FLOAT);
        cu!(cuda, cuDeviceGetTexture1DLinearMaxWidth(&mut bytes, byte, 1, 0))?;
        cu!(cuda, cuDeviceGetTexture1DLinearMaxWidth(&mut floats, float, 4, 0))?;
        ensure!(bytes >= floats && floats >= 1 << 20, "the widths are {bytes} and {floats}");
        refused!(cu!(cuda, cuDeviceGetTexture1DLinearMaxWidth(null_mut(), byte, 1, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetTexture1DLinearMaxWidth(&mut bytes, byte, 1, 99)), INVALID_DEVICE);
    }

    fn the_first_forms_of_queries_agree_with_the_others(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut first, mut second) = (CUuuid::default(), CUuuid::default());
        cu!(cuda, cuDeviceGetUuid(&mut first, 0))?;
        cu!(cuda, cuDeviceGetUuid_v2(&mut second, 0))?;
        same!(first.bytes, second.bytes);
        let mut properties = CUdevprop::default();
        cu!(cuda, cuDeviceGetProperties(&mut properties, 0))?;
        same!((properties.SIMDWidth, properties.maxThreadsPerBlock), (32, 1024));
        let registers = Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK;
        same!(properties.regsPerBlock, cuda.attribute(0, registers)?);
        let grid = Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X;
        same!(properties.maxGridSize[0], cuda.attribute(0, grid)?);
        refused!(cu!(cuda, cuDeviceGetUuid(&mut first, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetProperties(&mut properties, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetProperties(null_mut(), 0)), INVALID_VALUE);
    }

    fn locally_unique_ids_exist_on_windows_only(cuda) {
        cu!(cuda, cuInit(0))?;
        let (mut id, mut mask) = ([0u8; 8], 0);
        let called = cu!(cuda, cuDeviceGetLuid(id.as_mut_ptr().cast(), &mut mask, 0));
        refused!(called, NOT_SUPPORTED | INVALID_VALUE | INVALID_DEVICE);
    }

    fn devices_that_do_not_exist_are_refused(cuda, primary) {
        let (mut major, mut minor, mut pool, mut bytes) = (0, 0, null_mut(), 0u64);
        let mut text = [0u8; 32];
        refused!(cu!(cuda, cuDeviceComputeCapability(&mut major, &mut minor, 99)), INVALID_DEVICE);
        let to = text.as_mut_ptr().cast();
        refused!(cu!(cuda, cuDeviceGetPCIBusId(to, 32, 99)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetPCIBusId(null_mut(), 32, 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuDeviceGetMemPool(&mut pool, 99)), INVALID_VALUE);
        cu!(cuda, cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        refused!(cu!(cuda, cuDeviceSetMemPool(99, pool)), INVALID_VALUE | INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGraphMemTrim(99)), INVALID_DEVICE);
        let (used, value) = (GraphMemory::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, (&raw mut bytes).cast());
        refused!(cu!(cuda, cuDeviceGetGraphMemAttribute(99, used, value)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceGetGraphMemAttribute(0, GraphMemory(99), value)), INVALID_VALUE);
        let highest = GraphMemory::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
        cu!(cuda, cuDeviceSetGraphMemAttribute(0, highest, value))?;
        cu!(cuda, cuDeviceGetGraphMemAttribute(0, highest, value))?;
        same!(bytes, 0);
        refused!(cu!(cuda, cuDeviceSetGraphMemAttribute(99, highest, value)), INVALID_DEVICE);
        refused!(cu!(cuda, cuDeviceSetGraphMemAttribute(0, used, value)), INVALID_VALUE);
    }
}
