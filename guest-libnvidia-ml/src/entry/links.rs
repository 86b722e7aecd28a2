//! Entry points for the links between GPUs: peer access and NVLinks.
//!
//! NVSwitches aren't visible in a guest. Their PCI address is the one that NVIDIA's library returns
//! in a VM in which NVSwitches aren't visible, either. NCCL recognizes that address.

use super::entries;
use super::identity::{PCI_INFO_V2, pci, set_pci_prefix};
use crate::args::{Out, padded};
use crate::error::{NvmlError, NvmlResult};
use crate::generated::sys::*;
use crate::state::{self, Handle};
use protocol::uapi::{GPU_PEER_SHIFT, Gpu};

/// The device at the other end of an NVLink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remote {
    /// The GPU with this index.
    Gpu(usize),
    Switch,
}

/// Returns the remote devices of a GPU's NVLinks, in the order of the links. `index` is the index
/// of `gpu`.
fn remotes(gpu: &Gpu, index: usize) -> impl Iterator<Item = Remote> + '_ {
    gpu.nvlinks.iter().enumerate().flat_map(move |(to, count)| {
        let remote = if to == index { Remote::Switch } else { Remote::Gpu(to) };
        std::iter::repeat_n(remote, (*count).into())
    })
}

/// Returns the remote device of a link.
fn remote(device: Handle, link: u32) -> NvmlResult<Remote> {
    let (gpu, index) = (state::gpu(device)?, device.index()?);
    let mut remotes = remotes(&gpu, index).peekable();
    remotes.peek().ok_or(NvmlError::NOT_SUPPORTED)?;
    remotes.nth(link as usize).ok_or(NvmlError::INVALID_ARGUMENT)
}

fn remote_pci(device: Handle, link: u32) -> NvmlResult<nvmlPciInfo_t> {
    match remote(device, link)? {
        Remote::Gpu(index) => pci(Handle::at(index)),
        Remote::Switch => Ok(nvmlPciInfo_t {
            busIdLegacy: padded("FFFFFFF:FF:FF.0"),
            domain: u32::MAX,
            bus: 0xff,
            device: 0xff,
            pciDeviceId: u32::MAX,
            pciSubSystemId: 0,
            busId: padded("FFFFFFFF:FF:FF.0"),
        }),
    }
}

/// Returns whether NVLinks connect two GPUs, directly or through NVSwitches.
fn are_linked((one, first): (&Gpu, usize), (other, second): (&Gpu, usize)) -> bool {
    let number = |gpu: &Gpu, to: usize| gpu.nvlinks.get(to).copied().unwrap_or(0);
    number(one, second) > 0 || number(one, first) > 0 && number(other, second) > 0
}

/// Returns whether a GPU has a peer-to-peer capability for another GPU. For a GPU and itself,
/// returns the same as for two GPUs with NVLinks, as NVIDIA's library does.
fn peer_status(
    (one, first): (&Gpu, usize),
    (other, second): (&Gpu, usize),
    capability: nvmlGpuP2PCapsIndex_t,
) -> nvmlGpuP2PStatus_t {
    let bit = GPU_PEER_SHIFT + second as u32;
    let is_peer = first == second || one.flags.checked_shr(bit).unwrap_or(0) & 1 != 0;
    let is_linked = is_peer && (first == second || are_linked((one, first), (other, second)));
    let can = match capability {
        nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_READ
        | nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_WRITE => is_peer,
        nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_NVLINK
        | nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_ATOMICS => is_linked,
        nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_PCI => is_peer && !is_linked,
        _ => return nvmlGpuP2PStatus_t::NVML_P2P_STATUS_UNKNOWN,
    };
    match can {
        true => nvmlGpuP2PStatus_t::NVML_P2P_STATUS_OK,
        false => nvmlGpuP2PStatus_t::NVML_P2P_STATUS_NOT_SUPPORTED,
    }
}

/// Returns the version of a GPU's NVLinks, as an NVML_NVLINK_VERSION_* value.
fn nvlink_version(gpu: &Gpu) -> NvmlResult<u32> {
    match (gpu.compute_major, gpu.compute_minor) {
        (6, _) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_1_0.0),
        (7, 5) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_2_2.0),
        (7, _) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_2_0.0),
        (8, _) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_3_0.0),
        (9, _) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_4_0.0),
        (10, _) => Ok(nvmlNvlinkVersion_t::NVML_NVLINK_VERSION_5_0.0),
        _ => Err(NvmlError::NOT_SUPPORTED),
    }
}

/// Returns the number of a GPU's NVLinks.
pub(super) fn count(device: Handle) -> NvmlResult<u32> {
    Ok(remotes(&state::gpu(device)?, device.index()?).count() as u32)
}

/// Returns the state of a link. Always returns "enabled" for links that exist, because a guest sees
/// only active links.
pub(super) fn link_state(device: Handle, link: u32) -> NvmlResult<nvmlEnableState_t> {
    remote(device, link).map(|_| nvmlEnableState_t::NVML_FEATURE_ENABLED)
}

entries! {
    fn nvmlDeviceGetP2PStatus(
        one: Handle, other: Handle, capability: nvmlGpuP2PCapsIndex_t,
        status: Out<nvmlGpuP2PStatus_t>,
    ) {
        let (first, second) = (state::gpu(one)?, state::gpu(other)?);
        let (one, other) = ((&first, one.index()?), (&second, other.index()?));
        status.set(peer_status(one, other, capability))
    }
    /// Always returns the longest path, because a guest doesn't see the host's PCI bridges.
    fn nvmlDeviceGetTopologyCommonAncestor(
        one: Handle, other: Handle, level: Out<nvmlGpuTopologyLevel_t>,
    ) {
        state::gpu(one)?;
        state::gpu(other)?;
        if one == other {
            return Err(NvmlError::NOT_SUPPORTED);
        }
        level.set(nvmlGpuTopologyLevel_t::NVML_TOPOLOGY_SYSTEM)
    }
    fn nvmlDeviceGetNvLinkState(device: Handle, link: u32, state: Out<nvmlEnableState_t>) {
        state.set(link_state(device, link)?)
    }
    fn nvmlDeviceGetNvLinkVersion(device: Handle, link: u32, version: Out<u32>) {
        remote(device, link)?;
        version.set(nvlink_version(&state::gpu(device)?)?)
    }
    /// Returns that all links have all capabilities, as NVIDIA's library does for an H100.
    fn nvmlDeviceGetNvLinkCapability(
        device: Handle, link: u32, capability: nvmlNvLinkCapability_t, has: Out<u32>,
    ) {
        remote(device, link)?;
        if capability.0 >= nvmlNvLinkCapability_t::NVML_NVLINK_CAP_COUNT.0 {
            return Err(NvmlError::INVALID_ARGUMENT);
        }
        has.set(1)
    }
    fn nvmlDeviceGetNvLinkRemoteDeviceType(
        device: Handle, link: u32, kind: Out<nvmlIntNvLinkDeviceType_t>,
    ) {
        kind.set(match remote(device, link)? {
            Remote::Gpu(_) => nvmlIntNvLinkDeviceType_t::NVML_NVLINK_DEVICE_TYPE_GPU,
            Remote::Switch => nvmlIntNvLinkDeviceType_t::NVML_NVLINK_DEVICE_TYPE_SWITCH,
        })
    }
    fn nvmlDeviceGetNvLinkRemotePciInfo(device: Handle, link: u32, info: Out<nvmlPciInfo_t>) {
        // SAFETY: the program passes a structure of this version's length.
        unsafe { set_pci_prefix::<PCI_INFO_V2>(&remote_pci(device, link)?, info) }
    }
    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Handle, link: u32, info: Out<nvmlPciInfo_t>) {
        info.set(remote_pci(device, link)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::plain::Plain;

    const READ: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_READ;
    const NVLINK: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_NVLINK;
    const PCI: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_PCI;

    fn gpu(peers: u32, nvlinks: &[u8]) -> Gpu {
        let mut gpu = Gpu { flags: peers << GPU_PEER_SHIFT, ..Gpu::zeroed() };
        gpu.nvlinks[..nvlinks.len()].copy_from_slice(nvlinks);
        gpu
    }

    fn statuses(gpus: [&Gpu; 2]) -> [bool; 3] {
        let [one, other] = gpus;
        [READ, NVLINK, PCI].map(|capability| {
            let status = peer_status((one, 0), (other, 1), capability);
            status == nvmlGpuP2PStatus_t::NVML_P2P_STATUS_OK
        })
    }

    #[test]
    fn links_lead_to_gpus_or_switches() {
        let found: Vec<_> = remotes(&gpu(0, &[1, 2, 0, 1]), 1).collect();
        use Remote::*;
        assert_eq!(found, [Gpu(0), Switch, Switch, Gpu(3)]);
        assert_eq!(remotes(&gpu(0, &[]), 0).count(), 0);
    }

    #[test]
    fn peers_use_nvlinks_if_there_are_any() {
        let switched = [&gpu(0b10, &[18]), &gpu(0b01, &[0, 18])];
        assert_eq!(statuses(switched), [true, true, false]);
        let direct = [&gpu(0b10, &[0, 4]), &gpu(0b01, &[4])];
        assert_eq!(statuses(direct), [true, true, false]);
        let one_is_not_on_the_switch = [&gpu(0b10, &[18]), &gpu(0b01, &[])];
        assert_eq!(statuses(one_is_not_on_the_switch), [true, false, true]);
        let no_access = [&gpu(0, &[18]), &gpu(0, &[0, 18])];
        assert_eq!(statuses(no_access), [false, false, false]);
    }

    #[test]
    fn a_gpu_can_access_its_own_memory() {
        let one = gpu(0, &[]);
        let status = |capability| peer_status((&one, 0), (&one, 0), capability);
        assert_eq!(status(READ), nvmlGpuP2PStatus_t::NVML_P2P_STATUS_OK);
        assert_eq!(status(PCI), nvmlGpuP2PStatus_t::NVML_P2P_STATUS_NOT_SUPPORTED);
    }
}
