//! Entry points that query devices. The results come from the device descriptions that the host
//! sent at `cuInit`.

use crate::driver::driver;
use crate::error::CuError;
use cuda_api::args::{Out, Text};
use cuda_api::device_links;
use cuda_api::devices::PciAddress;
use cuda_api::sys::{CUdevice_P2PAttribute, CUdevice_attribute as A, CUdevprop};
use protocol::calls::CuDeviceGetP2PAttribute;
use std::ffi::c_char;

entries! {
    fn cuDeviceGetCount(count: Out<i32>) {
        count.set(driver()?.devices.len() as i32)
    }

    fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        driver()?.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetName(name: Out<c_char>, len: i32, device: i32) {
        let len = usize::try_from(len).map_err(|_| CuError::INVALID_VALUE)?;
        let text = driver()?.device(device)?.name();
        // SAFETY: the program's buffer has `len` bytes.
        unsafe { name.array(len) }.set_text(text)
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(driver()?.device(device)?.uuid())
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        uuid.set(driver()?.device(device)?.uuid())
    }

    /// Returns the largest 32-bit number for memory whose size needs more bits.
    fn cuDeviceTotalMem(bytes: Out<u32>, device: i32) {
        let total = driver()?.device(device)?.total_memory();
        bytes.set(u32::try_from(total).unwrap_or(u32::MAX))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set(driver()?.device(device)?.total_memory() as usize)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        value.check()?;
        value.set(driver()?.device(device)?.attribute(attribute)?)
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let device = driver()?.device(device)?;
        major.set(device.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR.0)?)?;
        minor.set(device.attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR.0)?)
    }

    fn cuDeviceGetProperties(properties: Out<CUdevprop>, device: i32) {
        let device = driver()?.device(device)?;
        properties.set(cuda_api::devices::properties(|which| {
            device.attribute(which.0).unwrap_or(0)
        }))
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, len: i32, device: i32) {
        let len = usize::try_from(len).map_err(|_| CuError::INVALID_VALUE)?;
        let id = driver()?.device(device)?.pci_bus_id();
        // SAFETY: the program's buffer has `len` bytes.
        unsafe { text.array(len) }.set_text(id)
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let driver = driver()?;
        device.check()?;
        let wanted = PciAddress::parse(text.name()?).ok_or(CuError::INVALID_VALUE)?;
        let found = driver.devices.iter().position(|device| {
            let address = str::from_utf8(device.pci_bus_id()).ok().and_then(PciAddress::parse);
            address == Some(wanted)
        });
        device.set(found.ok_or(CuError::INVALID_DEVICE)? as i32)
    }

    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let driver = driver()?;
        can.check()?;
        can.set(driver.can_access(device, peer)?.into())
    }

    fn cuDeviceGetP2PAttribute(
        value: Out<i32>, attribute: CUdevice_P2PAttribute, device: i32, peer: i32,
    ) {
        let driver = driver()?;
        value.check()?;
        let (src_device, dst_device) = (driver.device(device)?.number, driver.device(peer)?.number);
        device_links::check_peers(device, peer)?;
        device_links::check_attribute(attribute)?;
        let attrib = attribute.0;
        let call = CuDeviceGetP2PAttribute { attrib, src_device, dst_device };
        value.set(driver.session.call(&call)?.value)
    }

    /// As in NVIDIA's driver, an unknown kind isn't an error.
    fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: u32, device: i32) {
        driver()?.device(device)?;
        supported.set(0)
    }
}
