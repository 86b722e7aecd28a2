//! softgpu's backend for the private function tables that cudart uses.

use std::ffi::c_char;

use cuda_api::export_tables::{DeviceIdentity, Driver};
use cuda_api::sys::{CUcontext, CUdevice, CUfunction, CUmodule, CUstream};

use crate::state::context::{by_handle, current_if_any};
use crate::state::device::{DRIVER_VERSION, driver};
use crate::state::module::{FUNCTIONS, MODULES};
use crate::state::primary;
use crate::state::stream::lookup;
use cuda_api::sys::CUresult;

/// The backend that `cuGetExportTable` passes to the tables.
pub(crate) static TABLES: Tables = Tables;

/// The type of the backend [`TABLES`], which implements the functions in the tables.
pub(crate) struct Tables;

impl Driver for Tables {
    fn primary_context(&self, device: CUdevice) -> Result<CUcontext, CUresult> {
        Ok(primary::of(device)?.context.handle as CUcontext)
    }

    fn current_context(&self) -> CUcontext {
        current_if_any().map_or(std::ptr::null_mut(), |c| c.handle as CUcontext)
    }

    fn context_id(&self, context: CUcontext) -> Result<u64, CUresult> {
        Ok(by_handle(context as usize)?.unique)
    }

    fn driver_version(&self) -> i32 {
        DRIVER_VERSION
    }

    fn device_identities(&self) -> Result<Vec<DeviceIdentity>, CUresult> {
        Ok(driver()?
            .devices
            .iter()
            .map(|d| DeviceIdentity {
                uuid: d.uuid,
                pci_domain: 0,
                pci_bus: super::device::pci_bus(d),
                pci_device: 0,
            })
            .collect())
    }

    fn stream_id(&self, stream: CUstream) -> Result<u64, CUresult> {
        Ok(lookup(stream, false)?.id)
    }

    fn module_functions(
        &self,
        module: CUmodule,
    ) -> Result<Vec<(CUfunction, *const c_char)>, CUresult> {
        let module = MODULES.get(module as usize).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        let mut all = Vec::new();
        for (name, _) in module.loaded.program.source.kernels() {
            let handle = module.function(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            let function = FUNCTIONS.get(handle).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
            all.push((handle as CUfunction, function.name.as_ptr()));
        }
        Ok(all)
    }

    fn tpc_tables(&self) -> Result<[Vec<u8>; 2], CUresult> {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn executes_ptx(&self) -> bool {
        true
    }

    fn unsupported(&self, what: &str) -> CUresult {
        super::entry::unsupported(what)
    }
}
