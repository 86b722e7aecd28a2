//! Entry points for sharing memory and events with other processes of the VM (CUDA IPC).
//!
//! A handle contains the worker's name for the export, a random token, and for memory, the
//! allocation's offset in the export. Other programs can change the bytes; the worker of the
//! process that opens the handle checks them.

use std::sync::{Arc, LazyLock};

use crate::context::{self, current};
use crate::driver::driver;
use crate::entry::memory::allocation::note_on;
use crate::error::{CuError, CuResult};
use crate::handles::{Handle, Object};
use crate::memory::Kind;
use crate::objects::Event;
use cuda_api::args::{Out, check_handle};
use cuda_api::ipc::{HandleBytes, Imports, Version};
use cuda_api::sys::{CUevent_flags, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle};
use protocol::calls::{
    VcudaIpcCloseMemHandle, VcudaIpcGetEventHandle, VcudaIpcGetMemHandle, VcudaIpcOpenEventHandle,
    VcudaIpcOpenMemHandle,
};

/// The first bytes of a handle of memory.
const MEMORY: &[u8; 16] = b"virtio-cuda mem1";
/// The first bytes of a handle of an event.
const EVENT: &[u8; 16] = b"virtio-cuda evt1";
/// The position of the device's number in the handle's word that also contains the offset. The
/// offset fits in the lower 48 bits, because addresses have at most 48 bits.
const DEVICE_SHIFT: u32 = 48;
const LAZY: u32 = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
/// The flags of an event that was imported from another process.
const IMPORTED: u32 =
    CUevent_flags::CU_EVENT_INTERPROCESS.0 | CUevent_flags::CU_EVENT_DISABLE_TIMING.0;

static IMPORTS: LazyLock<Imports> = LazyLock::new(Imports::default);

/// Builds a handle from its kind and its content.
fn encode(kind: &[u8; 16], words: [u64; 6]) -> HandleBytes {
    let mut handle = [0; 64];
    handle[..16].copy_from_slice(kind);
    for (index, word) in words.into_iter().enumerate() {
        handle[16 + 8 * index..][..8].copy_from_slice(&word.to_le_bytes());
    }
    handle
}

/// Returns the content of a handle of this kind.
fn decode(kind: &[u8; 16], handle: &HandleBytes) -> Option<[u64; 6]> {
    let word = |index: usize| {
        let bytes = &handle[16 + 8 * index..][..8];
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    (handle[..16] == kind[..]).then(|| std::array::from_fn(word))
}

fn open(version: Version, out: Out<u64>, handle: CUipcMemHandle, flags: u32) -> CuResult {
    out.check()?;
    let driver = context::driver()?;
    if flags != LAZY {
        return Err(CuError::INVALID_VALUE);
    }
    let handle = HandleBytes::from(handle);
    let [a, b, c, d, place, size] = decode(MEMORY, &handle).ok_or(CuError::INVALID_VALUE)?;
    let (number, offset) = (place >> DEVICE_SHIFT, place & ((1 << DEVICE_SHIFT) - 1));
    let call = VcudaIpcOpenMemHandle { token: [a, b, c, d], offset, size };
    let holder = driver.devices.iter().position(|device| device.number as u64 == number);
    let is_open =
        |at| driver.memory.find(at).is_some_and(|a| a.base == at && a.kind == Kind::Imported);
    let map = || {
        let ptr = driver.session.call(&call)?.ptr;
        // If the memory's device isn't visible to the program, record the current context's device.
        let device = holder.map_or(current()?.device, |holder| holder as i32);
        note_on(driver, ptr, size as usize, (Kind::Imported, device))?;
        Ok(ptr)
    };
    out.set(IMPORTS.open(version, handle, current()?.unique, is_open, map)?)
}

entries! {
    fn cuIpcGetMemHandle(out: Out<CUipcMemHandle>, address: u64) {
        out.check()?;
        let driver = driver()?;
        let found = driver.memory.find(address).filter(|found| found.kind == Kind::Device);
        let found = found.ok_or(CuError::INVALID_VALUE)?;
        let number = driver.device(found.device)?.number as u64;
        let answer = driver.session.call(&VcudaIpcGetMemHandle { ptr: found.base })?;
        let [a, b, c, d] = answer.token;
        let place = number << DEVICE_SHIFT | answer.offset;
        let handle = encode(MEMORY, [a, b, c, d, place, answer.size]);
        out.set(handle.into())
    }

    fn cuIpcOpenMemHandle(out: Out<u64>, handle: CUipcMemHandle, flags: u32) {
        open(Version::First, out, handle, flags)
    }
    fn cuIpcOpenMemHandle_v2(out: Out<u64>, handle: CUipcMemHandle, flags: u32) {
        open(Version::Second, out, handle, flags)
    }

    fn cuIpcCloseMemHandle(address: u64) {
        let driver = driver()?;
        IMPORTS.close(address, || {
            let removed = driver.memory.remove(address, |found| found.kind == Kind::Imported);
            let allocation = removed.ok_or(CuError::INVALID_VALUE)?;
            let result = driver.session.call(&VcudaIpcCloseMemHandle { dptr: address });
            if result.is_err() {
                driver.memory.insert(allocation);
            }
            result
        })
    }

    fn cuIpcGetEventHandle(out: Out<CUipcEventHandle>, event: Handle) {
        out.check()?;
        let driver = driver()?;
        check_handle(event)?;
        let event: Arc<Event> = driver.handles.get(event)?;
        if !event.is_interprocess() {
            return Err(CuError::INVALID_HANDLE);
        }
        let [a, b, c, d] = driver.session.call(&VcudaIpcGetEventHandle { event: event.id })?.token;
        let handle = encode(EVENT, [a, b, c, d, 0, 0]);
        out.set(handle.into())
    }

    fn cuIpcOpenEventHandle(out: Out<Handle>, handle: CUipcEventHandle) {
        out.check()?;
        let driver = context::driver()?;
        let handle = HandleBytes::from(handle);
        let [a, b, c, d, ..] = decode(EVENT, &handle).ok_or(CuError::MAP_FAILED)?;
        let (event, context) = (driver.session.mint(), context::current()?.id());
        driver.session.call(&VcudaIpcOpenEventHandle { event, token: [a, b, c, d] })?;
        let event = Arc::new(Event { id: event, flags: IMPORTED, context });
        out.set(driver.handles.insert(Object::Event(event))?)
    }
}
