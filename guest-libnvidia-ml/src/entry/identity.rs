//! Properties of a GPU that don't change.

use super::entries;
use crate::error::{NvmlError, NvmlResult};
use crate::facts::{self, Bus};
use crate::state::{self, Handle};
use crate::types::{Out, PciInfo, PciInfoExt, PciInfoV2, Room, version};
use cuda_api::devices::uuid_text;
use protocol::uapi::{GPU_ECC, Gpu};

/// `NVML_DEVICE_ARCH_*` by compute capability.
fn architecture(gpu: &Gpu) -> u32 {
    match (gpu.compute_major, gpu.compute_minor) {
        (3, _) => 2,
        (5, _) => 3,
        (6, _) => 4,
        (7, 5) => 6,
        (7, _) => 5,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10..=12, _) => 10,
        _ => u32::MAX,
    }
}

/// `NVML_BRAND_*` by the product family in the GPU's name. A name without a family has the NVIDIA
/// brand.
fn brand(name: &str) -> u32 {
    const FAMILIES: [(&str, u32); 7] = [
        ("GeForce RTX", 15),
        ("GeForce", 5),
        ("Quadro RTX", 12),
        ("Quadro", 1),
        ("TITAN", 6),
        ("Tesla", 2),
        ("NVIDIA", 14),
    ];
    FAMILIES.iter().find(|(family, _)| name.contains(family)).map_or(0, |(_, brand)| *brand)
}

fn bus(gpu: &Gpu) -> NvmlResult<Bus> {
    Bus::read(&facts::text(&gpu.pci_bus_id)).ok_or(NvmlError::UNKNOWN)
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let len = text.len().min(N - 1);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    bytes
}

fn pci(device: Handle) -> NvmlResult<PciInfo> {
    let gpu = state::gpu(device)?;
    let place = bus(&gpu)?;
    let short = PciInfoV2 {
        bus_id_legacy: padded(&place.legacy()),
        domain: place.domain,
        bus: place.bus,
        device: place.device,
        pci_device: gpu.pci_device,
        pci_subsystem: gpu.pci_subsystem,
    };
    Ok(PciInfo { short, bus_id: padded(&place.text()) })
}

/// A clock's maximum in MHz, if the host reports it.
fn highest_clock(gpu: &Gpu, kind: u32) -> NvmlResult<u32> {
    const GRAPHICS: u32 = 0;
    const SM: u32 = 1;
    const MEMORY: u32 = 2;
    const VIDEO: u32 = 3;
    let khz = match kind {
        GRAPHICS | SM => gpu.clock_khz,
        MEMORY => gpu.memory_clock_khz,
        VIDEO => 0,
        _ => return Err(NvmlError::INVALID_ARGUMENT),
    };
    if khz == 0 { Err(NvmlError::NOT_SUPPORTED) } else { Ok(khz / 1000) }
}

entries! {
    fn nvmlDeviceGetName(device: Handle, name: Room, length: u32) {
        name.set(length, &facts::text(&state::gpu(device)?.name))
    }
    fn nvmlDeviceGetUUID(device: Handle, uuid: Room, length: u32) {
        uuid.set(length, &uuid_text(&state::gpu(device)?.uuid))
    }
    fn nvmlDeviceGetIndex(device: Handle, index: Out<u32>) {
        state::gpu(device)?;
        index.set(device.index()? as u32)
    }
    fn nvmlDeviceGetMinorNumber(device: Handle, minor: Out<u32>) {
        state::gpu(device)?;
        minor.set(device.index()? as u32)
    }
    /// The oldest version of the struct has only the first five fields.
    fn nvmlDeviceGetPciInfo(device: Handle, info: Out<[u8; 32]>) {
        let short = pci(device)?.short;
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&short.bus_id_legacy);
        for (place, field) in
            [short.domain, short.bus, short.device, short.pci_device].into_iter().enumerate()
        {
            bytes[16 + 4 * place..][..4].copy_from_slice(&field.to_ne_bytes());
        }
        info.set(bytes)
    }
    fn nvmlDeviceGetPciInfo_v2(device: Handle, info: Out<PciInfoV2>) {
        info.set(pci(device)?.short)
    }
    fn nvmlDeviceGetPciInfo_v3(device: Handle, info: Out<PciInfo>) {
        info.set(pci(device)?)
    }
    fn nvmlDeviceGetPciInfoExt(device: Handle, info: Out<PciInfoExt>) {
        let PciInfo { short, bus_id } = pci(device)?;
        if info.get()?.version != version::<PciInfoExt>(1) {
            return Err(NvmlError::ARGUMENT_VERSION_MISMATCH);
        }
        /// PCI class and subclass of a 3D controller, a GPU without a display.
        const DISPLAY_CLASS: (u32, u32) = (3, 2);
        info.set(PciInfoExt {
            version: version::<PciInfoExt>(1),
            domain: short.domain,
            bus: short.bus,
            device: short.device,
            pci_device: short.pci_device,
            pci_subsystem: short.pci_subsystem,
            base_class: DISPLAY_CLASS.0,
            sub_class: DISPLAY_CLASS.1,
            bus_id,
        })
    }
    fn nvmlDeviceGetCudaComputeCapability(device: Handle, major: Out<i32>, minor: Out<i32>) {
        let gpu = state::gpu(device)?;
        major.set(gpu.compute_major as i32)?;
        minor.set(gpu.compute_minor as i32)
    }
    fn nvmlDeviceGetArchitecture(device: Handle, arch: Out<u32>) {
        arch.set(architecture(&state::gpu(device)?))
    }
    fn nvmlDeviceGetBrand(device: Handle, kind: Out<u32>) {
        kind.set(brand(&facts::text(&state::gpu(device)?.name)))
    }
    fn nvmlDeviceGetMaxClockInfo(device: Handle, kind: u32, clock: Out<u32>) {
        clock.set(highest_clock(&state::gpu(device)?, kind)?)
    }
    fn nvmlDeviceGetMemoryBusWidth(device: Handle, width: Out<u32>) {
        width.set(state::gpu(device)?.memory_bus_bits)
    }
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, is_multi: Out<u32>) {
        state::gpu(device)?;
        is_multi.set(0)
    }
    fn nvmlDeviceGetEccMode(device: Handle, current: Out<u32>, pending: Out<u32>) {
        let on = u32::from(state::gpu(device)?.flags & GPU_ECC != 0);
        current.set(on)?;
        pending.set(on)
    }
    /// NVML_COMPUTEMODE_DEFAULT: any number of processes may use the GPU.
    fn nvmlDeviceGetComputeMode(device: Handle, mode: Out<u32>) {
        state::gpu(device)?;
        mode.set(0)
    }
    /// A guest's GPU never has a display.
    fn nvmlDeviceGetDisplayActive(device: Handle, active: Out<u32>) {
        state::gpu(device)?;
        active.set(0)
    }
    fn nvmlDeviceGetDisplayMode(device: Handle, mode: Out<u32>) {
        state::gpu(device)?;
        mode.set(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::plain::Plain;

    #[test]
    fn architectures_and_brands_follow_from_capability_and_name() {
        let of = |compute_major, compute_minor| {
            architecture(&Gpu { compute_major, compute_minor, ..Gpu::zeroed() })
        };
        assert_eq!(
            [of(7, 0), of(7, 5), of(8, 0), of(8, 9), of(9, 0), of(10, 0)],
            [5, 6, 7, 8, 9, 10]
        );
        assert_eq!(of(99, 0), u32::MAX);
        assert_eq!([brand("NVIDIA H200"), brand("NVIDIA GeForce RTX 5090")], [14, 15]);
        assert_eq!(brand("softgpu"), 0);
    }

    #[test]
    fn an_unknown_clock_is_not_supported() {
        let gpu = Gpu { clock_khz: 1_980_000, ..Gpu::zeroed() };
        assert_eq!(highest_clock(&gpu, 1), Ok(1980));
        assert_eq!(highest_clock(&gpu, 2), Err(NvmlError::NOT_SUPPORTED));
        assert_eq!(highest_clock(&gpu, 9), Err(NvmlError::INVALID_ARGUMENT));
    }
}
