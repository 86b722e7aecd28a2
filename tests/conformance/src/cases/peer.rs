//! Access from one device to the memory of another one. On a host with one device, only the errors
//! can be checked.

use super::cases;
use crate::cuda::{Cuda, Outcome, cu, ensure, get, parameter, refused, same};
use crate::kernels::FILL;
use cuda_api::sys::{
    CUatomicOperation, CUcontext, CUdevice_P2PAttribute as Peer, CUmemAccess_flags as Access,
    CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationProp, CUmemAllocationType,
    CUmemLocation, CUmemLocationType as Place,
};
use std::ptr::null_mut;

const ATTRIBUTES: [Peer; 5] = [
    Peer::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
    Peer::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED,
    Peer::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
    Peer::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
    Peer::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED,
];

/// Returns whether there is a second device, device 1.
pub(super) fn has_second(cuda: &Cuda) -> Outcome<bool> {
    let mut count = 0;
    cu!(cuda, cuInit(0))?;
    cu!(cuda, cuDeviceGetCount(&mut count))?;
    Ok(count > 1)
}

/// Returns whether device 0 can access the memory of device 1.
pub(super) fn reaches_second(cuda: &Cuda) -> Outcome<bool> {
    let can = get!(cuda, cuDeviceCanAccessPeer(@, 0, 1))?;
    Ok(can == 1)
}

/// Creates a context on a device, which becomes the current one.
pub(super) fn context(cuda: &Cuda, device: i32) -> Outcome<CUcontext> {
    Ok(get!(cuda, cuCtxCreate_v2(@, 0, device))?)
}

cases! {
    fn links_between_devices_have_attributes(cuda) {
        let mut value = 7;
        if has_second(cuda)? {
            let reaches = reaches_second(cuda)?;
            for attribute in ATTRIBUTES {
                cu!(cuda, cuDeviceGetP2PAttribute(&mut value, attribute, 0, 1))?;
                let yes_or_no = attribute != Peer::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
                ensure!(value >= 0 && (!yes_or_no || value <= 1), "{attribute:?} is {value}");
                if attribute == Peer::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED {
                    same!(value == 1, reaches);
                }
            }
            refused!(cu!(cuda, cuDeviceGetP2PAttribute(&mut value, Peer(99), 0, 1)), INVALID_VALUE);
            let operations = [
                CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_ADD,
                CUatomicOperation::CU_ATOMIC_OPERATION_CAS,
            ];
            let mut capabilities = [u32::MAX; 2];
            cu!(
                cuda,
                cuDeviceGetP2PAtomicCapabilities(
                    capabilities.as_mut_ptr(), operations.as_ptr(), 2, 0, 1,
                )
            )?;
            ensure!(!capabilities.contains(&u32::MAX), "{capabilities:?}");
        }
        let supported = Peer::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
        refused!(cu!(cuda, cuDeviceGetP2PAttribute(&mut value, supported, 0, 0)), INVALID_DEVICE);
    }

    fn kernels_use_a_peers_memory_once_access_is_enabled(cuda) {
        if !has_second(cuda)? {
            return Ok(());
        }
        let far = context(cuda, 1)?;
        let memory = cuda.alloc(4096)?;
        cuda.upload(memory, &[40u32; 1024])?;
        let near = context(cuda, 0)?;
        if !reaches_second(cuda)? {
            refused!(cu!(cuda, cuCtxEnablePeerAccess(far, 0)), PEER_ACCESS_UNSUPPORTED);
            return Ok(());
        }
        refused!(cu!(cuda, cuCtxDisablePeerAccess(far)), PEER_ACCESS_NOT_ENABLED);
        refused!(cu!(cuda, cuCtxEnablePeerAccess(far, 1)), INVALID_VALUE);
        cu!(cuda, cuCtxEnablePeerAccess(far, 0))?;
        refused!(cu!(cuda, cuCtxEnablePeerAccess(far, 0)), PEER_ACCESS_ALREADY_ENABLED);
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let (value, count) = (2u32, 1024u32);
        let mut parameters = [parameter(&memory), parameter(&value), parameter(&count)];
        cuda.launch(add, [8, 128], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(memory, 1024)?, vec![42; 1024]);
        cu!(cuda, cuCtxDisablePeerAccess(far))?;
        refused!(cu!(cuda, cuCtxDisablePeerAccess(far)), PEER_ACCESS_NOT_ENABLED);
        cu!(cuda, cuCtxDestroy_v2(near))?;
        cu!(cuda, cuCtxSetCurrent(far))?;
        cu!(cuda, cuMemFree_v2(memory))?;
        cu!(cuda, cuCtxDestroy_v2(far))?;
    }

    fn memory_is_copied_between_devices(cuda) {
        if !has_second(cuda)? {
            return Ok(());
        }
        let far = context(cuda, 1)?;
        let to = cuda.alloc(256)?;
        let near = context(cuda, 0)?;
        let from = cuda.alloc(256)?;
        let values: Vec<u32> = (0..64).collect();
        cuda.upload(from, &values)?;
        cu!(cuda, cuMemcpyPeer(to, far, from, near, 128))?;
        cu!(cuda, cuMemcpyPeerAsync(to + 128, far, from + 128, near, 128, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(to, 64)?, values);
        cu!(cuda, cuMemFree_v2(from))?;
        cu!(cuda, cuCtxDestroy_v2(near))?;
        cu!(cuda, cuCtxDestroy_v2(far))?;
    }

    fn mapped_memory_lists_the_devices_with_access(cuda) {
        if !has_second(cuda)? || !reaches_second(cuda)? {
            return Ok(());
        }
        let far = context(cuda, 1)?;
        let near = context(cuda, 0)?;
        let there = |id| CUmemLocation { type_: Place::CU_MEM_LOCATION_TYPE_DEVICE, id };
        let properties = CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            location: there(1),
            ..Default::default()
        };
        let (mut size, mut handle, mut at) = (0, 0, 0);
        let least = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        cu!(cuda, cuMemGetAllocationGranularity(&mut size, &properties, least))?;
        cu!(cuda, cuMemAddressReserve(&mut at, size, 0, 0, 0))?;
        cu!(cuda, cuMemCreate(&mut handle, size, &properties, 0))?;
        cu!(cuda, cuMemMap(at, size, 0, handle, 0))?;
        let (read_write, none) =
            (Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE, Access::CU_MEM_ACCESS_FLAGS_PROT_NONE);
        let access = |device| -> Outcome<Access> {
            let (mut flags, location) = (7, there(device));
            cu!(cuda, cuMemGetAccess(&mut flags, &location, at))?;
            Ok(Access(flags as u32))
        };
        // Give access only to the device on which the memory isn't located.
        let first = CUmemAccessDesc { location: there(0), flags: read_write };
        cu!(cuda, cuMemSetAccess(at, size, &first, 1))?;
        same!((access(0)?, access(1)?), (read_write, none));
        cuda.upload(at, &[40u32; 1024])?;
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let (value, count) = (2u32, 1024u32);
        let mut parameters = [parameter(&at), parameter(&value), parameter(&count)];
        cuda.launch(add, [8, 128], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        let both = [0, 1].map(|id| CUmemAccessDesc { location: there(id), flags: read_write });
        cu!(cuda, cuMemSetAccess(at, size, both.as_ptr(), 2))?;
        same!((access(0)?, access(1)?), (read_write, read_write));
        cu!(cuda, cuCtxSetCurrent(far))?;
        same!(cuda.download::<u32>(at, 1024)?, vec![42; 1024]);
        cu!(cuda, cuMemUnmap(at, size))?;
        cu!(cuda, cuMemRelease(handle))?;
        cu!(cuda, cuMemAddressFree(at, size))?;
        cu!(cuda, cuCtxDestroy_v2(near))?;
        cu!(cuda, cuCtxDestroy_v2(far))?;
    }

    fn a_pool_gives_other_devices_access(cuda) {
        if !has_second(cuda)? || !reaches_second(cuda)? {
            return Ok(());
        }
        let far = context(cuda, 1)?;
        let near = context(cuda, 0)?;
        let pool = get!(cuda, cuDeviceGetDefaultMemPool(@, 0))?;
        let there = |id| CUmemLocation { type_: Place::CU_MEM_LOCATION_TYPE_DEVICE, id };
        let (read_write, none) =
            (Access::CU_MEM_ACCESS_FLAGS_PROT_READWRITE, Access::CU_MEM_ACCESS_FLAGS_PROT_NONE);
        let access = |device| -> Outcome<Access> {
            let (mut flags, mut location) = (Access(7), there(device));
            cu!(cuda, cuMemPoolGetAccess(&mut flags, pool, &mut location))?;
            Ok(flags)
        };
        same!((access(0)?, access(1)?), (read_write, none));
        let mut given = CUmemAccessDesc { location: there(1), flags: read_write };
        cu!(cuda, cuMemPoolSetAccess(pool, &given, 1))?;
        same!((access(0)?, access(1)?), (read_write, read_write));
        let memory = get!(cuda, cuMemAllocAsync(@, 4096, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        cuda.upload(memory, &[40u32; 1024])?;
        cu!(cuda, cuCtxSetCurrent(far))?;
        let (_, add) = cuda.kernel(FILL, c"add")?;
        let (value, count) = (2u32, 1024u32);
        let mut parameters = [parameter(&memory), parameter(&value), parameter(&count)];
        cuda.launch(add, [8, 128], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        same!(cuda.download::<u32>(memory, 1024)?, vec![42; 1024]);
        cu!(cuda, cuCtxSetCurrent(near))?;
        cu!(cuda, cuMemFreeAsync(memory, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        given.flags = none;
        cu!(cuda, cuMemPoolSetAccess(pool, &given, 1))?;
        same!(access(1)?, none);
        given.location = there(0);
        refused!(cu!(cuda, cuMemPoolSetAccess(pool, &given, 1)), INVALID_DEVICE);
        cu!(cuda, cuCtxDestroy_v2(near))?;
        cu!(cuda, cuCtxDestroy_v2(far))?;
    }
}
