//! Proof that the gate has admitted a command.

/// Permission to submit GPU work.
///
/// The driver functions that submit GPU work take a reference to this type. Only the gate can
/// create a pass. The generated dispatch passes it only to the bodies of gated calls, by reference,
/// so that it can't outlive the call.
pub struct Pass(());

impl Pass {
    /// Creates the pass for a command that the gate lets go to the driver.
    pub(in crate::calls::gate) const fn admitted() -> Self {
        Self(())
    }

    /// Creates the pass for a command that names a stream, event or context that doesn't exist or
    /// is being destroyed. The body returns the right error before it calls the driver.
    pub(in crate::calls::gate) const fn refused_by_body() -> Self {
        Self(())
    }

    /// Returns a pass for the rest of an admitted call, which continues as a job on the mirror (the
    /// worker's thread that corresponds to the guest thread).
    pub(in crate::calls) const fn for_job(&self) -> Self {
        Self(())
    }
}
