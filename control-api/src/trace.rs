//! Trace records, which say which VM was on which GPU, and when.

use serde::{Deserialize, Serialize};

use crate::wait::WaitReason;

/// Whether a VM may start work on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TraceGate {
    /// It may not.
    #[default]
    Closed,
    /// It may, and no other VM may.
    Window,
    /// It may, and so may others. The driver slices time between them.
    Shared,
    /// It may, without a limit, because no other VM wants the GPU.
    Unlimited,
}

/// The state of a VM on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceState {
    /// Whether the VM may start work.
    pub gate: TraceGate,
    /// Whether the VM has unfinished kernels.
    pub busy: bool,
    /// Why the VM's work waits. Null if none does.
    pub waits_for: Option<WaitReason>,
    /// Whether the VM copies data while its gate is closed.
    pub copying: bool,
    /// Whether the scheduler has ordered the VM's kernels off the GPU. The records `evicted` and
    /// `returned` report when an eviction or a return has finished.
    pub off: bool,
}

/// The content of a trace record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TraceChange {
    /// The state of a VM on a GPU from this time on.
    State(TraceState),
    /// The VM's kernels are off the GPU.
    Evicted,
    /// The VM's kernels are on the GPU again.
    Returned,
    /// The device memory that the VM uses on the GPU.
    Memory {
        /// In bytes.
        used: u64,
    },
}

/// A record of a trace, which is about a VM on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceRecord {
    /// Time on the host's monotonic clock, in nanoseconds.
    pub time_ns: u64,
    /// Name of the VM. VMs that share the GPU through MPS have one record, with all their names
    /// separated by `+`.
    pub vm: String,
    /// Index of the GPU.
    pub gpu: u32,
    /// Number of records that were left out before this one, because the reader was too slow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// The change that the record reports.
    #[serde(flatten)]
    pub change: TraceChange,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_flat_object() {
        let record = TraceRecord {
            time_ns: 5,
            vm: "a".into(),
            gpu: 1,
            missed: 0,
            change: TraceChange::State(TraceState {
                gate: TraceGate::Window,
                ..Default::default()
            }),
        };
        let text = r#"{"time_ns":5,"vm":"a","gpu":1,"kind":"state","gate":"window","busy":false,"waits_for":null,"copying":false,"off":false}"#;
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        assert_eq!(serde_json::from_str::<TraceRecord>(text).unwrap(), record);
    }
}
