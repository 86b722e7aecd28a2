//! The private function tables that NVIDIA's libraries request.

use crate::driver::driver;
use crate::entry::code::module;
use crate::entry::contexts::init::VERSION;
use crate::entry::macros::LEGACY;
use crate::entry::streams::stream::public_id;
use crate::error::{CuError, CuResult};
use crate::handles::Handle;
use crate::log;
use crate::objects::{Context, Function};
use crate::software;
use crate::thread;
use cuda_api::args::{In, Out};
use cuda_api::export_tables::{self, DeviceIdentity, Driver};
use cuda_api::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUfunction, CUmodule, CUresult, CUstream,
};
use protocol::calls::VcudaTpcTables;
use protocol::limits::TPCS_MAX;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

const PCI_BUS_ID: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID.0;
const PCI_DEVICE_ID: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID.0;
const PCI_DOMAIN_ID: u32 = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID.0;

/// The maximum length in bytes of a reply with the tables of [`Driver::tpc_tables`].
const TPC_TABLES_ROOM: usize = 2 * TPCS_MAX + 64;

/// The guest library's implementation of the trait that cuda-api's private tables use.
struct Tables;

/// Converts an error to one that NVIDIA's libraries expect from the tables. Any other error becomes
/// CUDA_ERROR_UNKNOWN.
fn result(error: CuError) -> CUresult {
    match error {
        CuError::NOT_INITIALIZED
        | CuError::INVALID_DEVICE
        | CuError::INVALID_CONTEXT
        | CuError::INVALID_HANDLE
        | CuError::NOT_SUPPORTED
        | CuError::DEVICE_UNAVAILABLE => error.into(),
        _ => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Returns the functions of a module, with their names.
fn functions(module: Handle) -> CuResult<Vec<(CUfunction, *const c_char)>> {
    let driver = driver()?;
    let named = module::functions(driver, module, usize::MAX)?.into_iter().map(|handle| {
        let function: Arc<Function> = driver.handles.get(handle)?;
        Ok((handle as CUfunction, function.name.as_ptr()))
    });
    named.collect()
}

impl Driver for Tables {
    fn primary_context(&self, device: CUdevice) -> Result<CUcontext, CUresult> {
        let context = driver().and_then(|driver| Ok(driver.device(device)?.primary_context));
        context.map(|context| context.handle() as CUcontext).map_err(result)
    }

    fn current_context(&self) -> CUcontext {
        thread::current().map_or(0, Context::handle) as CUcontext
    }

    fn context_id(&self, context: CUcontext) -> Result<u64, CUresult> {
        let find = || -> CuResult<u64> {
            let context: &Context = driver()?.handles.get(context as Handle)?;
            Ok(context.unique)
        };
        find().map_err(result)
    }

    fn driver_version(&self) -> i32 {
        VERSION
    }

    fn device_identities(&self) -> Result<Vec<DeviceIdentity>, CUresult> {
        let devices = &driver().map_err(result)?.devices;
        let identities = devices.iter().map(|device| DeviceIdentity {
            uuid: device.uuid(),
            pci_domain: device.attribute(PCI_DOMAIN_ID).unwrap_or(0),
            pci_bus: device.attribute(PCI_BUS_ID).unwrap_or(0),
            pci_device: device.attribute(PCI_DEVICE_ID).unwrap_or(0),
        });
        Ok(identities.collect())
    }

    fn stream_id(&self, stream: CUstream) -> Result<u64, CUresult> {
        driver().and_then(|driver| public_id(driver, stream as Handle, LEGACY)).map_err(result)
    }

    fn module_functions(
        &self,
        module: CUmodule,
    ) -> Result<Vec<(CUfunction, *const c_char)>, CUresult> {
        functions(module as Handle).map_err(result)
    }

    fn tpc_tables(&self) -> Result<[Vec<u8>; 2], CUresult> {
        let call = VcudaTpcTables {};
        let tables = crate::context::driver()
            .and_then(|driver| driver.session.call_with_room(&call, TPC_TABLES_ROOM))
            .map_err(result)?;
        Ok([tables.first, tables.second])
    }

    fn executes_ptx(&self) -> bool {
        software::executes_ptx()
    }

    fn unsupported(&self, what: &str) -> CUresult {
        log::unsupported(what);
        CUresult::CUDA_ERROR_NOT_SUPPORTED
    }
}

entries! {
    fn cuGetExportTable(out: Out<*const c_void>, uuid: In<[u8; 16]>) {
        out.check()?;
        let uuid = uuid.get()?;
        let table = export_tables::get(&uuid, &Tables).ok_or_else(|| {
            log::say!(Info, "unknown export table {uuid:02x?}");
            CuError::INVALID_VALUE
        })?;
        out.set(table)
    }
}
