//! The private tables that `cuGetExportTable` gives to NVIDIA's own libraries.
//!
//! cudart does not start without some of them, and cuBLAS, cuFFT and others, each with a cudart of
//! its own, ask for more. None is documented; what stands here was learnt by running those
//! libraries. A table is an array of function pointers, in most of them after a first word with the
//! table's size in bytes (sizes here are those of driver 580). Slots whose meaning is unknown hold a function that reports itself to
//! [`Driver::unsupported`] and returns its answer.
//!
//! Any other table has to be refused with CUDA_ERROR_INVALID_VALUE, which the libraries take well.
//! An answer that they can't use they do not: an empty table for
//! DA9151D3-3AE6-CC41-A5C0-4F26D533E328 broke NVRTC and nvJitLink.

pub mod context_storage;
mod integrity;
mod md2;
mod slots;
mod tables;

use crate::sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUresult, CUstream};
use core::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// What the tables need from the library that gives them out.
pub trait Driver: Sync {
    /// The handle that a device's primary context has or will have. It is not retained and need
    /// not exist yet: cudart asks for every device's as it starts, when
    /// `cuDevicePrimaryCtxGetState` still has to read inactive, and calls
    /// `cuDevicePrimaryCtxRetain` later, for the device that it uses.
    fn primary_context(&self, device: CUdevice) -> Result<CUcontext, CUresult>;

    /// `cuCtxGetCurrent`: null where the thread has none. Called on almost every runtime call.
    fn current_context(&self) -> CUcontext;

    /// `cuCtxGetId`, for a context that is not null.
    fn context_id(&self, context: CUcontext) -> Result<u64, CUresult>;

    /// `cuDriverGetVersion`, to the digit.
    fn driver_version(&self) -> i32;

    /// The devices that the process sees, in their order.
    fn device_identities(&self) -> Result<Vec<DeviceIdentity>, CUresult>;

    /// `cuStreamGetId`, for handles of streams, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
    fn stream_id(&self, stream: CUstream) -> Result<u64, CUresult>;

    /// `cuModuleEnumerateFunctions`: every kernel of a module, with the name that `cuFuncGetName`
    /// gives for it, which lives as long as the module.
    fn module_functions(
        &self,
        module: CUmodule,
    ) -> Result<Vec<(CUfunction, *const c_char)>, CUresult>;

    /// Something was called that is not implemented: logs its name (once) and returns what the
    /// caller gets, CUDA_ERROR_NOT_SUPPORTED.
    fn unsupported(&self, what: &str) -> CUresult;
}

/// What `cuDeviceGetUuid_v2` and the PCI attributes of `cuDeviceGetAttribute` say of a device. It
/// must be the same here and there, or cudart refuses to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// `cuDeviceGetUuid_v2`.
    pub uuid: [u8; 16],
    /// CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID.
    pub pci_domain: i32,
    /// CU_DEVICE_ATTRIBUTE_PCI_BUS_ID.
    pub pci_bus: i32,
    /// CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID.
    pub pci_device: i32,
}

static DRIVER: OnceLock<&'static dyn Driver> = OnceLock::new();

/// The table with that UUID, or none if it is to be refused. The first caller's driver serves all
/// tables from then on: a process image has one.
pub fn get(uuid: &[u8; 16], driver: &'static dyn Driver) -> Option<*const c_void> {
    DRIVER.get_or_init(|| driver);
    tables::find(uuid)
}

/// The driver that [`get`] was given. Only functions in tables call it, so there is one.
fn driver() -> &'static dyn Driver {
    *DRIVER.get().expect("a function of an export table was called before the table was given out")
}

#[cfg(test)]
mod tests;
