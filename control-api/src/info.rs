//! State and usage of VMs, sessions and GPUs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::{ComputeSpec, VmSpec};
use crate::units::Percent;
use crate::usage::UsageSaving;
use crate::wait::Wait;

/// A VM: its settings, state and usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmInfo {
    /// Name of the VM.
    pub name: String,
    /// Whether the VM was added by the configuration file or the API.
    pub origin: VmOrigin,
    /// Whether the VM's device can be used.
    pub state: VmState,
    /// Who has paused the VM. Absent if nobody has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_by: Vec<PausedBy>,
    /// Reason for the failure, or why the VM isn't added. Absent while the VM is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Settings whose values differ from those in the configuration file, because they were changed
    /// or the VM was added through the API, or because the file has changed and vcudad has to be restarted to apply it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differs_from_file: BTreeMap<String, Override>,
    /// Path of the vhost-user socket.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub socket: PathBuf,
    /// Process ID of the device process. Null if it isn't running.
    pub device_pid: Option<u32>,
    /// Current settings. `gpus` contains the GPUs as they were requested.
    pub settings: VmSpec,
    /// The VM's usage.
    pub stats: VmStats,
}

/// A setting whose value differs from the one in the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Override {
    /// The value in the file, as text. Null if the file doesn't set it.
    pub file: Option<String>,
    /// When the value was changed through the API, in milliseconds since 1970. Null if that isn't
    /// known, or if the file was changed.
    pub since_ms: Option<u64>,
}

/// How a VM was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum VmOrigin {
    /// By the configuration file.
    File,
    /// By this API.
    Api,
}

/// Whether a VM's device can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum VmState {
    /// The device process is running.
    Running,
    /// The device process is running, but the VM is off its GPUs until it's resumed. `paused_by`
    /// says who has paused it.
    Paused,
    /// The VM has no device and no socket until it's restarted: the VM couldn't be placed, its
    /// socket couldn't be created, or its device process couldn't be started or exited too often.
    /// `failure` gives the reason.
    Failed,
    /// The VM is in the configuration file, but vcudad doesn't have it, because it was removed through
    /// the API or needs a restart of vcudad. `failure` gives the reason.
    #[serde(rename = "not_added")]
    NotAdded,
}

/// Who has paused a VM. It runs once nobody pauses it any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PausedBy {
    /// A client of this API.
    Api,
    /// The VMM, which has stopped the VM.
    Vmm,
}

/// Work done by a VM or session since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Activity {
    /// CUDA calls executed by the workers.
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
    /// Bytes in the command rings that the workers haven't read yet.
    pub ring_depth: u64,
}

/// Calls of a VM's workers that were refused because workers may not make them, since vcudad started.
/// Only workers in a jail are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedCalls {
    /// Number of system calls.
    pub system_calls: u64,
    /// Number of operations on objects of NVIDIA's driver.
    pub driver_operations: u64,
}

/// Number of a VM's sessions and front ends that were refused, by the limit, since vcudad started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RefusedCounts {
    /// Sessions, because of `sessions.max`.
    pub sessions_max: u64,
    /// Sessions, because too many started at once.
    pub session_starts: u64,
    /// Front ends, because of `connections.max`.
    pub connections_max: u64,
    /// Front ends, because memory that isn't sealed against shrinking permits only one.
    pub memory_not_sealed: u64,
}

/// Whether a VM's memory is on its GPUs. A session whose memory isn't there runs no calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SwapState {
    /// The memory is on the GPUs.
    #[default]
    OnGpu,
    /// The memory is leaving the GPUs.
    Leaving,
    /// The memory is away, except what can't leave.
    Away,
    /// The memory is returning to the GPUs.
    Returning,
}

/// A VM's usage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmStats {
    /// Name of the VM.
    pub name: String,
    /// Whether the VM is paused, and thus off its GPUs.
    #[serde(default)]
    pub paused: bool,
    /// Whether the VM's memory is on its GPUs.
    #[serde(default)]
    pub swap: SwapState,
    /// Whether the VM has failed, and thus isn't served.
    #[serde(default)]
    pub failed: bool,
    /// Current number of sessions.
    pub sessions: u32,
    /// Maximum number of sessions at once.
    #[serde(default)]
    pub sessions_max: u32,
    /// Number of connected front ends: VMMs, or programs without a VM. Null if the device process was
    /// started by an earlier version of vcudad and doesn't report it.
    #[serde(default)]
    pub connections: Option<u32>,
    /// Maximum number of front ends at once.
    #[serde(default)]
    pub connections_max: u32,
    /// Limits on GPU time.
    #[serde(default)]
    pub compute: ComputeSpec,
    /// Sessions and front ends that were refused because of a limit.
    #[serde(default)]
    pub refused: RefusedCounts,
    /// Total number of sessions since vcudad started.
    pub sessions_total: u64,
    /// Number of device process restarts.
    pub device_restarts: u64,
    /// Calls of workers that were refused.
    pub refused_calls: RefusedCalls,
    /// Work done by all sessions, including those that have ended.
    pub activity: Activity,
    /// Usage per GPU, in the order that the guest sees.
    pub gpus: Vec<VmGpuStats>,
}

/// A VM's usage of one GPU. GPU time, waits, windows, handovers, evictions, and the memory's
/// integral over time continue after a restart of vcudad if it has a `state_dir`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VmGpuStats {
    /// The GPU's index on the host.
    pub gpu: u32,
    /// UUID of the GPU or MIG slice.
    pub uuid: String,
    /// The VM's device memory limit, in bytes.
    pub memory_max: u64,
    /// Device memory that the VM's programs use, in bytes.
    pub memory_used: u64,
    /// Device memory charged to the VM in the ledger, in bytes: `memory_used`, the credit of its
    /// sessions, and the memory that they keep after programs have freed it.
    #[serde(default)]
    pub memory_charged: u64,
    /// The part of `memory_charged` that is on the GPU, in bytes.
    #[serde(default)]
    pub memory_resident: u64,
    /// Highest value of `memory_charged`.
    pub memory_peak: u64,
    /// `memory_used` by kind (`memory`, `context`, `module`, …), in bytes.
    #[serde(default)]
    pub memory_by_kind: BTreeMap<String, u64>,
    /// `memory_charged`, multiplied by the time for which it was charged, in bytes times seconds.
    #[serde(default)]
    pub memory_byte_seconds: u64,
    /// Number of allocations refused because they exceeded a quota.
    pub memory_rejected: u64,
    /// Device memory that the driver reports for the VM's workers, in bytes. Null if the driver
    /// doesn't report it.
    pub memory_driver: Option<u64>,
    /// GPU time charged to the VM, in nanoseconds.
    pub gpu_ns: u64,
    /// The part of `gpu_ns` spent on copies during other VMs' windows, in nanoseconds.
    pub copied_ns: u64,
    /// Time that the VM's work waited for the GPU, in nanoseconds.
    pub throttled_ns: u64,
    /// Number of scheduling windows that the VM got.
    pub windows: u64,
    /// Number of times that the VM had to hand over the GPU at the end of a window, after its
    /// running work had finished.
    pub handovers: u64,
    /// Total duration of the handovers, in nanoseconds.
    pub handover_ns: u64,
    /// Duration of the longest handover, in nanoseconds.
    pub handover_max_ns: u64,
    /// Number of times that the VM's kernels were taken off the GPU at the end of a window.
    #[serde(default)]
    pub evictions: u64,
    /// Whether the VM's kernels are off the GPU now.
    #[serde(default)]
    pub evicted: bool,
    /// Why the VM's work waits now. Null if none does.
    #[serde(default)]
    pub waits_for: Option<Wait>,
    /// GPU time that the VM used beyond its share and still owes, in nanoseconds.
    pub debt_ns: u64,
    /// The VM's share of GPU time over the last second, 0.0 to 1.0.
    pub share_1s: f64,
    /// The VM's share of GPU time over the last 10 seconds, 0.0 to 1.0.
    pub share_10s: f64,
    /// The share of GPU time that the VM gets if all VMs on the GPU have work, computed from their
    /// weights, caps and guarantees: 0.0 to 1.0. VMs that share the GPU under MPS all report their
    /// combined share.
    pub share_promised: f64,
    /// Number of kernels that ran longer than `compute.kernel_timeout`.
    pub kernel_timeouts: u64,
}

/// A session: a guest process that uses a GPU, and its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionInfo {
    /// Name of the VM.
    pub vm: String,
    /// Session number, unique within the VM.
    pub id: u32,
    /// Host process ID of the worker.
    pub worker_pid: u32,
    /// Start time, in milliseconds since 1970.
    pub started_ms: u64,
    /// Device memory on each of the VM's GPUs.
    pub memory: Vec<SessionMemory>,
    /// ID of the process in the guest, as the guest claims it.
    #[serde(default)]
    pub guest_pid: u32,
    /// Name of the program in the guest, as the guest claims it: at most 32 characters, with special
    /// characters escaped. Null if the guest doesn't say.
    #[serde(default)]
    pub program: Option<String>,
    /// GPU time, in nanoseconds. If sessions of a VM use the GPU at the same time, the VM is charged for
    /// less than their sum.
    #[serde(default)]
    pub gpu_ns: u64,
    /// Work done so far.
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
    /// The part of `bytes` that is on the GPU.
    #[serde(default)]
    pub resident: u64,
}

/// A GPU or MIG slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GpuInfo {
    /// Index on the host.
    pub index: u32,
    /// UUID of the GPU or MIG slice.
    pub uuid: String,
    /// GPU model.
    pub name: String,
    /// PCI address.
    pub pci_bus_id: String,
    /// Whether the GPU accepts new VMs.
    pub state: GpuState,
    /// Total memory, in bytes.
    pub memory_total: u64,
    /// Memory reserved for the host, in bytes. It can't be promised to VMs.
    pub memory_reserved: u64,
    /// Memory promised to VMs, in bytes: the sum of their `memory.max`.
    pub memory_promised: u64,
    /// Memory that the programs of VMs use, in bytes.
    pub memory_used: u64,
    /// Memory charged to VMs in the ledger, in bytes: `memory_used`, the credit of their sessions,
    /// and the memory that they keep after programs have freed it.
    #[serde(default)]
    pub memory_charged: u64,
    /// The part of `memory_charged` that is on the GPU, in bytes.
    #[serde(default)]
    pub memory_resident: u64,
    /// Memory that the driver reports for workers, in bytes. Null if the driver doesn't report it.
    pub memory_driver: Option<u64>,
    /// `memory_driver` minus `memory_resident` and the contexts of workers without a session, in
    /// bytes.
    pub memory_difference: Option<i64>,
    /// Number of times that the driver reported more memory for a worker than the ledger has
    /// charged to it, plus the slack.
    #[serde(default)]
    pub memory_excesses: u64,
    /// Sum of `compute.min` of the VMs on the GPU.
    pub compute_min: Percent,
    /// Sum of `compute.weight` of the VMs on the GPU.
    pub compute_weight: u64,
    /// Number of faults since vcudad started.
    pub faults: u64,
    /// Description of the latest fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
    /// Whether kernels that outlast their VM's window are taken off the GPU.
    #[serde(default)]
    pub eviction: bool,
    /// Why kernels aren't taken off the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction_unavailable: Option<String>,
    /// Whether workers run in a jail.
    #[serde(default)]
    pub jail: bool,
    /// Why workers have no jail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail_unavailable: Option<String>,
    /// Temperature, power, and clocks, as the driver has reported them last.
    #[serde(default)]
    pub sensors: GpuSensors,
    /// Names of the VMs on the GPU.
    pub vms: Vec<String>,
}

/// Measurements of a GPU as a device. Null if the driver doesn't report them, as for MIG slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GpuSensors {
    /// Temperature, in degrees Celsius.
    pub temperature_celsius: Option<u32>,
    /// Power consumption, in milliwatts.
    pub power_mw: Option<u32>,
    /// Clock of the multiprocessors, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_clock_mhz: Option<u32>,
}

/// Whether a GPU accepts new VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum GpuState {
    /// The GPU accepts new VMs.
    Healthy,
    /// The GPU had a fault and doesn't accept new VMs until vcudad is restarted.
    Faulty,
}

/// Worker process counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerCounts {
    /// Workers starting or ready for a session.
    pub warm: u32,
    /// Workers serving a session.
    pub assigned: u32,
    /// Workers that are shutting down.
    pub ending: u32,
    /// Total workers started since vcudad started.
    pub started_total: u64,
    /// Total workers that vcudad killed for a missing heartbeat, a kernel timeout, a protocol
    /// violation, or excess memory.
    pub killed_total: u64,
}

/// State of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchedulerInfo {
    /// Whether compute quotas are enforced.
    pub on: bool,
    /// Number of times that the scheduler thread died and was restarted.
    pub restarts: u64,
}

/// All statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stats {
    /// Time of the sample, in milliseconds since 1970.
    pub time_ms: u64,
    /// Time when vcudad started, in milliseconds since 1970.
    pub started_ms: u64,
    /// Statistics of the VMs, sorted by name.
    pub vms: Vec<VmStats>,
    /// The GPUs, sorted by index.
    pub gpus: Vec<GpuInfo>,
    /// Worker process counts.
    pub workers: WorkerCounts,
    /// State of the scheduler.
    pub scheduler: SchedulerInfo,
    /// The configuration file as vcudad has last read it. Null if there is none.
    #[serde(default)]
    pub config: Option<ConfigInfo>,
    /// Whether and when usage was saved.
    #[serde(default)]
    pub usage: UsageSaving,
}

/// The configuration file, as vcudad has last read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigInfo {
    /// When vcudad has last read the file, in milliseconds since 1970.
    pub read_ms: u64,
    /// When vcudad has last applied a file, in milliseconds since 1970. Null if that was before it was
    /// started, so that it continues with the settings of the vcudad before it.
    pub applied_ms: Option<u64>,
    /// Why the file was refused. Null if it was applied. vcudad keeps the settings of the last file that
    /// it has applied.
    pub refused: Option<String>,
}

/// The result of a check of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigCheck {
    /// The changes that a reload of the file would make.
    pub summary: String,
}

/// The server's name and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionInfo {
    /// Name of the server program.
    pub name: String,
    /// Version of the server program.
    pub version: String,
    /// API version: 1.
    pub api: u32,
}
