//! The interface between the tables and the library that returns them.

use crate::sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUresult, CUstream};
use core::ffi::c_char;
use std::sync::OnceLock;

/// The functions that the tables need from the library that returns them.
pub trait Driver: Sync {
    /// Returns the handle that a device's primary context has or will have. The context is not
    /// retained and need not exist yet. cudart requests the handle for every device when it starts,
    /// while `cuDevicePrimaryCtxGetState` must still report inactive contexts, and later calls
    /// `cuDevicePrimaryCtxRetain` for the device that it uses.
    fn primary_context(&self, device: CUdevice) -> Result<CUcontext, CUresult>;

    /// Implements `cuCtxGetCurrent`, which almost every runtime call uses. Returns null if the
    /// thread has no current context.
    fn current_context(&self) -> CUcontext;

    /// Implements `cuCtxGetId` for a context that is not null.
    fn context_id(&self, context: CUcontext) -> Result<u64, CUresult>;

    /// Returns the same version as `cuDriverGetVersion`.
    fn driver_version(&self) -> i32;

    /// Returns the devices that are visible to the process, by ordinal.
    fn device_identities(&self) -> Result<Vec<DeviceIdentity>, CUresult>;

    /// Implements `cuStreamGetId` for handles of streams, CU_STREAM_LEGACY and
    /// CU_STREAM_PER_THREAD.
    fn stream_id(&self, stream: CUstream) -> Result<u64, CUresult>;

    /// Implements `cuModuleEnumerateFunctions`. Returns every kernel of a module, with the name
    /// that `cuFuncGetName` returns for it. The name lives as long as the module.
    fn module_functions(
        &self,
        module: CUmodule,
    ) -> Result<Vec<(CUfunction, *const c_char)>, CUresult>;

    /// Returns the arrays of the table 1734DC26-800D-4745-8726-C0F1E7DD8BCA for the current
    /// context's GPU. Both have one byte for each texture processing cluster.
    fn tpc_tables(&self) -> Result<[Vec<u8>; 2], CUresult>;

    /// Returns whether the devices execute PTX, and no machine code for NVIDIA's GPUs. Only the
    /// table of the compilers' cache calls this, after the compilers have called `cuInit`.
    fn executes_ptx(&self) -> bool;

    /// Logs the name of an unimplemented function (once) and returns CUDA_ERROR_NOT_SUPPORTED.
    fn unsupported(&self, what: &str) -> CUresult;
}

/// A device's UUID and PCI address. They must agree with `cuDeviceGetUuid_v2` and
/// `cuDeviceGetAttribute`, or cudart refuses to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// The UUID, as `cuDeviceGetUuid_v2` returns it.
    pub uuid: [u8; 16],
    /// The attribute CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID.
    pub pci_domain: i32,
    /// The attribute CU_DEVICE_ATTRIBUTE_PCI_BUS_ID.
    pub pci_bus: i32,
    /// The attribute CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID.
    pub pci_device: i32,
}

static DRIVER: OnceLock<&'static dyn Driver> = OnceLock::new();

/// Sets the driver that serves the tables, unless there is one already.
pub fn set(driver: &'static dyn Driver) {
    DRIVER.get_or_init(|| driver);
}

/// Returns the driver that serves the tables. Only functions in the tables call this, and a library
/// gets a table only after the driver has been set.
pub fn driver() -> &'static dyn Driver {
    *DRIVER.get().expect("a function of an export table was called before the table was returned")
}
