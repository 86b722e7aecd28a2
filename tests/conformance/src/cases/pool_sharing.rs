//! Memory pools that several processes use.

use super::cases;
use crate::cuda::{Cuda, Failure, Outcome, cu, get, refused, same};
use crate::peer::{Channel, Peer, Role};
use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType as Handles, CUmemAllocationType,
    CUmemLocation, CUmemLocationType, CUmemPoolProps, CUmemPoolPtrExportData, CUmemoryPool,
};
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
const READ_WRITE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
const NONE: Handles = Handles::CU_MEM_HANDLE_TYPE_NONE;
const FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
const BYTES: usize = 3 << 20;
const SMALL: usize = 512;
/// The number of the file descriptor that a peer process inherits.
const INHERITED: i32 = 1;

pub(super) const ROLES: &[Role] = &[
    Role { name: "pool_sharing::importer", body: importer },
    Role { name: "pool_sharing::importer_without_context", body: importer_without_context },
];

fn pool(cuda: &Cuda, kind: Handles) -> Outcome<CUmemoryPool> {
    let properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: kind,
        location: DEVICE,
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    };
    Ok(get!(cuda, cuMemPoolCreate(@, &properties))?)
}

/// Exports a pool, and returns its file descriptor.
fn exported(cuda: &Cuda, pool: CUmemoryPool) -> Outcome<OwnedFd> {
    let mut file = -1;
    cu!(cuda, cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, FILE, 0))?;
    // SAFETY: the call has just created the descriptor, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

fn descriptor(number: i32) -> *mut c_void {
    number as usize as *mut c_void
}

fn imported(cuda: &Cuda, file: i32) -> Outcome<CUmemoryPool> {
    Ok(get!(cuda, cuMemPoolImportFromShareableHandle(@, descriptor(file), FILE, 0))?)
}

/// Allocates memory from a pool, and fills it with the value `byte`.
fn filled(cuda: &Cuda, pool: CUmemoryPool, bytes: usize, byte: u8) -> Outcome<u64> {
    let pointer = get!(cuda, cuMemAllocFromPoolAsync(@, bytes, pool, null_mut()))?;
    cu!(cuda, cuMemsetD8Async(pointer, byte, bytes, null_mut()))?;
    cu!(cuda, cuCtxSynchronize())?;
    Ok(pointer)
}

/// Returns the data that another process needs to import an allocation.
fn data_of(cuda: &Cuda, pointer: u64) -> Outcome<[u8; 64]> {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    cu!(cuda, cuMemPoolExportPointer(&mut data, pointer))?;
    Ok(data.reserved)
}

fn import(cuda: &Cuda, pool: CUmemoryPool, data: [u8; 64]) -> Outcome<u64> {
    let (mut pointer, mut data) = (0, CUmemPoolPtrExportData { reserved: data });
    cu!(cuda, cuMemPoolImportPointer(&mut pointer, pool, &mut data))?;
    Ok(pointer)
}

/// Peer role: imports a pool from an inherited file descriptor, and then two allocations of the
/// pool.
fn importer(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    cuda.primary()?;
    let (mut other, mut pointer) = (null_mut(), 0);
    let null = File::open("/dev/null").map_err(Failure::new)?;
    let null = descriptor(null.as_raw_fd());
    refused!(
        cu!(cuda, cuMemPoolImportFromShareableHandle(&mut other, null, FILE, 0)),
        INVALID_VALUE | UNKNOWN | INVALID_HANDLE | OPERATING_SYSTEM
    );
    let shared = imported(cuda, INHERITED)?;
    let (mut access, mut location) = (CUmemAccess_flags(0), DEVICE);
    cu!(cuda, cuMemPoolGetAccess(&mut access, shared, &mut location))?;
    if access != READ_WRITE {
        let own = CUmemAccessDesc { location: DEVICE, flags: READ_WRITE };
        cu!(cuda, cuMemPoolSetAccess(shared, &own, 1))?;
    }
    let (large, small) = (channel.receive()?, channel.receive()?);
    let own = pool(cuda, NONE)?;
    let mut data = CUmemPoolPtrExportData { reserved: large };
    refused!(cu!(cuda, cuMemPoolImportPointer(&mut pointer, own, &mut data)), INVALID_VALUE);
    let (large, small) = (import(cuda, shared, large)?, import(cuda, shared, small)?);
    same!(cuda.download::<u8>(large, BYTES)?, vec![7; BYTES]);
    same!(cuda.download::<u8>(small, SMALL)?, [9; SMALL]);
    cu!(cuda, cuMemsetD8Async(large, 8, BYTES, null_mut()))?;
    let from_shared = cu!(cuda, cuMemAllocFromPoolAsync(&mut pointer, 64, shared, null_mut()));
    refused!(from_shared, INVALID_VALUE);
    cu!(cuda, cuMemFreeAsync(large, null_mut()))?;
    cu!(cuda, cuCtxSynchronize())?;
    cu!(cuda, cuMemFree_v2(small))?;
    refused!(cu!(cuda, cuMemFreeAsync(large, null_mut())), INVALID_VALUE);
    cu!(cuda, cuMemPoolDestroy(shared))?;
    cu!(cuda, cuMemPoolDestroy(own))?;
    channel.signal()
}

/// Peer role: imports a pool and an allocation while the thread has no current context.
fn importer_without_context(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    cu!(cuda, cuInit(0))?;
    let shared = imported(cuda, INHERITED)?;
    let pointer = import(cuda, shared, channel.receive()?)?;
    cuda.primary()?;
    same!(cuda.download::<u8>(pointer, SMALL)?, [9; SMALL]);
    cu!(cuda, cuMemFreeAsync(pointer, null_mut()))?;
    cu!(cuda, cuCtxSynchronize())?;
    cu!(cuda, cuMemPoolDestroy(shared))?;
    channel.signal()
}

cases! {
    fn a_process_imports_anothers_pool(cuda, primary = (device, _)) {
        let (shareable, private, mut default) = (pool(cuda, FILE)?, pool(cuda, NONE)?, null_mut());
        cu!(cuda, cuDeviceGetDefaultMemPool(&mut default, device))?;
        let mut file = -1;
        let to = (&raw mut file).cast();
        for pool in [private, default] {
            let refused = cu!(cuda, cuMemPoolExportToShareableHandle(to, pool, FILE, 0));
            refused!(refused, INVALID_VALUE);
        }
        let large = filled(cuda, shareable, BYTES, 7)?;
        let small = filled(cuda, shareable, SMALL, 9)?;
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        let unshared = filled(cuda, private, SMALL, 1)?;
        // `private` can't be exported, and the pool of `large` hasn't been exported yet.
        for pointer in [unshared, large] {
            refused!(cu!(cuda, cuMemPoolExportPointer(&mut data, pointer)), INVALID_VALUE);
        }
        let file = exported(cuda, shareable)?;
        let mut peer = Peer::start("pool_sharing::importer", Some(file))?;
        let talk = |channel: &mut Channel| {
            channel.send(&data_of(cuda, large)?)?;
            channel.send(&data_of(cuda, small)?)?;
            channel.wait()
        };
        let outcome = talk(&mut peer.channel);
        peer.conclude(outcome)?;
        same!(cuda.download::<u8>(large, BYTES)?, vec![8; BYTES]);
        same!(cuda.download::<u8>(small, SMALL)?, [9; SMALL]);
        for pointer in [large, small, unshared] {
            cu!(cuda, cuMemFreeAsync(pointer, null_mut()))?;
        }
        cu!(cuda, cuCtxSynchronize())?;
        cu!(cuda, cuMemPoolDestroy(shareable))?;
        cu!(cuda, cuMemPoolDestroy(private))?;
    }

    fn a_process_imports_an_allocation_without_a_context(cuda, primary) {
        let pool = pool(cuda, FILE)?;
        let pointer = filled(cuda, pool, SMALL, 9)?;
        let file = exported(cuda, pool)?;
        let mut peer = Peer::start("pool_sharing::importer_without_context", Some(file))?;
        let talk = |channel: &mut Channel| {
            channel.send(&data_of(cuda, pointer)?)?;
            channel.wait()
        };
        let outcome = talk(&mut peer.channel);
        peer.conclude(outcome)?;
        cu!(cuda, cuMemFreeAsync(pointer, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        cu!(cuda, cuMemPoolDestroy(pool))?;
    }
}
