//! Events that vcudad reports.

use serde::{Deserialize, Serialize};

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A VM was added.
    VmAdded,
    /// A VM's settings were changed.
    VmChanged,
    /// A VM was removed.
    VmRemoved,
    /// A VM was paused. The message says by whom.
    VmPaused,
    /// A VM was resumed. The message says by whom, and whether somebody else still pauses it.
    VmResumed,
    /// A VM's memory has left its GPUs. The message says how much.
    VmSwappedOut,
    /// A VM's memory is back on its GPUs, or all of its sessions have ended.
    VmSwappedIn,
    /// A VM's memory can't leave its GPUs, or can't return to them. vcudad's log says why.
    VmSwapFailed,
    /// A VM's device process exited. The message says whether it was restarted.
    DeviceEnded,
    /// A session started: a guest process began to use a GPU.
    SessionStarted,
    /// A session ended. The event has the `reason`.
    SessionEnded,
    /// An allocation was refused because it exceeded a quota. Reported at most once per second per
    /// VM and GPU.
    MemoryRefused,
    /// The driver reports more memory for a VM's workers than the ledger has charged to them, plus
    /// the slack.
    MemoryExcess,
    /// The driver reports more GPU time for a VM's workers than the scheduler has charged to the VM.
    TimeExcess,
    /// A worker made a system call, or an operation on objects of NVIDIA's driver, that workers may
    /// not make. Reported for the first one of each session.
    CallRefused,
    /// A worker was killed because it sent no heartbeat, ran a kernel past its timeout, or violated
    /// the protocol.
    WorkerKilled,
    /// A GPU was lost, or reported an ECC error or an Xid that programs can't cause.
    GpuFault,
    /// A GPU reported an Xid that a program caused, such as an illegal access. The GPU still works,
    /// and the program is unknown. Reported at most once per second per GPU.
    ProgramFault,
    /// Another vcudad has taken over, and all sessions continue. The message says how many.
    BrokerReplaced,
    /// Another vcudad was to take over, but can't. The message says why.
    ReplacementRefused,
    /// A VM has failed: it isn't served until it's restarted. The message says why.
    VmFailed,
    /// A VM that had failed was restarted.
    VmRestarted,
    /// A session was refused because of `sessions.max` or the rate limit on session starts. Reported
    /// at most once per 10 seconds per VM.
    SessionRefused,
    /// A front end was refused because of `connections.max`, or because memory that isn't sealed
    /// against shrinking permits only one. Reported at most once per 10 seconds per VM.
    ConnectionRefused,
    /// A VM's first front end (its VMM, or a program without a VM) has connected. If that happens often,
    /// some of these events are left out.
    FrontEndConnected,
    /// A VM's last front end has disconnected. If that happens often, some of these events are left out.
    FrontEndDisconnected,
    /// The configuration file was read again and applied. The message says what changed.
    ConfigReloaded,
    /// The configuration file was read again, but contains an error, so nothing changed. The message
    /// says what is wrong.
    ConfigRefused,
    /// The configuration file was read again, and contains a change that has no effect until vcudad
    /// is restarted. The message names the settings.
    RestartNeeded,
    /// The scheduler thread died and was restarted.
    SchedulerRestarted,
    /// This reader was too slow and missed events. The message says how many.
    Missed,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The program in the guest exited, or closed the device.
    Exited,
    /// The front end disconnected: the VM was stopped, or the program without a VM exited.
    Disconnected,
    /// The guest started its driver again, as after a reboot.
    GuestReset,
    /// An operator ended the session through the control API. The event has the `uid`.
    KilledByOperator,
    /// The session ran a kernel past `compute.kernel_timeout`, or used more memory or GPU time than
    /// it was charged for.
    Limit,
    /// The program in the guest, or the worker, violated the protocol.
    ProtocolViolation,
    /// The worker was killed by a signal that vcudad didn't send, for example because the VM's
    /// processes had reached `memory.host_max`.
    Killed,
    /// The worker failed in another way: it couldn't start, exited with an error, or stopped
    /// responding.
    WorkerFailed,
    /// The driver lost the GPU.
    GpuLost,
    /// The VM's device process ended.
    DeviceEnded,
    /// vcudad crashed or was killed, and another one couldn't tell what the session had done.
    VcudadEnded,
    /// The VM was removed.
    VmRemoved,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Sequence number, counted since vcudad started. 0 for `missed`.
    pub id: u64,
    /// Time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// The kind of event.
    pub kind: EventKind,
    /// Name of the affected VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Number of the affected session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Host index of the affected GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// The user ID of the process that requested the change through the control API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Why the session ended, for `session_ended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// A description for people.
    pub message: String,
}

impl EndReason {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Disconnected => "disconnected",
            Self::GuestReset => "guest_reset",
            Self::KilledByOperator => "killed_by_operator",
            Self::Limit => "limit",
            Self::ProtocolViolation => "protocol_violation",
            Self::Killed => "killed",
            Self::WorkerFailed => "worker_failed",
            Self::GpuLost => "gpu_lost",
            Self::DeviceEnded => "device_ended",
            Self::VcudadEnded => "vcudad_ended",
            Self::VmRemoved => "vm_removed",
        }
    }
}

impl EventKind {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::VmAdded => "vm_added",
            Self::VmChanged => "vm_changed",
            Self::VmRemoved => "vm_removed",
            Self::VmPaused => "vm_paused",
            Self::VmResumed => "vm_resumed",
            Self::VmSwappedOut => "vm_swapped_out",
            Self::VmSwappedIn => "vm_swapped_in",
            Self::VmSwapFailed => "vm_swap_failed",
            Self::DeviceEnded => "device_ended",
            Self::SessionStarted => "session_started",
            Self::SessionEnded => "session_ended",
            Self::MemoryRefused => "memory_refused",
            Self::MemoryExcess => "memory_excess",
            Self::TimeExcess => "time_excess",
            Self::CallRefused => "call_refused",
            Self::WorkerKilled => "worker_killed",
            Self::GpuFault => "gpu_fault",
            Self::ProgramFault => "program_fault",
            Self::BrokerReplaced => "broker_replaced",
            Self::ReplacementRefused => "replacement_refused",
            Self::VmFailed => "vm_failed",
            Self::VmRestarted => "vm_restarted",
            Self::SessionRefused => "session_refused",
            Self::ConnectionRefused => "connection_refused",
            Self::FrontEndConnected => "front_end_connected",
            Self::FrontEndDisconnected => "front_end_disconnected",
            Self::ConfigReloaded => "config_reloaded",
            Self::ConfigRefused => "config_refused",
            Self::RestartNeeded => "restart_needed",
            Self::SchedulerRestarted => "scheduler_restarted",
            Self::Missed => "missed",
        }
    }
}
