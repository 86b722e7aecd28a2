//! Properties of the driver and of devices, as the driver reports them.
//!
//! The guest's library changes the attributes for features that it doesn't support
//! (docs/differences.md).

use std::ffi::CStr;

use cuda_api::sys::{CUdevice, CUdevice_attribute, CUuuid};
use protocol::facts::{DeviceFacts, MAX_ATTRIBUTES};

use crate::driver::{CuResult, Driver};

/// The properties of the driver and of its devices, none of which changes. The worker reads them
/// before it gets a session, because reading them takes milliseconds on NVIDIA's driver.
pub(in crate::calls) struct Properties {
    pub driver_version: u32,
    pub devices: Vec<DeviceFacts>,
}

impl Properties {
    pub(in crate::calls) fn read(driver: &Driver, devices: CUdevice) -> CuResult<Self> {
        let mut version = 0;
        // SAFETY: the pointer is to a local variable.
        unsafe { driver.cuDriverGetVersion(&mut version)? };
        let devices = (0..devices).map(|device| device_facts(driver, device));
        Ok(Self { driver_version: version as u32, devices: devices.collect::<CuResult<_>>()? })
    }
}

fn device_facts(driver: &Driver, device: CUdevice) -> CuResult<DeviceFacts> {
    let mut facts = DeviceFacts::default();
    let mut total = 0;
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the pointers are to local variables. The lengths that the driver gets leave room for
    // a final zero in each text.
    unsafe {
        driver.cuDeviceTotalMem(&mut total, device)?;
        driver.cuDeviceGetUuid(&mut uuid, device)?;
        let (name, bus) = (&mut facts.name, &mut facts.pci_bus_id);
        driver.cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32 - 1, device)?;
        driver.cuDeviceGetPCIBusId(bus.as_mut_ptr().cast(), bus.len() as i32 - 1, device)?;
    }
    facts.total_memory = total as u64;
    facts.uuid = uuid.bytes.map(|byte| byte as u8);
    for (attribute, value) in attributes(driver, device).into_iter().enumerate() {
        if let Some(value) = value {
            facts.attributes[attribute] = value;
            facts.known[attribute / 64] |= 1 << (attribute % 64);
        }
    }
    debug_assert!(CStr::from_bytes_until_nul(&facts.name).is_ok());
    Ok(facts)
}

/// Returns the attributes of a device, indexed by number. Attributes that the driver doesn't know
/// are `None`.
pub(crate) fn attributes(driver: &Driver, device: CUdevice) -> [Option<i32>; MAX_ATTRIBUTES] {
    std::array::from_fn(|attribute| {
        let mut value = 0;
        let asked = CUdevice_attribute(attribute as u32);
        // SAFETY: the pointer is to a local variable.
        let known = unsafe { driver.cuDeviceGetAttribute(&mut value, asked, device) };
        known.is_ok().then_some(value)
    })
}
