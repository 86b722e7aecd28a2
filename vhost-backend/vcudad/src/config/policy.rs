//! Settings that apply to all VMs together.

use serde::Deserialize;

use super::ratio::Ratio;

/// How to react to an excess: the driver reports more memory or GPU time for a VM than was charged
/// to the VM plus a tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExcess {
    /// Log the excess and count it.
    #[default]
    Log,
    /// Log the excess, count it, and end the session.
    End,
}

/// Whether workers run in a jail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JailMode {
    /// Workers run in a jail if the broker runs as root and the driver works in the jail.
    #[default]
    Auto,
    /// Workers run in a jail. If they can't, the broker doesn't start.
    Required,
    /// Workers don't run in a jail.
    Off,
}

/// Whether kernels that outlast their VM's window are taken off the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvictionMode {
    /// Kernels are taken off the GPU if the driver supports that.
    #[default]
    Auto,
    /// Kernels are never taken off the GPU.
    Off,
}

/// Settings that apply to all VMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Ratio of the memory that may be promised on a GPU to the memory that the GPU has.
    pub memory_overcommit: Ratio,
    /// Bytes per VM and GPU that the driver may use beyond the ledger's account before this counts
    /// as an excess.
    pub memory_slack: u64,
    /// How to react to an excess of memory.
    pub on_memory_excess: OnExcess,
    /// How to react to an excess of GPU time.
    pub on_time_excess: OnExcess,
    /// Ratio of the time that may be guaranteed on a GPU to the time that the GPU has.
    pub compute_overcommit: Ratio,
    /// Whether compute quotas are enforced. If not, the driver time-slices the GPU between VMs.
    pub scheduler: bool,
    /// Whether kernels that outlast their VM's window are taken off the GPU.
    pub eviction: EvictionMode,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            memory_overcommit: Ratio::ONE,
            memory_slack: 256 << 20,
            on_memory_excess: OnExcess::End,
            on_time_excess: OnExcess::End,
            compute_overcommit: Ratio::ONE,
            scheduler: true,
            eviction: EvictionMode::Auto,
        }
    }
}
