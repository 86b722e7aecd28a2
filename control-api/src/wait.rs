//! The reasons why a VM's work waits for a GPU.

use serde::{Deserialize, Serialize};

/// The reason for which a VM's work waits. If several apply, it's the
/// one that the scheduler checks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The VM is paused. It may have no work.
    Paused,
    /// The VM's memory is away from its GPUs, or is leaving or returning.
    SwappedOut,
    /// The VM's work in flight waits for host functions in the guest or for values in memory, and
    /// probably so does the rest.
    HostFunctions,
    /// The VM has used the GPU time that `compute.max` allows.
    ComputeMax,
    /// A VM creates or destroys a CUDA context while a latency VM has work.
    Contexts,
    /// The VM's own turn is ending.
    TurnEnds,
    /// A GPU that the VM needs is kept free for a VM that needs several GPUs at once.
    Reserved,
    /// It's another VM's turn.
    Turn,
}

impl WaitReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Paused,
        Self::SwappedOut,
        Self::HostFunctions,
        Self::ComputeMax,
        Self::Contexts,
        Self::TurnEnds,
        Self::Reserved,
        Self::Turn,
    ];

    /// Returns the name that the API uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::SwappedOut => "swapped_out",
            Self::HostFunctions => "host_functions",
            Self::ComputeMax => "compute_max",
            Self::Contexts => "contexts",
            Self::TurnEnds => "turn_ends",
            Self::Reserved => "reserved",
            Self::Turn => "turn",
        }
    }
}

/// Why a VM's work waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Wait {
    /// The reason.
    pub reason: WaitReason,
    /// Name of the VM that has the turn, for which the GPU is kept free, or whose context it is.
    /// VMs that share the GPU through MPS are separated by `+`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_api() {
        for reason in WaitReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
