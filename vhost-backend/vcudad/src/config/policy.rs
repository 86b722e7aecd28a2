//! Settings that apply to all VMs together.

use serde::Deserialize;

use super::ratio::Ratio;

/// The reaction to an excess: the driver reports more memory for a VM than the ledger plus the
/// slack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExcess {
    /// Log and count it.
    #[default]
    Log,
    /// Log and count it, and end the session.
    End,
}

/// Settings that apply to all VMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Ratio of a GPU's promised memory to its memory.
    pub memory_overcommit: Ratio,
    /// Memory that the driver may use beyond the ledger's account, for each VM and GPU, before it
    /// is an excess. In bytes.
    pub memory_slack: u64,
    /// The reaction to an excess.
    pub on_excess: OnExcess,
    /// Ratio of a GPU's guaranteed time to its time.
    pub compute_overcommit: Ratio,
    /// Whether compute quotas are enforced. If not, the driver shares the GPU's time.
    pub scheduler: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            memory_overcommit: Ratio::ONE,
            memory_slack: 256 << 20,
            on_excess: OnExcess::Log,
            compute_overcommit: Ratio::ONE,
            scheduler: true,
        }
    }
}
