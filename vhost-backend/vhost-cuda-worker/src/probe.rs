//! Tests a driver library before any VM uses it, and lists its GPUs.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

use cuda_api::sys::{CUdevice_attribute, CUmoduleLoadingMode, CUuuid};

use super::calls::attributes;
use super::driver::{CuError, CuResult, Driver, recorder};
use super::eviction;
use super::executor::EngineError;
use super::isolate::Jail;
use host_ipc::gpu::{self, Attributes, GpuFacts, PeerAccess, Probed};
use host_jail::JailError;

const PAGEABLE_MEMORY_ACCESS: CUdevice_attribute =
    CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;

/// Loads and initializes a driver library, and reads the properties of its GPUs. Unless
/// `allow_pageable_memory_access` is set, fails if kernels can access all memory of their process.
///
/// In a jail, also compiles and loads a module. This shows whether the jail contains the driver
/// library's compiler, which the library loads only when it compiles. Finally, tests whether
/// kernels can be taken off the GPUs. A thread of that test may still be running afterwards, so the
/// process should end without waiting for it.
pub fn probe(
    library: &Path,
    allow_pageable_memory_access: bool,
    jail: &Jail,
) -> Result<Probed, EngineError> {
    let is_jailed = jail.is_jail();
    if is_jailed {
        jail.enter(library).map_err(|error| {
            let cause = error.get_ref().and_then(|error| error.downcast_ref::<JailError>());
            match cause.is_some_and(JailError::is_missing) {
                true => EngineError::NoJail(error),
                false => EngineError::Jail(error),
            }
        })?;
    }
    recorder::start();
    let driver = Driver::open(library)?;
    let path = || driver.library().path().to_owned();
    let failed = |call, error: CuError| EngineError::Call { path: path(), call, result: error.0 };
    let symbol = driver
        .library()
        .symbol(c"cuInit")
        .ok_or_else(|| EngineError::Missing { path: path(), symbol: "cuInit" })?;
    let (mut devices, mut version, mut loading) = (0, 0, CUmoduleLoadingMode(0));
    // SAFETY: the pointers are to local variables.
    unsafe {
        driver.cuInit(0).map_err(|error| failed("cuInit", error))?;
        driver.cuDeviceGetCount(&mut devices).map_err(|error| failed("cuDeviceGetCount", error))?;
        driver
            .cuDriverGetVersion(&mut version)
            .map_err(|error| failed("cuDriverGetVersion", error))?;
        // Ignore errors, because drivers before CUDA 11.7 don't have this call.
        let _ = driver.cuModuleGetLoadingMode(&mut loading);
    }
    if devices < 1 {
        return Err(failed("cuDeviceGetCount", CuError::NO_DEVICE));
    }
    if !allow_pageable_memory_access && (0..devices).any(|device| reaches_host(&driver, device)) {
        return Err(EngineError::ReachesHostMemory { path: path() });
    }
    let gpus: Vec<_> = (0..devices)
        .map(|device| look(&driver, device))
        .collect::<CuResult<_>>()
        .map_err(|error| failed("cuDeviceGet…", error))?;
    let attributes = (0..devices).zip(&gpus).map(|(device, gpu)| {
        let known = attributes(&driver, device).into_iter().enumerate();
        let values = known.filter_map(|(number, value)| Some((u8::try_from(number).ok()?, value?)));
        Attributes { gpu: gpu.uuid, values: values.collect() }
    });
    let attributes = attributes.collect();
    let peers = peers(&driver, &gpus).map_err(|error| failed("cuDeviceCanAccessPeer", error))?;
    if is_jailed {
        compile(&driver).map_err(|error| failed("cuModuleLoadDataEx", error))?;
    }
    let (eviction, no_eviction) = eviction::test(&driver, &gpus);
    let library = PathBuf::from(loaded_from(symbol).unwrap_or_else(path));
    let driver = gpu::driver_version(&library);
    Ok(Probed {
        library,
        cuda_version: version as u32,
        driver,
        eviction,
        no_eviction,
        gpus,
        peers,
        module_loading: loading.0,
        attributes,
    })
}

/// Compiles a module on the first GPU.
fn compile(driver: &Driver) -> CuResult {
    let ptx = c".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry probe() { ret; }";
    let (mut context, mut module) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the pointers are to local variables, and the module is a C string. The process ends
    // after the probe, and so do the context and the module.
    unsafe {
        driver.cuDevicePrimaryCtxRetain(&mut context, 0)?;
        driver.cuCtxSetCurrent(context)?;
        let (options, values) = (std::ptr::null_mut(), std::ptr::null_mut());
        driver.cuModuleLoadDataEx(&mut module, ptx.as_ptr().cast(), 0, options, values)
    }
}

fn look(driver: &Driver, device: i32) -> CuResult<GpuFacts> {
    let (mut name, mut bus) = ([0u8; 128], [0u8; 32]);
    let mut uuid = CUuuid { bytes: [0; 16] };
    let mut memory = 0;
    // SAFETY: the pointers are to local variables. The lengths of the texts leave room for a final
    // zero.
    unsafe {
        driver.cuDeviceTotalMem(&mut memory, device)?;
        driver.cuDeviceGetUuid(&mut uuid, device)?;
        driver.cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32 - 1, device)?;
        driver.cuDeviceGetPCIBusId(bus.as_mut_ptr().cast(), bus.len() as i32 - 1, device)?;
    }
    let text = |bytes: &[u8]| {
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let number = |attribute| {
        let mut value = 0;
        // SAFETY: the pointer is to a local variable.
        let known = unsafe { driver.cuDeviceGetAttribute(&mut value, attribute, device) };
        if known.is_ok() { value.max(0) as u32 } else { 0 }
    };
    let pci_bus_id = text(&bus);
    let (pci_device, pci_subsystem) = gpu::pci_ids(&pci_bus_id);
    Ok(GpuFacts {
        name: text(&name),
        uuid: uuid.bytes.map(|byte| byte as u8),
        pci_bus_id,
        memory: memory as u64,
        compute_capability: [
            number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ],
        multiprocessors: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        clock_khz: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        memory_clock_khz: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        memory_bus_bits: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        ecc: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED) != 0,
        pci_device,
        pci_subsystem,
    })
}

/// Returns the pairs of GPUs of which one can access the other's memory.
fn peers(driver: &Driver, gpus: &[GpuFacts]) -> CuResult<Vec<PeerAccess>> {
    let mut peers = Vec::new();
    for (device, gpu) in gpus.iter().enumerate() {
        for (other, peer) in gpus.iter().enumerate().filter(|(other, _)| *other != device) {
            let mut can = 0;
            // SAFETY: the pointer is to a local variable.
            unsafe { driver.cuDeviceCanAccessPeer(&mut can, device as i32, other as i32)? };
            if can != 0 {
                peers.push(PeerAccess { gpu: gpu.uuid, peer: peer.uuid });
            }
        }
    }
    Ok(peers)
}

/// Returns whether kernels on a device can access all memory of their process. If the driver
/// doesn't know the attribute, it's too old to let them.
fn reaches_host(driver: &Driver, device: i32) -> bool {
    let mut value = 0;
    // SAFETY: the pointer is to a local variable.
    let known = unsafe { driver.cuDeviceGetAttribute(&mut value, PAGEABLE_MEMORY_ACCESS, device) };
    known.is_ok() && value != 0
}

/// Returns the path of the library that contains the code at this address.
fn loaded_from(symbol: *mut c_void) -> Option<String> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable. On success, its file name is a C string that lives as long as the
    // library, which is never unloaded.
    unsafe {
        if libc::dladdr(symbol, info.as_mut_ptr()) == 0 || (*info.as_ptr()).dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr((*info.as_ptr()).dli_fname).to_string_lossy().into_owned())
    }
}
