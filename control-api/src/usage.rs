//! The GPU time and memory that VMs have used in each month.

use serde::{Deserialize, Serialize};

/// The usage of all VMs, including VMs that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageReport {
    /// Time of the report, in milliseconds since 1970.
    pub time_ms: u64,
    /// When vcudad began to record usage, in milliseconds since 1970. Earlier usage isn't known, or
    /// is in a file that vcudad couldn't read and has set aside.
    pub began_ms: u64,
    /// Whether and when usage was saved.
    pub saving: UsageSaving,
    /// Usage per month, VM, and GPU, in this order.
    pub rows: Vec<UsageRow>,
}

/// A VM's usage of one GPU in one month. Months begin and end in UTC, by the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageRow {
    /// The month, such as `2026-03`.
    pub month: String,
    /// Name of the VM. VMs that had the same name one after another have one row.
    pub vm: String,
    /// UUID of the GPU or MIG slice.
    pub gpu: String,
    /// GPU time charged to the VM, in nanoseconds. VMs that share the GPU under MPS are all charged
    /// the time of their group.
    pub gpu_ns: u64,
    /// The part of `gpu_ns` spent on copies during other VMs' windows, in nanoseconds.
    pub copied_ns: u64,
    /// Time that the VM's work waited for the GPU, in nanoseconds.
    pub throttled_ns: u64,
    /// Number of scheduling windows that the VM got.
    pub windows: u64,
    /// Device memory charged to the VM, multiplied by the time for which it was charged, in bytes
    /// times seconds.
    pub memory_byte_seconds: u64,
}

/// Whether and when usage was saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageSaving {
    /// Whether usage is saved, because there is a `state_dir`.
    pub is_on: bool,
    /// When usage was last saved since vcudad started, in milliseconds since 1970. Null if it wasn't.
    pub saved_ms: Option<u64>,
    /// Number of times since vcudad started that usage couldn't be saved.
    pub failures: u64,
    /// Number of files that vcudad couldn't read and has set aside.
    pub set_aside: u64,
    /// Number of times that usage wasn't recorded because too many VMs had used GPUs in the month.
    pub dropped: u64,
}
