//! What is: VMs, sessions, GPUs, and what they have used.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::VmSpec;
use crate::units::Percent;

/// A VM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmInfo {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub origin: VmOrigin,
    /// Whether its device can be used.
    pub state: VmState,
    /// Why it has failed, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its vhost-user socket.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub socket: PathBuf,
    /// The process id of its device process, while it runs.
    pub device_pid: Option<u32>,
    /// Its settings, changes included. `gpus` holds what was asked for.
    pub settings: VmSpec,
    /// What it has used.
    pub stats: VmStats,
}

/// Where a VM comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum VmOrigin {
    /// The configuration file.
    File,
    /// This API.
    Api,
}

/// Whether a VM's device can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum VmState {
    /// Its device process runs.
    Running,
    /// It could not be placed, its socket could not be had, or its device process can't be started
    /// or has ended too often: its device and its socket are not there until `vcudad` is started
    /// again. `failure` says why.
    Failed,
}

/// What a VM or a session has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Activity {
    /// Calls that its workers carried out.
    pub calls: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Launches of graphs.
    pub graph_launches: u64,
    /// Bytes copied from the host to a GPU.
    pub bytes_h2d: u64,
    /// Bytes copied from a GPU to the host.
    pub bytes_d2h: u64,
    /// Bytes copied on GPUs, and between them.
    pub bytes_d2d: u64,
    /// Bytes that wait in the command rings now.
    pub ring_depth: u64,
}

/// What a VM has used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmStats {
    /// The VM.
    pub name: String,
    /// Its sessions now.
    pub sessions: u32,
    /// Sessions that it has had since vcudad started.
    pub sessions_total: u64,
    /// How often its device process was started again.
    pub device_restarts: u64,
    /// What its sessions did, those that ended included.
    pub activity: Activity,
    /// For each of its GPUs, in the guest's order.
    pub gpus: Vec<VmGpuStats>,
}

/// What a VM has used of one GPU since vcudad started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmGpuStats {
    /// The GPU's index on the host.
    pub gpu: u32,
    /// The GPU's UUID, or the MIG slice's.
    pub uuid: String,
    /// Bytes that it may hold.
    pub memory_max: u64,
    /// Bytes that it holds, by the ledger.
    pub memory_used: u64,
    /// The most that it held.
    pub memory_peak: u64,
    /// What it holds, by kind (`memory`, `context`, `module`, …), in bytes.
    #[serde(default)]
    pub memory_by_kind: BTreeMap<String, u64>,
    /// Allocations that went past a quota.
    pub memory_rejected: u64,
    /// Bytes that the driver reports for its workers, where the driver tells.
    pub memory_driver: Option<u64>,
    /// GPU time that it was charged, in nanoseconds.
    pub gpu_ns: u64,
    /// The part of it that went to copies while another VM had the GPU, in nanoseconds.
    pub copied_ns: u64,
    /// Time in which it had work and had to wait, in nanoseconds.
    pub throttled_ns: u64,
    /// Windows that it was given.
    pub windows: u64,
    /// Handovers from it: its window was over, and what ran of it had to end.
    pub handovers: u64,
    /// What they took, in nanoseconds, all together.
    pub handover_ns: u64,
    /// The longest, in nanoseconds.
    pub handover_max_ns: u64,
    /// GPU time that it took above its share and still owes, in nanoseconds.
    pub debt_ns: u64,
    /// Its part of the GPU's time over the last second: 0.0 to 1.0.
    pub share_1s: f64,
    /// Its part of the GPU's time over the last 10 seconds: 0.0 to 1.0.
    pub share_10s: f64,
    /// What it gets if all VMs of the GPU have work, by the weights, caps and guarantees of all of
    /// them: 0.0 to 1.0. Of VMs under MPS on the same GPUs: what they get together.
    pub share_promised: f64,
    /// Kernels that ran above `compute.kernel_timeout`.
    pub kernel_timeouts: u64,
}

/// A session: one guest process with the device open, and its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionInfo {
    /// Its VM.
    pub vm: String,
    /// Its number, for its VM.
    pub id: u32,
    /// The process id of its worker on the host.
    pub worker_pid: u32,
    /// When it began: milliseconds since 1970.
    pub started_ms: u64,
    /// What it holds on each of its VM's GPUs.
    pub memory: Vec<SessionMemory>,
    /// What it did.
    pub activity: Activity,
}

/// What a session holds on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionMemory {
    /// The GPU's index on the host.
    pub gpu: u32,
    /// Bytes.
    pub bytes: u64,
}

/// A GPU, or a MIG slice of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GpuInfo {
    /// Its index on the host.
    pub index: u32,
    /// Its UUID.
    pub uuid: String,
    /// Its model.
    pub name: String,
    /// Its address on the PCI bus.
    pub pci_bus_id: String,
    /// Whether VMs are placed on it.
    pub state: GpuState,
    /// Bytes that it has.
    pub memory_total: u64,
    /// Bytes kept back from what can be promised.
    pub memory_reserved: u64,
    /// Bytes promised to VMs: the sum of their `memory.max`.
    pub memory_promised: u64,
    /// Bytes that VMs hold, by the ledger.
    pub memory_used: u64,
    /// Bytes that the driver reports for our workers, where it tells.
    pub memory_driver: Option<u64>,
    /// What the driver reports above the ledger, in bytes; below it, negative.
    pub memory_difference: Option<i64>,
    /// How often a worker was found to hold more than the ledger knows and the slack allows.
    #[serde(default)]
    pub memory_excesses: u64,
    /// Sum of its VMs' `compute.min`.
    pub compute_min: Percent,
    /// Sum of its VMs' `compute.weight`.
    pub compute_weight: u64,
    /// Faults since vcudad started.
    pub faults: u64,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
    /// VMs that have it.
    pub vms: Vec<String>,
}

/// Whether VMs are placed on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum GpuState {
    /// They are.
    Healthy,
    /// It had a fault: no new VM is placed on it.
    Faulty,
}

/// The workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerCounts {
    /// Start, or are ready for a session.
    pub warm: u32,
    /// Serve a session.
    pub assigned: u32,
    /// Were ended, and are not reaped yet.
    pub ending: u32,
    /// Started since vcudad started.
    pub started_total: u64,
    /// Ended by vcudad: no heartbeat, a kernel above its timeout, broken rules, too much memory.
    pub killed_total: u64,
}

/// The scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchedulerInfo {
    /// Whether it is on.
    pub on: bool,
    /// How often its thread died and was started again.
    pub restarts: u64,
}

/// Everything that is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// When: milliseconds since 1970.
    pub time_ms: u64,
    /// Since when vcudad runs: milliseconds since 1970.
    pub started_ms: u64,
    /// The VMs, by name.
    pub vms: Vec<VmStats>,
    /// The GPUs, by index.
    pub gpus: Vec<GpuInfo>,
    /// The workers.
    pub workers: WorkerCounts,
    /// The scheduler.
    pub scheduler: SchedulerInfo,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionInfo {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The API's version: 1.
    pub api: u32,
}
