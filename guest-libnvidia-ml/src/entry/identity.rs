//! Entry points for GPU properties that don't change.

use super::entries;
use crate::args::{Buffer, Out, padded, version};
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::*;
use crate::state::{self, Handle};
use cuda_api::devices::{PciAddress, uuid_text};
use guest_transport::facts;
use protocol::uapi::{GPU_ECC, Gpu};
use std::mem::offset_of;

/// Returns the `NVML_DEVICE_ARCH_*` value for a GPU's compute capability.
fn architecture(gpu: &Gpu) -> nvmlDeviceArchitecture_t {
    match (gpu.compute_major, gpu.compute_minor) {
        (3, _) => NVML_DEVICE_ARCH_KEPLER,
        (5, _) => NVML_DEVICE_ARCH_MAXWELL,
        (6, _) => NVML_DEVICE_ARCH_PASCAL,
        (7, 5) => NVML_DEVICE_ARCH_TURING,
        (7, _) => NVML_DEVICE_ARCH_VOLTA,
        (8, 9) => NVML_DEVICE_ARCH_ADA,
        (8, _) => NVML_DEVICE_ARCH_AMPERE,
        (9, _) => NVML_DEVICE_ARCH_HOPPER,
        (10..=12, _) => NVML_DEVICE_ARCH_BLACKWELL,
        _ => NVML_DEVICE_ARCH_UNKNOWN,
    }
}

/// Returns the `NVML_BRAND_*` value for the product family in a GPU's name. If the name contains no
/// known family, the brand is unknown.
fn brand(name: &str) -> nvmlBrandType_t {
    const FAMILIES: [(&str, nvmlBrandType_t); 7] = [
        ("GeForce RTX", nvmlBrandType_t::NVML_BRAND_GEFORCE_RTX),
        ("GeForce", nvmlBrandType_t::NVML_BRAND_GEFORCE),
        ("Quadro RTX", nvmlBrandType_t::NVML_BRAND_QUADRO_RTX),
        ("Quadro", nvmlBrandType_t::NVML_BRAND_QUADRO),
        ("TITAN", nvmlBrandType_t::NVML_BRAND_TITAN),
        ("Tesla", nvmlBrandType_t::NVML_BRAND_TESLA),
        ("NVIDIA", nvmlBrandType_t::NVML_BRAND_NVIDIA),
    ];
    FAMILIES
        .iter()
        .find(|(family, _)| name.contains(family))
        .map_or(nvmlBrandType_t::NVML_BRAND_UNKNOWN, |(_, brand)| *brand)
}

fn bus(gpu: &Gpu) -> NvmlResult<PciAddress> {
    PciAddress::parse(&facts::text(&gpu.pci_bus_id)).ok_or(NvmlError::UNKNOWN)
}

pub(super) fn pci(device: Handle) -> NvmlResult<nvmlPciInfo_t> {
    let gpu = state::gpu(device)?;
    let address = bus(&gpu)?;
    Ok(nvmlPciInfo_t {
        busIdLegacy: padded(&address.legacy()),
        domain: address.domain,
        bus: address.bus.into(),
        device: address.device.into(),
        pciDeviceId: gpu.pci_device,
        pciSubSystemId: gpu.pci_subsystem,
        busId: padded(&address.to_string()),
    })
}

/// Size of the second version of `nvmlPciInfo_t`, which ends before `busId`.
pub(super) const PCI_INFO_V2: usize = offset_of!(nvmlPciInfo_t, busId);

/// Stores the first `N` bytes of PCI information. An older version of the structure consists of
/// only these bytes.
///
/// # Safety
///
/// If `info` is not null, it must be valid for writing `N` bytes.
pub(super) unsafe fn set_pci_prefix<const N: usize>(
    full: &nvmlPciInfo_t,
    info: Out<nvmlPciInfo_t>,
) -> NvmlResult {
    const { assert!(N <= size_of::<nvmlPciInfo_t>()) };
    // SAFETY: the structure is at least N bytes long and has no padding.
    let prefix: [u8; N] = unsafe { (&raw const *full).cast::<[u8; N]>().read() };
    // SAFETY: if `info` is not null, it is valid for writing `N` bytes, as the caller promises.
    unsafe { info.cast() }.set(prefix)
}

/// Returns the maximum clock rate in MHz, if the host reports it.
fn highest_clock(gpu: &Gpu, kind: nvmlClockType_t) -> NvmlResult<u32> {
    let khz = match kind {
        nvmlClockType_t::NVML_CLOCK_GRAPHICS | nvmlClockType_t::NVML_CLOCK_SM => gpu.clock_khz,
        nvmlClockType_t::NVML_CLOCK_MEM => gpu.memory_clock_khz,
        nvmlClockType_t::NVML_CLOCK_VIDEO => 0,
        _ => return Err(NvmlError::INVALID_ARGUMENT),
    };
    if khz == 0 { Err(NvmlError::NOT_SUPPORTED) } else { Ok(khz / 1000) }
}

/// Returns the generation and the number of lanes of a PCIe link, if the host reports it.
fn pcie_link(link: u32) -> NvmlResult<(u32, u32)> {
    match (link >> 16, link & 0xffff) {
        (0, _) | (_, 0) => Err(NvmlError::NOT_SUPPORTED),
        known => Ok(known),
    }
}

entries! {
    fn nvmlDeviceGetName(device: Handle, name: Buffer, length: u32) {
        // SAFETY: `name` has `length` bytes.
        unsafe { name.set(length, &facts::text(&state::gpu(device)?.name)) }
    }
    fn nvmlDeviceGetUUID(device: Handle, uuid: Buffer, length: u32) {
        // SAFETY: `uuid` has `length` bytes.
        unsafe { uuid.set(length, &uuid_text(&state::gpu(device)?.uuid)) }
    }
    fn nvmlDeviceGetIndex(device: Handle, index: Out<u32>) {
        state::gpu(device)?;
        index.set(device.index()? as u32)
    }
    fn nvmlDeviceGetMinorNumber(device: Handle, minor: Out<u32>) {
        state::gpu(device)?;
        minor.set(device.index()? as u32)
    }
    /// Stores the oldest version of `nvmlPciInfo_t`, which ends after `pciDeviceId`.
    fn nvmlDeviceGetPciInfo(device: Handle, info: Out<nvmlPciInfo_t>) {
        // SAFETY: the caller's structure has this length.
        unsafe { set_pci_prefix::<{ offset_of!(nvmlPciInfo_t, pciSubSystemId) }>(&pci(device)?, info) }
    }
    fn nvmlDeviceGetPciInfo_v2(device: Handle, info: Out<nvmlPciInfo_t>) {
        // SAFETY: the caller's structure has this length.
        unsafe { set_pci_prefix::<PCI_INFO_V2>(&pci(device)?, info) }
    }
    fn nvmlDeviceGetPciInfo_v3(device: Handle, info: Out<nvmlPciInfo_t>) {
        info.set(pci(device)?)
    }
    fn nvmlDeviceGetPciInfoExt(device: Handle, info: Out<nvmlPciInfoExt_t>) {
        let pci = pci(device)?;
        let version = version::<nvmlPciInfoExt_t>(1);
        if info.get()?.version != version {
            return Err(NvmlError::ARGUMENT_VERSION_MISMATCH);
        }
        /// The PCI class and subclass of a 3D controller, which is a GPU without a display.
        const DISPLAY_CLASS: (u32, u32) = (3, 2);
        info.set(nvmlPciInfoExt_t {
            version,
            domain: pci.domain,
            bus: pci.bus,
            device: pci.device,
            pciDeviceId: pci.pciDeviceId,
            pciSubSystemId: pci.pciSubSystemId,
            baseClass: DISPLAY_CLASS.0,
            subClass: DISPLAY_CLASS.1,
            busId: pci.busId,
        })
    }
    fn nvmlDeviceGetCudaComputeCapability(device: Handle, major: Out<i32>, minor: Out<i32>) {
        let gpu = state::gpu(device)?;
        major.set(gpu.compute_major as i32)?;
        minor.set(gpu.compute_minor as i32)
    }
    fn nvmlDeviceGetArchitecture(device: Handle, arch: Out<nvmlDeviceArchitecture_t>) {
        arch.set(architecture(&state::gpu(device)?))
    }
    fn nvmlDeviceGetBrand(device: Handle, kind: Out<nvmlBrandType_t>) {
        kind.set(brand(&facts::text(&state::gpu(device)?.name)))
    }
    fn nvmlDeviceGetMaxClockInfo(device: Handle, kind: nvmlClockType_t, clock: Out<u32>) {
        clock.set(highest_clock(&state::gpu(device)?, kind)?)
    }
    fn nvmlDeviceGetMemoryBusWidth(device: Handle, width: Out<u32>) {
        width.set(state::gpu(device)?.memory_bus_bits)
    }
    fn nvmlDeviceGetMaxPcieLinkGeneration(device: Handle, generation: Out<u32>) {
        generation.set(pcie_link(state::gpu(device)?.pcie_link_max)?.0)
    }
    fn nvmlDeviceGetMaxPcieLinkWidth(device: Handle, width: Out<u32>) {
        width.set(pcie_link(state::gpu(device)?.pcie_link_max)?.1)
    }
    fn nvmlDeviceGetCurrPcieLinkGeneration(device: Handle, generation: Out<u32>) {
        generation.set(pcie_link(state::gpu(device)?.pcie_link)?.0)
    }
    fn nvmlDeviceGetCurrPcieLinkWidth(device: Handle, width: Out<u32>) {
        width.set(pcie_link(state::gpu(device)?.pcie_link)?.1)
    }
    fn nvmlDeviceGetMultiGpuBoard(device: Handle, is_multi: Out<u32>) {
        state::gpu(device)?;
        is_multi.set(0)
    }
    fn nvmlDeviceGetEccMode(
        device: Handle,
        current: Out<nvmlEnableState_t>,
        pending: Out<nvmlEnableState_t>,
    ) {
        let on = nvmlEnableState_t(u32::from(state::gpu(device)?.flags & GPU_ECC != 0));
        current.set(on)?;
        pending.set(on)
    }
    /// Always returns "disabled", because a guest sees a MIG instance as a whole GPU.
    fn nvmlDeviceGetMigMode(device: Handle, current: Out<u32>, pending: Out<u32>) {
        state::gpu(device)?;
        current.set(NVML_DEVICE_MIG_DISABLE)?;
        pending.set(NVML_DEVICE_MIG_DISABLE)
    }
    /// Always returns the default mode, in which any number of processes may use the GPU.
    fn nvmlDeviceGetComputeMode(device: Handle, mode: Out<nvmlComputeMode_t>) {
        state::gpu(device)?;
        mode.set(nvmlComputeMode_t::NVML_COMPUTEMODE_DEFAULT)
    }
    /// Always returns "disabled", because GPUs in a guest never have a display.
    fn nvmlDeviceGetDisplayActive(device: Handle, active: Out<nvmlEnableState_t>) {
        state::gpu(device)?;
        active.set(nvmlEnableState_t::NVML_FEATURE_DISABLED)
    }
    fn nvmlDeviceGetDisplayMode(device: Handle, mode: Out<nvmlEnableState_t>) {
        state::gpu(device)?;
        mode.set(nvmlEnableState_t::NVML_FEATURE_DISABLED)
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
        assert_eq!([brand("NVIDIA H200").0, brand("NVIDIA GeForce RTX 5090").0], [14, 15]);
        assert_eq!(brand("softgpu").0, 0);
    }

    #[test]
    fn a_link_has_a_generation_and_lanes_if_both_are_known() {
        assert_eq!(pcie_link(5 << 16 | 16), Ok((5, 16)));
        for unknown in [0, 16, 5 << 16] {
            assert_eq!(pcie_link(unknown), Err(NvmlError::NOT_SUPPORTED));
        }
    }

    #[test]
    fn an_unknown_clock_is_not_supported() {
        let gpu = Gpu { clock_khz: 1_980_000, ..Gpu::zeroed() };
        assert_eq!(highest_clock(&gpu, nvmlClockType_t::NVML_CLOCK_SM), Ok(1980));
        assert_eq!(
            highest_clock(&gpu, nvmlClockType_t::NVML_CLOCK_MEM),
            Err(NvmlError::NOT_SUPPORTED)
        );
        assert_eq!(highest_clock(&gpu, nvmlClockType_t(9)), Err(NvmlError::INVALID_ARGUMENT));
    }
}
