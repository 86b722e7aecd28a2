//! Proof that the gate has admitted a command.

use crate::calls::commands::stop::{Phase, Stop};

/// Permission to submit GPU work.
///
/// The driver functions that submit GPU work take a reference to a pass. Only this module can create
/// one. The generated dispatch gives it only to the functions that implement gated calls, by
/// reference, so that it can't outlive the call.
pub struct Pass(());

impl Pass {
    /// Creates the pass for a command that the gate has admitted.
    pub(in crate::calls::gate) const fn admitted() -> Self {
        Self(())
    }

    /// Creates the pass for a command that refers to a stream, event or context that doesn't exist
    /// or is being destroyed. The function that implements the call returns the appropriate error
    /// before it calls the driver, so the pass isn't used.
    pub(in crate::calls::gate) const fn refused_by_body() -> Self {
        Self(())
    }

    /// Creates the pass for the copies with which memory leaves the GPUs and returns. They use only
    /// copy engines, so they don't need the VM's turn. Returns `None` unless the session's calls are
    /// stopped.
    pub(in crate::calls) fn while_stopped(stop: &Stop) -> Option<Self> {
        (stop.phase() == Phase::Stopped).then_some(Self(()))
    }

    /// Returns a pass for the rest of an admitted call, which continues as a job on the mirror (the
    /// worker's thread for the calling guest thread).
    pub(in crate::calls) const fn for_job(&self) -> Self {
        Self(())
    }
}
