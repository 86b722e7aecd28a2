//! Facts about the host's GPUs. The broker doesn't load the driver library. A separate process
//! does: it loads the library, collects the facts, and prints them. This is called probing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Maximum number of GPUs per worker.
pub const MAX_GPUS: usize = 16;

/// A driver library that works, and the GPUs that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// Path from which the dynamic loader loaded the library.
    pub library: PathBuf,
    /// Result of `cuDriverGetVersion`. For example, 13000 is CUDA 13.0.
    pub cuda_version: u32,
    /// Version of the driver, such as "580.95.05".
    pub driver: String,
    /// Whether kernels can be evicted, that is, taken off a GPU and put back later.
    pub eviction: Eviction,
    /// The GPUs that failed the eviction test, if other GPUs passed it.
    #[serde(default)]
    pub no_eviction: Vec<NoEviction>,
    /// The GPUs, in the order of the library's device ordinals.
    #[serde(default)]
    pub gpus: Vec<GpuFacts>,
    /// The pairs of GPUs in which one GPU can access the other's memory.
    #[serde(default)]
    pub peers: Vec<PeerAccess>,
    /// Result of `cuModuleGetLoadingMode`. 0 if unknown.
    #[serde(default)]
    pub module_loading: u32,
    /// The attributes of each GPU.
    #[serde(default)]
    pub attributes: Vec<Attributes>,
}

/// The results of `cuDeviceGetAttribute` for a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// UUID of the GPU.
    pub gpu: [u8; 16],
    /// The number and the value of each attribute that the driver knows.
    pub values: Vec<(u8, i32)>,
}

/// A GPU that can access another one's memory, as `cuDeviceCanAccessPeer` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerAccess {
    /// UUID of the GPU that accesses the memory.
    pub gpu: [u8; 16],
    /// UUID of the GPU with the memory.
    pub peer: [u8; 16],
}

/// A GPU that failed the test of evicting kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoEviction {
    /// UUID of the GPU.
    pub gpu: [u8; 16],
    /// Why the eviction test failed on this GPU.
    pub reason: String,
}

/// Whether a kernel can be taken off a GPU before it ends, and put back later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eviction {
    /// The eviction test succeeded on at least one GPU.
    Works,
    /// The driver library is softgpu, whose kernels stop while
    /// [`GpuGate::off`](crate::gate::GpuGate::off) is set.
    Simulated,
    /// The eviction test failed on each GPU. Contains the reason why it failed on the first one.
    Unavailable(String),
}

/// Facts about a GPU that never change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Result of `cuDeviceGetName`.
    pub name: String,
    /// Result of `cuDeviceGetUuid`. A MIG instance has its own UUID.
    pub uuid: [u8; 16],
    /// Result of `cuDeviceGetPCIBusId`, such as "0000:3b:00.0".
    pub pci_bus_id: String,
    /// Total memory, in bytes.
    pub memory: u64,
    /// Compute capability: major and minor version.
    pub compute_capability: [u32; 2],
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Maximum clock rate of the multiprocessors, in kHz. 0 if unknown.
    pub clock_khz: u32,
    /// Maximum memory clock rate, in kHz. 0 if unknown.
    pub memory_clock_khz: u32,
    /// Width of the memory bus, in bits.
    pub memory_bus_bits: u32,
    /// Whether ECC is on.
    pub ecc: bool,
    /// PCI device ID in the upper 16 bits, and vendor ID in the lower 16 bits. 0 if unknown.
    pub pci_device: u32,
    /// PCI subsystem device and vendor IDs, in the same format as `pci_device`.
    pub pci_subsystem: u32,
}

/// A PCIe link of a GPU. Unknown values are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLink {
    /// PCIe generation.
    pub generation: u16,
    /// Number of lanes.
    pub lanes: u16,
}

/// The PCIe links of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieLinks {
    /// The fastest link that the GPU and the host support together.
    pub max: PcieLink,
    /// The current link. A GPU may slow down its link while it is idle.
    pub current: PcieLink,
}

/// The active NVLinks of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvLinks {
    /// Number of links to NVSwitches.
    pub to_switches: u8,
    /// Number of links to each other GPU, with the GPU's UUID as in CUDA_VISIBLE_DEVICES.
    pub to_gpus: Vec<(String, u8)>,
}

impl GpuFacts {
    /// Returns the UUID in the format that NVIDIA's tools use.
    pub fn uuid_text(&self) -> String {
        let hex: String = self.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        format!("GPU-{}", parts.join("-"))
    }
}

/// Returns the driver version, which is part of the file name of NVIDIA's library. For any other
/// library, returns the version of this crate.
pub fn driver_version(library: &Path) -> String {
    let real = std::fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.strip_prefix("libcuda.so.") {
        Some(version) if version.contains('.') && version.len() < 32 => version.to_owned(),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Reads a device's PCI IDs from sysfs: device and vendor, then subsystem device and vendor.
pub fn pci_ids(bus_id: &str) -> (u32, u32) {
    let folder = Path::new("/sys/bus/pci/devices").join(bus_id.to_ascii_lowercase());
    let number = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap_or(0)
    };
    let pair = |device: &str, vendor: &str| number(device) << 16 | number(vendor) & 0xffff;
    (pair("device", "vendor"), pair("subsystem_device", "subsystem_vendor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broker_decodes_the_probes_output() {
        for eviction in [Eviction::Works, Eviction::Unavailable("no \"GPU\"".into())] {
            let gpu = GpuFacts { name: "a \"GPU\"".into(), ecc: true, ..GpuFacts::default() };
            let probed = Probed {
                library: "/usr/lib/libcuda.so.1".into(),
                cuda_version: 13000,
                driver: "580.95.05".into(),
                eviction,
                no_eviction: vec![NoEviction { gpu: [1; 16], reason: "busy".into() }],
                gpus: vec![gpu; 2],
                peers: vec![PeerAccess { gpu: [1; 16], peer: [2; 16] }],
                module_loading: 2,
                attributes: vec![Attributes { gpu: [1; 16], values: vec![(1, 1024), (160, -1)] }],
            };
            let text = toml::to_string(&probed).unwrap();
            assert!(text.starts_with("library = "), "{text}");
            assert_eq!(toml::from_str::<Probed>(&text).unwrap(), probed);
        }
    }

    #[test]
    fn a_library_without_a_version_in_its_name_gets_this_crates() {
        assert_eq!(driver_version(Path::new("/nowhere/libcuda.so.1")), env!("CARGO_PKG_VERSION"));
        assert_eq!(driver_version(Path::new("/nowhere/libcuda.so.580.95.05")), "580.95.05");
    }

    #[test]
    fn uuids_are_formatted_as_in_nvidias_tools() {
        let gpu = GpuFacts { uuid: *b"softgpu\0\0\0\0\0\0\0\0\x01", ..GpuFacts::default() };
        assert_eq!(gpu.uuid_text(), "GPU-736f6674-6770-7500-0000-000000000001");
    }
}
