//! Finds out whether kernels can be taken off the host's GPUs before they end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rm_control::Client;

use crate::config::{EvictionMode, Policy};
use crate::gpu::compute::Eviction;
use crate::gpu::gpus::{Gpu, Gpus};
use gpu_scheduler::GpuKey;
use host_ipc::gpu::{self, Probed};
use memory_ledger::GpuId;

/// Why kernels can't be evicted on a GPU that the driver doesn't know, such as a MIG slice.
const UNKNOWN: &str = "the driver has no whole GPU with this UUID";

/// Prepares evictions, if they work, and records for each GPU why they don't. `has_jail` says
/// whether workers have a jail.
pub(crate) fn prepare(
    policy: &Policy,
    probed: &Probed,
    gpus: &mut Gpus,
    has_jail: bool,
) -> Option<Eviction> {
    let found = find(policy, probed, gpus, has_jail);
    let reason = |id: GpuId, gpu: &Gpu| match &found {
        Ok(eviction) if eviction.gpus.contains_key(&GpuKey(id.0)) => None,
        Ok(_) => Some(failure(probed, gpu).unwrap_or(UNKNOWN)),
        Err(reason) => Some(reason.as_str()),
    };
    let reasons: Vec<_> =
        gpus.iter().filter_map(|(id, gpu)| Some((id, reason(id, gpu)?.to_owned()))).collect();
    for (id, reason) in reasons {
        gpus.set_no_eviction(id, reason);
    }
    match found {
        Ok(eviction) => {
            tracing::info!("kernels that outlast their VM's window are taken off the GPU");
            Some(eviction)
        }
        Err(reason) => {
            tracing::info!("kernels can't be taken off the GPU before they end: {reason}");
            None
        }
    }
}

/// Returns why the test of evictions has failed on a GPU, if it has.
fn failure<'a>(probed: &'a Probed, gpu: &Gpu) -> Option<&'a str> {
    let uuid = gpu.facts().uuid;
    let failure = probed.no_eviction.iter().find(|failure| failure.gpu == uuid)?;
    Some(&failure.reason)
}

fn find(policy: &Policy, probed: &Probed, gpus: &Gpus, has_jail: bool) -> Result<Eviction, String> {
    if policy.eviction == EvictionMode::Off {
        return Err("eviction = \"off\"".into());
    }
    if !policy.scheduler {
        return Err("scheduler = \"off\"".into());
    }
    match &probed.eviction {
        gpu::Eviction::Works => {}
        gpu::Eviction::Simulated => {
            let gpus = gpus.iter().map(|(id, _)| (GpuKey(id.0), id.0)).collect();
            return Ok(Eviction { channels: None, gpus });
        }
        gpu::Eviction::Unavailable(reason) => return Err(reason.clone()),
    }
    // Only workers in a jail have a supervisor. Without it, the channels of later contexts would be
    // unknown, and workers could return to the GPU by themselves.
    if !has_jail {
        return Err("workers have no jail".into());
    }
    let client = Client::open().map_err(|error| error.to_string())?;
    let known: BTreeMap<[u8; 16], u32> = client.gpus().map(|gpu| (gpu.uuid, gpu.number)).collect();
    let numbers: BTreeMap<_, _> = gpus
        .iter()
        .filter(|(_, gpu)| failure(probed, gpu).is_none())
        .filter_map(|(id, gpu)| Some((GpuKey(id.0), *known.get(&gpu.facts().uuid)?)))
        .collect();
    if numbers.is_empty() {
        return Err(UNKNOWN.into());
    }
    Ok(Eviction { channels: Some(Arc::new(client)), gpus: numbers })
}
