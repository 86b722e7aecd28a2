//! Memory and events that several processes use.

use super::cases;
use super::peer::{context, has_second, reaches_second};
use crate::cuda::{Cuda, Outcome, cu, get, parameter, refused, same};
use crate::free_memory::leaves_free_memory;
use crate::kernels::FILL;
use crate::peer::{Channel, Peer, Role};
use cuda_api::sys::{
    CUevent_flags, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle, CUmemAccess_flags,
    CUmemAccessDesc, CUmemAllocationHandleType as Handles, CUmemAllocationProp,
    CUmemAllocationType, CUmemLocation, CUmemLocationType,
};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

const LAZY: u32 = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
const UNTIMED: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
const INTERPROCESS: u32 = CUevent_flags::CU_EVENT_INTERPROCESS.0 | UNTIMED;
const BYTES: usize = 4 << 20;
const CHUNK: usize = 32 << 20;
const FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
/// The number of the file descriptor that a peer process inherits.
const INHERITED: i32 = 1;

pub(super) const ROLES: &[Role] = &[
    Role { name: "ipc::opener", body: opener },
    Role { name: "ipc::far_opener", body: far_opener },
    Role { name: "ipc::holder", body: holder },
    Role { name: "ipc::exporter", body: exporter },
    Role { name: "ipc::waiter", body: waiter },
    Role { name: "ipc::importer", body: importer },
    Role { name: "ipc::hoarder", body: hoarder },
];

fn bytes(handle: CUipcMemHandle) -> [u8; 64] {
    handle.reserved.map(|byte| byte as u8)
}

fn handle(bytes: [u8; 64]) -> CUipcMemHandle {
    CUipcMemHandle { reserved: bytes.map(|byte| byte as _) }
}

fn event_handle(bytes: [u8; 64]) -> CUipcEventHandle {
    CUipcEventHandle { reserved: bytes.map(|byte| byte as _) }
}

fn get_handle(cuda: &Cuda, pointer: u64) -> Outcome<[u8; 64]> {
    let mut got = CUipcMemHandle::default();
    cu!(cuda, cuIpcGetMemHandle(&mut got, pointer))?;
    Ok(bytes(got))
}

fn open(cuda: &Cuda, bytes: [u8; 64]) -> Outcome<u64> {
    Ok(get!(cuda, cuIpcOpenMemHandle_v2(@, handle(bytes), LAZY))?)
}

/// Peer role: opens memory that another process has exported. Uses it before and after that process
/// frees it, and closes it.
fn opener(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let shared = channel.receive::<64>()?;
    let size = u64::from_le_bytes(channel.receive()?) as usize;
    cuda.primary()?;
    let mut other = 0;
    refused!(cu!(cuda, cuIpcOpenMemHandle_v2(&mut other, handle(shared), 0)), INVALID_VALUE);
    let pointer = open(cuda, shared)?;
    cu!(cuda, cuIpcOpenMemHandle_v2(&mut other, handle(shared), LAZY))?;
    same!(other, pointer);
    // Unlike `cuIpcOpenMemHandle_v2`, the first version fails if the memory is already open.
    refused!(cu!(cuda, cuIpcOpenMemHandle(&mut other, handle(shared), LAZY)), ALREADY_MAPPED);
    let (mut base, mut len) = (0, 0);
    cu!(cuda, cuMemGetAddressRange_v2(&mut base, &mut len, pointer + 5))?;
    same!((base, len), (pointer, size));
    same!(cuda.download::<u8>(pointer, size)?, vec![7; size]);
    cu!(cuda, cuMemsetD8_v2(pointer, 8, size))?;
    cu!(cuda, cuCtxSynchronize())?;
    refused!(cu!(cuda, cuMemFree_v2(pointer)), INVALID_VALUE);
    let mut again = CUipcMemHandle::default();
    refused!(cu!(cuda, cuIpcGetMemHandle(&mut again, pointer)), INVALID_VALUE);
    channel.signal()?;
    channel.wait()?;
    // The process that exported the memory has freed it, but it stays usable here.
    same!(cuda.download::<u8>(pointer, size)?, vec![8; size]);
    cu!(cuda, cuIpcCloseMemHandle(pointer))?;
    same!(cuda.download::<u8>(pointer + 1, 1)?, [8]);
    refused!(cu!(cuda, cuIpcCloseMemHandle(pointer + 1)), INVALID_VALUE);
    cu!(cuda, cuIpcCloseMemHandle(pointer))?;
    refused!(cu!(cuda, cuIpcCloseMemHandle(pointer)), INVALID_VALUE);
    let forged = [0x5a; 64];
    refused!(cu!(cuda, cuIpcOpenMemHandle_v2(&mut other, handle(forged), LAZY)), INVALID_VALUE);
    refused!(cu!(cuda, cuIpcOpenMemHandle(&mut other, handle(forged), LAZY)), INVALID_VALUE);
    Ok(())
}

/// Peer role: opens memory of another process in a context on device 0, although the memory is on
/// device 1. Changes the memory with a kernel.
fn far_opener(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let shared = channel.receive::<64>()?;
    cuda.primary()?;
    let pointer = open(cuda, shared)?;
    let (_, add) = cuda.kernel(FILL, c"add")?;
    let (value, count) = (2u32, 1024u32);
    let mut parameters = [parameter(&pointer), parameter(&value), parameter(&count)];
    cuda.launch(add, [8, 128], null_mut(), &mut parameters)?;
    cu!(cuda, cuCtxSynchronize())?;
    same!(cuda.download::<u32>(pointer, 1024)?, vec![42; 1024]);
    cu!(cuda, cuIpcCloseMemHandle(pointer))?;
    channel.signal()
}

/// Peer role: opens memory of another process and keeps it open, without changing it.
fn holder(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let shared = channel.receive::<64>()?;
    cuda.primary()?;
    let pointer = get!(cuda, cuIpcOpenMemHandle(@, handle(shared), LAZY))?;
    same!(cuda.download::<u8>(pointer, 1)?, [7]);
    channel.signal()?;
    channel.wait()?;
    cu!(cuda, cuIpcCloseMemHandle(pointer))?;
    Ok(())
}

/// Fills an allocation of `size` bytes, and lets a peer open, check, and change it.
fn share(cuda: &Cuda, pointer: u64, size: usize) -> Outcome {
    cu!(cuda, cuMemsetD8_v2(pointer, 7, size))?;
    cu!(cuda, cuCtxSynchronize())?;
    let shared = get_handle(cuda, pointer)?;
    same!(get_handle(cuda, pointer + size as u64 / 2)?, shared);
    let mut own = 0;
    refused!(cu!(cuda, cuIpcOpenMemHandle_v2(&mut own, handle(shared), LAZY)), INVALID_CONTEXT);
    let mut peer = Peer::start("ipc::opener", None)?;
    let talk = |channel: &mut Channel| {
        channel.send(&shared)?;
        channel.send(&(size as u64).to_le_bytes())?;
        channel.wait()?;
        same!(cuda.download::<u8>(pointer, size)?, vec![8; size]);
        cu!(cuda, cuMemFree_v2(pointer))?;
        channel.signal()
    };
    let outcome = talk(&mut peer.channel);
    peer.conclude(outcome)
}

/// Peer role: exports memory and exits while the other process uses it.
fn exporter(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    cuda.primary()?;
    let pointer = cuda.alloc(BYTES)?;
    cu!(cuda, cuMemsetD8_v2(pointer, 7, BYTES))?;
    cu!(cuda, cuCtxSynchronize())?;
    channel.send(&get_handle(cuda, pointer)?)?;
    channel.wait()
}

/// Peer role: exports as many events as the other process asks for, and keeps them. If an export
/// fails, prints how many succeeded before it. This tests the device's limits; NVIDIA's library has
/// no such limits.
fn hoarder(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let most = u32::from_le_bytes(channel.receive()?);
    cuda.primary()?;
    let export = |_: &u32| {
        let (mut event, mut handle) = (null_mut(), CUipcEventHandle::default());
        cu!(cuda, cuEventCreate(&mut event, INTERPROCESS))?;
        cu!(cuda, cuIpcGetEventHandle(&mut handle, event))
    };
    let refused = (0..most).find_map(|number| Some(number).zip(export(&number).err()));
    println!("{refused:?}");
    channel.wait()
}

/// Peer role: waits for an event of another process, on the host and in a stream, and then records
/// it.
fn waiter(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let shared = event_handle(channel.receive()?);
    let memory = channel.receive()?;
    cuda.primary()?;
    let event = get!(cuda, cuIpcOpenEventHandle(@, shared))?;
    let stream = get!(cuda, cuStreamCreate(@, 1))?;
    let pointer = open(cuda, memory)?;
    let copy = cuda.alloc(4)?;
    refused!(cu!(cuda, cuEventQuery(event)), NOT_READY);
    cu!(cuda, cuStreamWaitEvent(stream, event, 0))?;
    cu!(cuda, cuMemcpyDtoDAsync_v2(copy, pointer, 4, stream))?;
    refused!(cu!(cuda, cuStreamQuery(stream)), NOT_READY);
    channel.signal()?;
    cu!(cuda, cuEventSynchronize(event))?;
    cu!(cuda, cuEventQuery(event))?;
    cu!(cuda, cuStreamSynchronize(stream))?;
    same!(cuda.download::<u32>(copy, 1)?, [6]);
    // After this, the other process waits for the record that this process makes.
    cu!(cuda, cuMemsetD32Async(pointer, 5, 1, stream))?;
    cu!(cuda, cuEventRecord(event, stream))?;
    channel.signal()?;
    let (mut again, mut time) = (CUipcEventHandle::default(), 0.0);
    refused!(cu!(cuda, cuIpcGetEventHandle(&mut again, event)), INVALID_HANDLE);
    refused!(cu!(cuda, cuEventElapsedTime_v2(&mut time, event, event)), INVALID_HANDLE);
    let mut other = null_mut();
    let forged = event_handle([0x5a; 64]);
    refused!(cu!(cuda, cuIpcOpenEventHandle(&mut other, forged)), MAP_FAILED);
    channel.wait()?;
    cu!(cuda, cuEventDestroy_v2(event))?;
    Ok(())
}

/// Returns the properties of physical memory that can be exported as a handle of this type.
fn exportable(kind: Handles) -> CUmemAllocationProp {
    let type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: kind,
        location: CUmemLocation { type_, id: 0 },
        ..CUmemAllocationProp::default()
    }
}

/// Maps physical memory at a new address.
fn map(cuda: &Cuda, physical: u64) -> Outcome<u64> {
    let pointer = get!(cuda, cuMemAddressReserve(@, CHUNK, 0, 0, 0))?;
    cu!(cuda, cuMemMap(pointer, CHUNK, 0, physical, 0))?;
    let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    let access = CUmemAccessDesc { location: exportable(FILE).location, flags };
    cu!(cuda, cuMemSetAccess(pointer, CHUNK, &access, 1))?;
    Ok(pointer)
}

/// Peer role: imports physical memory from an inherited file descriptor.
fn importer(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    cuda.primary()?;
    let (mut physical, mut other) = (0, 0);
    let descriptor = |number: i32| number as usize as *mut std::ffi::c_void;
    cu!(cuda, cuMemImportFromShareableHandle(&mut physical, descriptor(INHERITED), FILE))?;
    let pointer = map(cuda, physical)?;
    same!(cuda.download::<u8>(pointer, CHUNK)?, vec![3; CHUNK]);
    cu!(cuda, cuMemsetD8_v2(pointer, 4, CHUNK))?;
    cu!(cuda, cuCtxSynchronize())?;
    let mut properties = CUmemAllocationProp::default();
    cu!(cuda, cuMemGetAllocationPropertiesFromHandle(&mut properties, physical))?;
    same!(properties.requestedHandleTypes, Handles::CU_MEM_HANDLE_TYPE_NONE);
    same!(properties.location.id, 0);
    let mut file = -1;
    let to = (&raw mut file).cast();
    refused!(cu!(cuda, cuMemExportToShareableHandle(to, physical, FILE, 0)), INVALID_VALUE);
    let null = File::open("/dev/null").map_err(crate::cuda::Failure::new)?;
    let null = descriptor(null.as_raw_fd());
    refused!(
        cu!(cuda, cuMemImportFromShareableHandle(&mut other, null, FILE)),
        INVALID_VALUE | UNKNOWN
    );
    refused!(cu!(cuda, cuMemImportFromShareableHandle(&mut other, descriptor(77), FILE)), UNKNOWN);
    channel.signal()?;
    channel.wait()?;
    same!(cuda.download::<u8>(pointer, 1)?, [4]);
    cu!(cuda, cuMemUnmap(pointer, CHUNK))?;
    cu!(cuda, cuMemRelease(physical))?;
    Ok(())
}

/// Creates physical memory, maps it at a new address, fills it, and exports it. Returns the
/// address, the memory's handle, and the file descriptor.
fn export(cuda: &Cuda) -> Outcome<(u64, u64, OwnedFd)> {
    let (mut physical, mut file) = (0, -1);
    cu!(cuda, cuMemCreate(&mut physical, CHUNK, &exportable(FILE), 0))?;
    let pointer = map(cuda, physical)?;
    cu!(cuda, cuMemsetD8_v2(pointer, 3, CHUNK))?;
    cu!(cuda, cuCtxSynchronize())?;
    cu!(cuda, cuMemExportToShareableHandle((&raw mut file).cast(), physical, FILE, 0))?;
    // SAFETY: the call has just created the descriptor, so nothing else owns it.
    Ok((pointer, physical, unsafe { OwnedFd::from_raw_fd(file) }))
}

cases! {
    fn a_process_opens_anothers_memory(cuda, primary) {
        let pointer = cuda.alloc(BYTES)?;
        share(cuda, pointer, BYTES)?;
        let mut got = CUipcMemHandle::default();
        refused!(cu!(cuda, cuIpcGetMemHandle(&mut got, pointer)), INVALID_VALUE);
    }

    fn a_process_opens_memory_of_another_device(cuda) {
        if !has_second(cuda)? || !reaches_second(cuda)? {
            return Ok(());
        }
        let far = context(cuda, 1)?;
        let pointer = cuda.alloc(4096)?;
        cuda.upload(pointer, &[40u32; 1024])?;
        let mut peer = Peer::start("ipc::far_opener", None)?;
        let shared = get_handle(cuda, pointer)?;
        let talk = |channel: &mut Channel| {
            channel.send(&shared)?;
            channel.wait()?;
            same!(cuda.download::<u32>(pointer, 1024)?, vec![42; 1024]);
            Ok(())
        };
        let outcome = talk(&mut peer.channel);
        peer.conclude(outcome)?;
        cu!(cuda, cuCtxDestroy_v2(far))?;
    }

    /// The driver may allocate several small allocations in one block, but a peer must find the
    /// right one.
    fn a_process_opens_a_small_allocation(cuda, primary) {
        let (first, second) = (cuda.alloc(256)?, cuda.alloc(256)?);
        cu!(cuda, cuMemsetD8_v2(first, 1, 256))?;
        share(cuda, second, 256)?;
        same!(cuda.download::<u8>(first, 256)?, [1; 256]);
    }

    fn opened_memory_outlives_its_process(cuda, primary) {
        let mut peer = Peer::start("ipc::exporter", None)?;
        let shared = peer.channel.receive()?;
        let pointer = open(cuda, shared)?;
        peer.channel.signal()?;
        peer.end()?;
        same!(cuda.download::<u8>(pointer, BYTES)?, vec![7; BYTES]);
        cu!(cuda, cuMemsetD8_v2(pointer, 1, BYTES))?;
        same!(cuda.download::<u8>(pointer, 1)?, [1]);
        cu!(cuda, cuIpcCloseMemHandle(pointer))?;
        refused!(cu!(cuda, cuMemsetD8_v2(pointer, 1, 1)), INVALID_VALUE);
    }

    fn only_memory_from_cumemalloc_has_a_handle(cuda, primary) {
        let (mut got, mut pooled, mut physical) = (CUipcMemHandle::default(), 0, 0);
        let mut host = null_mut();
        cu!(cuda, cuMemAllocAsync(&mut pooled, BYTES, null_mut()))?;
        cu!(cuda, cuMemHostAlloc(&mut host, BYTES, 0))?;
        cu!(cuda, cuMemCreate(&mut physical, CHUNK, &exportable(FILE), 0))?;
        let mapped = map(cuda, physical)?;
        let own = &raw const got as u64;
        for pointer in [pooled, host as u64, mapped, own, 0x1234, 0] {
            refused!(cu!(cuda, cuIpcGetMemHandle(&mut got, pointer)), INVALID_VALUE);
        }
        let pointer = cuda.alloc(16)?;
        refused!(cu!(cuda, cuIpcGetMemHandle(null_mut(), pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuIpcCloseMemHandle(pointer)), INVALID_VALUE);
        refused!(cu!(cuda, cuIpcCloseMemHandle(0x1234)), INVALID_VALUE);
    }

    fn an_event_orders_two_processes(cuda, primary) {
        let (mut event, mut plain, mut stream, mut second) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        let flags = CUevent_flags::CU_EVENT_INTERPROCESS.0;
        refused!(cu!(cuda, cuEventCreate(&mut event, flags)), INVALID_VALUE);
        cu!(cuda, cuEventCreate(&mut event, INTERPROCESS))?;
        cu!(cuda, cuEventCreate(&mut plain, UNTIMED))?;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        cu!(cuda, cuStreamCreate(&mut second, 1))?;
        let (mut shared, mut own) = (CUipcEventHandle::default(), null_mut());
        refused!(cu!(cuda, cuIpcGetEventHandle(&mut shared, plain)), INVALID_HANDLE);
        cu!(cuda, cuIpcGetEventHandle(&mut shared, event))?;
        refused!(cu!(cuda, cuIpcOpenEventHandle(&mut own, shared)), INVALID_CONTEXT);
        let (data, flag) = (cuda.alloc(BYTES)?, cuda.alloc(4)?);
        cu!(cuda, cuMemsetD32_v2(data, 0, 1))?;
        cu!(cuda, cuMemsetD32_v2(flag, 0, 1))?;
        cu!(cuda, cuCtxSynchronize())?;
        let memory = get_handle(cuda, data)?;
        cu!(cuda, cuStreamWaitValue32_v2(stream, flag, 1, 0))?;
        cu!(cuda, cuMemsetD32Async(data, 6, 1, stream))?;
        cu!(cuda, cuEventRecord(event, stream))?;
        refused!(cu!(cuda, cuEventQuery(event)), NOT_READY);

        let mut peer = Peer::start("ipc::waiter", None)?;
        let talk = |channel: &mut Channel| {
            channel.send(&shared.reserved.map(|byte| byte as u8))?;
            channel.send(&memory)?;
            channel.wait()?;
            cu!(cuda, cuStreamWriteValue32_v2(second, flag, 1, 0))?;
            channel.wait()?;
            cu!(cuda, cuStreamWaitEvent(stream, event, 0))?;
            cu!(cuda, cuStreamSynchronize(stream))?;
            same!(cuda.download::<u32>(data, 1)?, [5]);
            cu!(cuda, cuEventSynchronize(event))?;
            channel.signal()
        };
        let outcome = talk(&mut peer.channel);
        peer.conclude(outcome)?;
        cu!(cuda, cuEventRecord(event, stream))?;
        cu!(cuda, cuEventSynchronize(event))?;
        cu!(cuda, cuEventDestroy_v2(event))?;
    }

    fn a_descriptor_stands_for_memory(cuda, primary) {
        let (mut physical, mut plain, mut file) = (0, 0, -1);
        let to = (&raw mut file).cast();
        cu!(cuda, cuMemCreate(&mut plain, CHUNK, &exportable(Handles::CU_MEM_HANDLE_TYPE_NONE), 0))?;
        refused!(cu!(cuda, cuMemExportToShareableHandle(to, plain, FILE, 0)), INVALID_VALUE);
        cu!(cuda, cuMemRelease(plain))?;
        cu!(cuda, cuMemCreate(&mut physical, CHUNK, &exportable(FILE), 0))?;
        refused!(cu!(cuda, cuMemExportToShareableHandle(to, physical, FILE, 1)), INVALID_VALUE);
        let fabric = Handles::CU_MEM_HANDLE_TYPE_FABRIC;
        refused!(cu!(cuda, cuMemExportToShareableHandle(to, physical, fabric, 0)), INVALID_VALUE);
        cu!(cuda, cuMemRelease(physical))?;
        leaves_free_memory(cuda, || {
            let (pointer, physical, file) = export(cuda)?;
            let mut peer = Peer::start("ipc::importer", Some(file))?;
            let talk = |channel: &mut Channel| {
                channel.wait()?;
                same!(cuda.download::<u8>(pointer, CHUNK)?, vec![4; CHUNK]);
                cu!(cuda, cuMemUnmap(pointer, CHUNK))?;
                cu!(cuda, cuMemRelease(physical))?;
                channel.signal()
            };
            let outcome = talk(&mut peer.channel);
            peer.conclude(outcome)
        })
    }

    /// An exported file descriptor keeps the physical memory alive after the program has released
    /// its handle.
    fn a_descriptor_keeps_memory(cuda, primary) {
        leaves_free_memory(cuda, || {
            let (pointer, physical, file) = export(cuda)?;
            cu!(cuda, cuMemUnmap(pointer, CHUNK))?;
            cu!(cuda, cuMemRelease(physical))?;
            let mut peer = Peer::start("ipc::importer", Some(file))?;
            let talk = |channel: &mut Channel| {
                channel.wait()?;
                channel.signal()
            };
            let outcome = talk(&mut peer.channel);
            peer.conclude(outcome)
        })
    }
}
