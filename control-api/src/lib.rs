//! The types of vcudad's control API, which travel as JSON over its Unix socket.
//!
//! Sizes are whole numbers of bytes, percentages are strings such as `"12.5%"`, times are strings
//! such as `"500ms"` where a person sets them and whole nanoseconds (`_ns`) where they are
//! measured. Points in time are milliseconds since 1970 (`_ms`). An unknown key is refused.
//!
//! | module | contents |
//! |---|---|
//! | `units` | percentages, times, sizes as text |
//! | `spec` | a VM's settings |
//! | `patch` | a change to a VM's settings |
//! | `check`, `expected` | the settings' ranges, as checks and in words |
//! | `info` | VMs, sessions, GPUs, statistics |
//! | `event` | events |
//! | `error` | refusals |
//!
//! The server and its clients depend on this crate; it depends on neither.

mod check;
mod error;
mod event;
mod expected;
mod info;
mod patch;
mod spec;
mod units;

pub use check::{check_memory_max, check_name};
pub use error::{ApiError, ErrorCode};
pub use event::{Event, EventKind};
pub use expected::{expected, is_list, number};
pub use info::{
    Activity, GpuInfo, GpuState, SchedulerInfo, SessionInfo, SessionMemory, Stats, VersionInfo,
    VmGpuStats, VmInfo, VmOrigin, VmState, VmStats, WorkerCounts,
};
pub use patch::{ComputePatch, LimitPatch, MemoryPatch, MpsPatch, VmPatch};
pub use spec::{
    Class, ComputeSpec, CpuSpec, EnvSpec, GpuRequest, LimitSpec, MemorySpec, MpsSpec, PidsSpec,
    Sharing, SizeLimitSpec, VmSpec,
};
pub use units::{BadUnit, Percent, Timespan, format_size, parse_size};
