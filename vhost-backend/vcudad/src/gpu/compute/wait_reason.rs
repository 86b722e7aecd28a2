//! Converts the scheduler's obstacles to the reasons that operators see.

use control_api::WaitReason;
use gpu_scheduler::{Obstacle, VmKey};

/// Returns the reason why work waits. `None` for a VM that has no work that needs a window.
pub(crate) fn wait_reason(obstacle: Obstacle) -> Option<WaitReason> {
    Some(match obstacle {
        Obstacle::Idle => return None,
        Obstacle::Paused => WaitReason::Paused,
        Obstacle::Rests => WaitReason::HostFunctions,
        Obstacle::Cap => WaitReason::ComputeMax,
        Obstacle::Contexts(_) => WaitReason::Contexts,
        Obstacle::Drains => WaitReason::TurnEnds,
        Obstacle::Reserved(_) => WaitReason::Reserved,
        Obstacle::Turn(_) => WaitReason::Turn,
    })
}

/// Returns the VM because of which work waits.
pub(crate) fn waits_for_vm(obstacle: Obstacle) -> Option<VmKey> {
    match obstacle {
        Obstacle::Contexts(vm) | Obstacle::Turn(vm) => Some(vm),
        Obstacle::Reserved(vm) => vm,
        Obstacle::Paused | Obstacle::Idle | Obstacle::Rests | Obstacle::Cap | Obstacle::Drains => {
            None
        }
    }
}
