//! The state of VMs, sessions and GPUs, and their usage.

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
    /// Whether the configuration file or the API added it.
    pub origin: VmOrigin,
    /// Whether its device can be used.
    pub state: VmState,
    /// Why it failed. Absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its vhost-user socket.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub socket: PathBuf,
    /// Process ID of its device process, while that runs.
    pub device_pid: Option<u32>,
    /// Its current settings. `gpus` holds the GPUs as they were requested.
    pub settings: VmSpec,
    /// Its usage.
    pub stats: VmStats,
}

/// The origin of a VM.
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
    /// It has no device and no socket until vcudad is restarted: it could not be placed, its socket
    /// could not be created, or its device process can't be started or ended too often. `failure`
    /// says why.
    Failed,
}

/// The work of a VM or a session since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Activity {
    /// CUDA calls that its workers executed.
    pub calls: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Graph launches.
    pub graph_launches: u64,
    /// Bytes copied from the host to a GPU.
    pub bytes_h2d: u64,
    /// Bytes copied from a GPU to the host.
    pub bytes_d2h: u64,
    /// Bytes copied within and between GPUs.
    pub bytes_d2d: u64,
    /// Bytes in the command rings that the workers have not read yet.
    pub ring_depth: u64,
}

/// A VM's usage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmStats {
    /// The VM's name.
    pub name: String,
    /// Current number of sessions.
    pub sessions: u32,
    /// Number of sessions since vcudad started.
    pub sessions_total: u64,
    /// Number of times that its device process was restarted.
    pub device_restarts: u64,
    /// The work of its sessions, including those that have ended.
    pub activity: Activity,
    /// Its usage of each of its GPUs, in the guest's order.
    pub gpus: Vec<VmGpuStats>,
}

/// A VM's usage of one GPU since vcudad started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmGpuStats {
    /// The GPU's index on the host.
    pub gpu: u32,
    /// The GPU's UUID, or the MIG slice's.
    pub uuid: String,
    /// Its device memory limit, in bytes.
    pub memory_max: u64,
    /// Device memory that the ledger holds for it, in bytes.
    pub memory_used: u64,
    /// The highest value of `memory_used`.
    pub memory_peak: u64,
    /// `memory_used` by kind (`memory`, `context`, `module`, …), in bytes.
    #[serde(default)]
    pub memory_by_kind: BTreeMap<String, u64>,
    /// Number of allocations refused because they exceeded a quota.
    pub memory_rejected: u64,
    /// Device memory that the driver reports for its workers, in bytes. Null if the driver doesn't
    /// report it.
    pub memory_driver: Option<u64>,
    /// GPU time charged to it, in nanoseconds.
    pub gpu_ns: u64,
    /// The part of `gpu_ns` spent on copies during other VMs' windows, in nanoseconds.
    pub copied_ns: u64,
    /// Time that its work waited for the GPU, in nanoseconds.
    pub throttled_ns: u64,
    /// Number of windows that it was given.
    pub windows: u64,
    /// Number of times that it had to hand the GPU over at the end of a window, once its running
    /// work was done.
    pub handovers: u64,
    /// Total duration of its handovers, in nanoseconds.
    pub handover_ns: u64,
    /// Duration of its longest handover, in nanoseconds.
    pub handover_max_ns: u64,
    /// GPU time that it used beyond its share and still owes, in nanoseconds.
    pub debt_ns: u64,
    /// Its share of GPU time over the last second, 0.0 to 1.0.
    pub share_1s: f64,
    /// Its share of GPU time over the last 10 seconds, 0.0 to 1.0.
    pub share_10s: f64,
    /// The share of GPU time that it gets if all VMs on the GPU have work, from their weights, caps
    /// and guarantees: 0.0 to 1.0. For VMs that share the GPU under MPS, the share of them all.
    pub share_promised: f64,
    /// Number of kernels that ran longer than `compute.kernel_timeout`.
    pub kernel_timeouts: u64,
}

/// A session: a guest process that has the device open, and its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionInfo {
    /// Its VM.
    pub vm: String,
    /// Its number, unique within the VM.
    pub id: u32,
    /// Process ID of its worker on the host.
    pub worker_pid: u32,
    /// Start time, in milliseconds since 1970.
    pub started_ms: u64,
    /// Its device memory on each of the VM's GPUs.
    pub memory: Vec<SessionMemory>,
    /// Its work so far.
    pub activity: Activity,
}

/// A session's device memory on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionMemory {
    /// The GPU's index on the host.
    pub gpu: u32,
    /// Device memory, in bytes.
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
    /// Its PCI address.
    pub pci_bus_id: String,
    /// Whether it takes new VMs.
    pub state: GpuState,
    /// Its memory, in bytes.
    pub memory_total: u64,
    /// Memory reserved for the host, which can't be promised to VMs, in bytes.
    pub memory_reserved: u64,
    /// Memory promised to VMs, in bytes: the sum of their `memory.max`.
    pub memory_promised: u64,
    /// Memory that the ledger holds for VMs, in bytes.
    pub memory_used: u64,
    /// Memory that the driver reports for workers, in bytes. Null if the driver doesn't report it.
    pub memory_driver: Option<u64>,
    /// `memory_driver` minus `memory_used`, in bytes.
    pub memory_difference: Option<i64>,
    /// Number of times that the driver reported more memory for a worker than the ledger holds plus
    /// the slack.
    #[serde(default)]
    pub memory_excesses: u64,
    /// Sum of its VMs' `compute.min`.
    pub compute_min: Percent,
    /// Sum of its VMs' `compute.weight`.
    pub compute_weight: u64,
    /// Number of faults since vcudad started.
    pub faults: u64,
    /// The latest fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
    /// Names of the VMs on it.
    pub vms: Vec<String>,
}

/// Whether a GPU takes new VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum GpuState {
    /// It takes new VMs.
    Healthy,
    /// It had a fault and takes no new VMs until vcudad is restarted.
    Faulty,
}

/// Numbers of worker processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerCounts {
    /// Workers that are starting, or ready for a session.
    pub warm: u32,
    /// Workers that serve a session.
    pub assigned: u32,
    /// Workers that were told to end and have not exited yet.
    pub ending: u32,
    /// Workers started since vcudad started.
    pub started_total: u64,
    /// Workers that vcudad killed: no heartbeat, a kernel past its timeout, a protocol violation,
    /// or too much memory.
    pub killed_total: u64,
}

/// The scheduler's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchedulerInfo {
    /// Whether compute quotas are enforced.
    pub on: bool,
    /// Number of times that its thread died and was restarted.
    pub restarts: u64,
}

/// All statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// Time of the sample, in milliseconds since 1970.
    pub time_ms: u64,
    /// vcudad's start time, in milliseconds since 1970.
    pub started_ms: u64,
    /// The VMs, by name.
    pub vms: Vec<VmStats>,
    /// The GPUs, by index.
    pub gpus: Vec<GpuInfo>,
    /// Numbers of worker processes.
    pub workers: WorkerCounts,
    /// The scheduler.
    pub scheduler: SchedulerInfo,
}

/// The server's name and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionInfo {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The API's version: 1.
    pub api: u32,
}
