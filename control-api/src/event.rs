//! What happened, as a stream.

use serde::{Deserialize, Serialize};

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A VM was added.
    VmAdded,
    /// A VM's settings were changed: quotas, weight, class, cap.
    VmChanged,
    /// A VM was removed.
    VmRemoved,
    /// A VM's device process ended and was started again, or stays ended.
    DeviceEnded,
    /// A guest process opened the device.
    SessionStarted,
    /// A session ended; the message says how.
    SessionEnded,
    /// An allocation went past a quota. At most one a second for each VM and GPU.
    MemoryRefused,
    /// The driver reports more memory for a VM's workers than the ledger knows, beyond the slack.
    MemoryExcess,
    /// A worker was ended: no heartbeat, a kernel above its timeout, or broken rules.
    WorkerKilled,
    /// A GPU reported an Xid that no program causes, an ECC error, or was lost.
    GpuFault,
    /// A GPU reported an Xid that programs cause (an illegal access, say): the GPU is as good as
    /// before, and whose program it was is not known. At most one a second for each GPU.
    ProgramFault,
    /// The scheduler's thread died and was started again.
    SchedulerRestarted,
    /// This reader was too slow: so many events before this one are missing.
    Missed,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Counts up by one from vcudad's start. 0 for `missed`.
    pub id: u64,
    /// When: milliseconds since 1970.
    pub time_ms: u64,
    /// What kind of thing.
    pub kind: EventKind,
    /// The VM that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// The session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// The GPU that it is about, by its index on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// For people.
    pub message: String,
}

impl EventKind {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::VmAdded => "vm_added",
            Self::VmChanged => "vm_changed",
            Self::VmRemoved => "vm_removed",
            Self::DeviceEnded => "device_ended",
            Self::SessionStarted => "session_started",
            Self::SessionEnded => "session_ended",
            Self::MemoryRefused => "memory_refused",
            Self::MemoryExcess => "memory_excess",
            Self::WorkerKilled => "worker_killed",
            Self::GpuFault => "gpu_fault",
            Self::ProgramFault => "program_fault",
            Self::SchedulerRestarted => "scheduler_restarted",
            Self::Missed => "missed",
        }
    }
}
