//! Entry points that share memory and events with other processes (CUDA IPC).

use std::ffi::c_uint;
use std::sync::LazyLock;

use cuda_api::args::{Out, check_handle};
use cuda_api::error::CuError;
use cuda_api::ipc::{HandleBytes, Imports, Version};
use cuda_api::sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle};

use super::entry::entries;
use super::event;
use super::vmm::wait_for_kernels;
use crate::state::context::current;
use crate::state::device::driver;
use crate::state::event::{EVENTS, Event};
use crate::state::memory::{self, Memory};
use crate::state::shared_event::SharedEvent;

const LAZY: u32 = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;

static IMPORTS: LazyLock<Imports> = LazyLock::new(Imports::default);

fn is_imported(address: u64) -> bool {
    memory::at(address).is_some_and(|found| found.memory == Memory::Imported)
}

fn open(
    version: Version,
    to: Out<CUdeviceptr>,
    handle: CUipcMemHandle,
    flags: c_uint,
) -> cuda_api::error::CuResult {
    to.check()?;
    let context = current()?;
    if flags != LAZY {
        return Err(CuError::INVALID_VALUE);
    }
    let handle = HandleBytes::from(handle);
    let import = || memory::import(&context, &handle);
    to.set(IMPORTS.open(version, handle, context.id, is_imported, import)?)
}

entries! {
    fn cuIpcGetMemHandle(to: Out<CUipcMemHandle>, address: CUdeviceptr) {
        to.check()?;
        driver()?;
        let found = memory::find(address).filter(|found| found.memory == Memory::Device);
        let start = found.ok_or(CuError::INVALID_VALUE)?.start;
        wait_for_kernels();
        let handle = memory::export(start)?;
        to.set(handle.into())
    }

    fn cuIpcOpenMemHandle(to: Out<CUdeviceptr>, handle: CUipcMemHandle, flags: c_uint) {
        open(Version::First, to, handle, flags)
    }

    fn cuIpcOpenMemHandle_v2(to: Out<CUdeviceptr>, handle: CUipcMemHandle, flags: c_uint) {
        open(Version::Second, to, handle, flags)
    }

    fn cuIpcCloseMemHandle(address: CUdeviceptr) {
        driver()?;
        IMPORTS.close(address, || {
            if !is_imported(address) {
                return Err(CuError::INVALID_VALUE);
            }
            wait_for_kernels();
            memory::forget(address).map(drop).ok_or(CuError::INVALID_VALUE)
        })
    }

    fn cuIpcGetEventHandle(to: Out<CUipcEventHandle>, event: CUevent) {
        to.check()?;
        driver()?;
        check_handle(event as usize)?;
        let event = event::named(event)?;
        let shared = event.shared.as_ref().filter(|shared| !shared.imported);
        let handle = shared.ok_or(CuError::INVALID_HANDLE)?.handle();
        to.set(handle.into())
    }

    fn cuIpcOpenEventHandle(to: Out<CUevent>, handle: CUipcEventHandle) {
        to.check()?;
        let context = current()?;
        let opened = SharedEvent::open(&handle.into());
        let shared = opened.map_err(|error| match error {
            CuError::INVALID_VALUE => CuError::MAP_FAILED,
            other => other,
        })?;
        to.set(EVENTS.insert(Event::interprocess(context, shared)) as CUevent)
    }
}
