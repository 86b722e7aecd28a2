//! Entry points that list devices and return their attributes.

use std::ffi::{c_char, c_int, c_uint};

use cuda_api::args::{Out, Text};
use cuda_api::device_links;
use cuda_api::devices::PciAddress;
use cuda_api::error::CuError;
use cuda_api::sys::{CUdevice_P2PAttribute as P, CUdevice_attribute as A, CUdevprop, CUuuid};

use super::entry::entries;
use crate::state::attributes::WINDOW_MAX;
use crate::state::device::{Device, driver};
use crate::state::resources::THREADS_PER_PROCESSOR;

/// Returns the PCI bus number that a device reports.
pub(crate) fn pci_bus(device: &Device) -> i32 {
    device.place + 1
}

fn pci_name(device: &Device) -> String {
    format!("0000:{:02X}:00.0", pci_bus(device))
}

/// Returns the value of a device attribute. softgpu's devices support fewer features than real GPUs
/// of the same compute capability.
fn attribute(device: &Device, which: A) -> Option<i32> {
    // Attributes with a constant, nonzero value.
    const VALUES: &[(A, i32)] = &[
        (A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
        (A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, i32::MAX),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535),
        (A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10),
        (A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10),
        (A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10),
        (A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024),
        (A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10),
        (A::CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (A::CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX),
        (A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536),
        (A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
        (A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1_000_000),
        (A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1_000_000),
        (A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 128),
        (A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20),
        (A::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 3 << 20),
        (A::CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, WINDOW_MAX as i32),
        (A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
        (A::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32),
        (A::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131_072),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131_072),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65_536),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32_768),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32_768),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32_768),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 28),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131_072),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65_000),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2_097_120),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 131_072),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 65_536),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 16_384),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32_768),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32_768),
        (A::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
        (A::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1),
        (A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1),
        (A::CU_DEVICE_ATTRIBUTE_INTEGRATED, 0),
        (A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1),
        (A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
        (A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
        (A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, THREADS_PER_PROCESSOR as i32),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
        (A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 1),
        (A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
        (A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1),
        (A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 1),
        (A::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1),
        (A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0),
        (A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0),
    ];
    if which == A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT {
        return Some(device.processors as i32);
    }
    if which == A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR {
        return Some((device.capability / 10) as i32);
    }
    if which == A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR {
        return Some((device.capability % 10) as i32);
    }
    if which == A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID {
        return Some(pci_bus(device));
    }
    if let Some((_, value)) = VALUES.iter().find(|(attribute, _)| *attribute == which) {
        return Some(*value);
    }
    // All other attributes in CUDA 13 are 0.
    (1..A::CU_DEVICE_ATTRIBUTE_MAX.0).contains(&which.0).then_some(0)
}

entries! {
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) {
        driver()?.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetCount(count: Out<c_int>) {
        count.set(driver()?.devices.len() as c_int)
    }

    fn cuDeviceGetName(name: Out<c_char>, len: c_int, device: c_int) {
        driver()?.device(device)?;
        // SAFETY: the program passes a buffer of `len` bytes.
        unsafe { name.array(usize::try_from(len).unwrap_or(0)) }.set_text(b"softgpu")
    }

    fn cuDeviceGetUuid(uuid: Out<CUuuid>, device: c_int) {
        let bytes = driver()?.device(device)?.uuid.map(|b| b as c_char);
        uuid.set(CUuuid { bytes })
    }

    fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: c_int) {
        let bytes = driver()?.device(device)?.uuid.map(|b| b as c_char);
        uuid.set(CUuuid { bytes })
    }

    fn cuDeviceGetLuid(luid: Out<c_char>, mask: Out<c_uint>, device: c_int) {
        luid.check()?;
        mask.check()?;
        // Always fails for a valid device, because LUIDs exist only on Windows.
        driver()?.device(device)?;
        Err(CuError::NOT_SUPPORTED)
    }

    fn cuDeviceTotalMem(bytes: Out<c_uint>, device: c_int) {
        let total = driver()?.device(device)?.memory.size();
        bytes.set(u32::try_from(total).unwrap_or(u32::MAX))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        bytes.set(driver()?.device(device)?.memory.size() as usize)
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, which: A, device: c_int) {
        let device = driver()?.device(device)?;
        value.set(attribute(device, which).ok_or(CuError::INVALID_VALUE)?)
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        let capability = driver()?.device(device)?.capability as c_int;
        major.set(capability / 10)?;
        minor.set(capability % 10)
    }

    fn cuDeviceGetPCIBusId(name: Out<c_char>, len: c_int, device: c_int) {
        let device = driver()?.device(device)?;
        // SAFETY: the program passes a buffer of `len` bytes.
        let name = unsafe { name.array(usize::try_from(len).unwrap_or(0)) };
        name.set_text(pci_name(device).as_bytes())
    }

    fn cuDeviceGetByPCIBusId(device: Out<c_int>, name: Text) {
        device.check()?;
        let devices = &driver()?.devices;
        let wanted = PciAddress::parse(name.name()?).ok_or(CuError::INVALID_VALUE)?;
        let found = devices.iter().find(|d| PciAddress::parse(&pci_name(d)) == Some(wanted));
        device.set(found.ok_or(CuError::INVALID_DEVICE)?.ordinal)
    }

    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        driver()?.device(device)?;
        driver()?.device(peer)?;
        // All devices' memory is in the process's address space, so any two different devices can
        // be peers.
        can.set(c_int::from(device != peer))
    }

    fn cuDeviceGetP2PAttribute(value: Out<c_int>, which: P, a: c_int, b: c_int) {
        value.check()?;
        driver()?.device(a)?;
        driver()?.device(b)?;
        device_links::check_peers(a, b)?;
        device_links::check_attribute(which)?;
        value.set(match which {
            P::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
            | P::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => 1,
            _ => 0,
        })
    }

    /// As in NVIDIA's driver, an unknown kind isn't an error.
    fn cuDeviceGetExecAffinitySupport(value: Out<c_int>, _kind: c_uint, device: c_int) {
        driver()?.device(device)?;
        value.set(0)
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(
        max: Out<usize>,
        _format: c_uint,
        _channels: c_uint,
        device: c_int,
    ) {
        max.check()?;
        let device = driver()?.device(device)?;
        let width = A::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
        max.set(attribute(device, width).unwrap_or(0).unsigned_abs() as usize)
    }

    fn cuDeviceGetProperties(properties: Out<CUdevprop>, device: c_int) {
        let device = driver()?.device(device)?;
        properties.set(cuda_api::devices::properties(|which| attribute(device, which).unwrap_or(0)))
    }
}
