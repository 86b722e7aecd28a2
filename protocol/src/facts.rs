//! What a guest learns about its devices once, and then answers by itself.

use crate::plain::Plain;

/// Attributes that CUDA 13.0 defines, `CU_DEVICE_ATTRIBUTE_MAX` rounded up.
pub const MAX_ATTRIBUTES: usize = 160;

/// One device, as this VM sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceFacts {
    /// Device memory in bytes: the VM's quota, or the device's if that is less.
    pub total_memory: u64,
    /// `cuDeviceGetUuid_v2`.
    pub uuid: [u8; 16],
    /// `cuDeviceGetName`, ended by a zero byte.
    pub name: [u8; 128],
    /// `cuDeviceGetPCIBusId`, ended by a zero byte.
    pub pci_bus_id: [u8; 32],
    /// Bit `i`: the device knows attribute `i`.
    pub known: [u64; 4],
    /// `cuDeviceGetAttribute`, by number; those that the device does not know are 0.
    pub attributes: [i32; MAX_ATTRIBUTES],
}

// SAFETY: `repr(C)`, integers only, every field at a multiple of its alignment, no padding.
unsafe impl Plain for DeviceFacts {}
