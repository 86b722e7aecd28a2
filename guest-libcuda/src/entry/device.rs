//! Devices. All is answered from what the worker said once.

use crate::driver::driver;
use crate::error::CuError;
use cuda_api::args::{Out, Text};
use std::ffi::c_char;

const COMPUTE_CAPABILITY_MAJOR: u32 = 75;
const COMPUTE_CAPABILITY_MINOR: u32 = 76;

/// `CUdevprop`, as C has it.
#[repr(C)]
pub struct Properties {
    max_threads_per_block: i32,
    max_threads_dim: [i32; 3],
    max_grid_size: [i32; 3],
    shared_mem_per_block: i32,
    total_constant_memory: i32,
    simd_width: i32,
    mem_pitch: i32,
    regs_per_block: i32,
    clock_rate: i32,
    texture_align: i32,
}

fn same_bus_id(ours: &[u8], theirs: &str) -> bool {
    let ours = String::from_utf8_lossy(ours).to_ascii_lowercase();
    let theirs = theirs.trim().to_ascii_lowercase();
    // domain:bus:device.function; domain and function may be left out.
    let theirs = if theirs.contains('.') { theirs } else { theirs + ".0" };
    ours == theirs || (theirs.matches(':').count() == 1 && ours.ends_with(&format!(":{theirs}")))
}

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

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set(driver()?.device(device)?.total_memory() as usize)
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        value.check()?;
        value.set(driver()?.device(device)?.attribute(attribute)?)
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let device = driver()?.device(device)?;
        major.set(device.attribute(COMPUTE_CAPABILITY_MAJOR)?)?;
        minor.set(device.attribute(COMPUTE_CAPABILITY_MINOR)?)
    }

    fn cuDeviceGetProperties(properties: Out<Properties>, device: i32) {
        let device = driver()?.device(device)?;
        let get = |attribute| device.attribute(attribute).unwrap_or(0);
        properties.set(Properties {
            max_threads_per_block: get(1),
            max_threads_dim: [get(2), get(3), get(4)],
            max_grid_size: [get(5), get(6), get(7)],
            shared_mem_per_block: get(8),
            total_constant_memory: get(9),
            simd_width: get(10),
            mem_pitch: get(11),
            regs_per_block: get(12),
            clock_rate: get(13),
            texture_align: get(14),
        })
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, len: i32, device: i32) {
        let len = usize::try_from(len).map_err(|_| CuError::INVALID_VALUE)?;
        let id = driver()?.device(device)?.pci_bus_id();
        // SAFETY: the program's buffer has `len` bytes.
        unsafe { text.array(len) }.set_text(id)
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let driver = driver()?;
        let wanted = text.name()?;
        let found = driver.devices.iter().position(|d| same_bus_id(d.pci_bus_id(), wanted));
        device.set(found.ok_or(CuError::INVALID_DEVICE)? as i32)
    }

    /// Devices of one VM do not reach each other's memory.
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        let driver = driver()?;
        driver.device(device)?;
        driver.device(peer)?;
        can.set(0)
    }

    fn cuDeviceGetP2PAttribute(value: Out<i32>, _attribute: u32, device: i32, peer: i32) {
        let driver = driver()?;
        driver.device(device)?;
        driver.device(peer)?;
        if device == peer {
            return Err(CuError::INVALID_DEVICE);
        }
        value.set(0)
    }

    fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: u32, device: i32) {
        driver()?.device(device)?;
        supported.set(0)
    }
}

#[cfg(test)]
mod tests {
    use super::same_bus_id;

    #[test]
    fn bus_ids_are_understood_in_their_short_forms() {
        let ours = b"0000:0A:00.0";
        for good in ["0000:0a:00.0", "0000:0A:00", "0a:00.0", "0A:00"] {
            assert!(same_bus_id(ours, good), "{good}");
        }
        for bad in ["", "00", "0000:0b:00.0", "a:00", "0000:0a:00.1"] {
            assert!(!same_bus_id(ours, bad), "{bad}");
        }
    }
}
