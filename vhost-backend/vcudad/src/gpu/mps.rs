//! NVIDIA's MPS for VMs with `sharing = "mps"`. There is one MPS control daemon per set of GPUs
//! that such VMs use. The spawner starts it when a session needs it.
//!
//! MPS weakens isolation. The workers of all these VMs are clients of one server process, which
//! runs as the spawner's user and submits the clients' work to the GPU. A compromised worker can
//! send the server any input, and a GPU fault that one client causes can end the other clients. The
//! clients' GPU address spaces remain separate. So MPS is only for VMs that trust one another, as
//! docs/quotas.md explains.

use control_api::{ApiError, ErrorCode, MpsSpec, Percent, Sharing, VmSpec};

use crate::gpu::gpus::Gpus;
use host_ipc::spawner::MpsClient;
use memory_ledger::GpuId;

/// Checks whether the VM's GPUs support the VM's sharing mode.
pub(crate) fn check_sharing(spec: &VmSpec, gpus: &[GpuId], all: &Gpus) -> Result<(), ApiError> {
    let is_software = |id: &GpuId| all.get(*id).is_some_and(|gpu| gpu.is_software());
    if spec.sharing == Sharing::Mps && gpus.iter().any(is_software) {
        let message = "softgpu does not support MPS: set sharing to \"exclusive\"";
        return Err(ApiError::new(ErrorCode::Invalid, message).of("sharing"));
    }
    Ok(())
}

/// Returns the MPS limits for each of the VM's sessions. VMs that share a daemon also share
/// scheduling windows, so compute.max can limit only their fraction of the multiprocessors. If the
/// scheduler is off, compute.max has no effect.
fn limits(spec: &VmSpec, scheduler: bool) -> MpsSpec {
    let cap = Some(spec.compute.max).filter(|max| scheduler && *max < Percent::ALL);
    let asked = spec.mps.active_thread_percentage;
    MpsSpec { active_thread_percentage: asked.into_iter().chain(cap).min(), ..spec.mps.clone() }
}

/// Returns the limits of a worker as a client of MPS, or `None` if the VM doesn't use MPS.
/// `scheduler` is true if the scheduler is on.
pub(crate) fn client(spec: &VmSpec, gpus: &[GpuId], scheduler: bool) -> Option<MpsClient> {
    let limits = limits(spec, scheduler);
    (spec.sharing == Sharing::Mps).then(|| MpsClient {
        gpus: gpus.len() as u32,
        threads: limits.active_thread_percentage.map(Percent::basis_points),
        // MPS takes this limit in MiB. 0 would mean that there's no limit.
        memory_mib: limits.pinned_memory_limit.map(|bytes| (bytes >> 20).max(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_max_limits_the_thread_percentage() {
        let percent = |percent: u32| Some(Percent::from_basis_points(100 * percent));
        let mut spec = VmSpec::new("a", 1);
        spec.sharing = Sharing::Mps;
        let of = |spec: &VmSpec, on| limits(spec, on).active_thread_percentage;
        assert_eq!(of(&spec, true), None);
        spec.compute.max = Percent::from_basis_points(2500);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(25), None));
        // If the VM has a cap and a thread percentage, the lower of the two limits applies.
        spec.mps.active_thread_percentage = percent(10);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(10), percent(10)));
        spec.mps.active_thread_percentage = percent(50);
        assert_eq!((of(&spec, true), of(&spec, false)), (percent(25), percent(50)));
    }

    #[test]
    fn only_a_vm_with_mps_is_a_client_of_it() {
        let mut spec = VmSpec::new("a", 1);
        spec.mps.pinned_memory_limit = Some(3 << 30);
        let gpus = [GpuId(0), GpuId(1)];
        assert_eq!(client(&spec, &gpus, true), None);
        spec.sharing = Sharing::Mps;
        let expected = MpsClient { gpus: 2, threads: None, memory_mib: Some(3072) };
        assert_eq!(client(&spec, &gpus, true), Some(expected));
    }
}
