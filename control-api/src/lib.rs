//! Types in vcudad's control API, which serves JSON over a Unix socket.
//!
//! Sizes are whole numbers of bytes, and percentages are strings such as `"12.5%"`. Durations are
//! strings such as `"500ms"` in settings, and whole nanoseconds (`_ns`) in measurements. Timestamps
//! are milliseconds since 1970 (`_ms`). Unknown keys are refused.
//!
//! | module | contents |
//! |---|---|
//! | `units` | text formats of percentages, durations and sizes |
//! | `setting`, `settings` | the description of a setting; the table of all settings |
//! | `value`, `size` | one setting's value, from text and as text; sizes in the configuration file |
//! | `spec` | a VM's settings |
//! | `values`, `keys` | settings by key; how they are parsed |
//! | `patch` | a change to a VM's settings |
//! | `schema` | the settings in OpenAPI |
//! | `check`, `expected` | allowed values of the settings, as checks and in words |
//! | `options` | the settings' command-line options |
//! | `info` | VMs, sessions, GPUs, statistics |
//! | `event` | events |
//! | `trace` | which VM was on which GPU, and when |
//! | `usage` | GPU time and memory that VMs have used, by month |
//! | `wait` | why a VM's work waits for a GPU |
//! | `error` | errors that the API returns |
//! | `suggest` | suggestions for misspelled names |
//!
//! The server and its clients depend on this crate, which depends on neither.

mod check;
mod error;
mod event;
mod expected;
mod info;
mod keys;
#[cfg(feature = "options")]
mod options;
mod patch;
#[cfg(feature = "openapi")]
mod schema;
mod setting;
mod settings;
mod size;
mod spec;
mod suggest;
mod trace;
mod units;
mod usage;
mod value;
mod values;
mod wait;

pub use check::{PERMITTED_ENV, check_name};
pub use error::{ApiError, ErrorCode};
pub use event::{EndReason, Event, EventKind};
pub use expected::{expected, is_list};
pub use info::{
    Activity, ConfigCheck, ConfigInfo, GpuInfo, GpuSensors, GpuState, Override, PausedBy,
    RefusedCalls, RefusedCounts, SchedulerInfo, SessionInfo, SessionMemory, Stats, SwapState,
    VersionInfo, VmGpuStats, VmInfo, VmOrigin, VmState, VmStats, WorkerCounts,
};
#[cfg(feature = "options")]
pub use options::{ChangedVm, NewVm};
pub use patch::VmPatch;
pub use setting::{Change, Kind, Preset, Setting};
pub use settings::{SETTINGS, setting};
pub use size::Size;
pub use spec::{
    Class, ComputeSpec, EnvSpec, GpuRequest, LimitSpec, MemorySpec, MpsSpec, Sharing, VmSpec,
};
pub use suggest::{closest, with_suggestion};
pub use trace::{TraceChange, TraceGate, TraceRecord, TraceState};
pub use units::{BadUnit, Percent, Timespan, counted, format_size, parse_size};
pub use usage::{UsageReport, UsageRow, UsageSaving};
pub use values::Values;
pub use wait::{Wait, WaitReason};
