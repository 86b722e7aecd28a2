//! Proof that the gate has admitted a command.

/// Permission to make the GPU work.
///
/// The driver's functions that queue work on the GPU take a reference to this type. Only the gate
/// can make one, and the generated dispatch hands it to the bodies of gated calls alone, by
/// reference and for the length of the call.
pub struct Pass(());

impl Pass {
    /// For a command that the gate admits to the driver now.
    pub(in crate::calls::gate) const fn admitted() -> Self {
        Self(())
    }

    /// For a command that names a stream, event or context that doesn't exist or is ending. Its
    /// body runs to return the right error, and fails before it calls the driver.
    pub(in crate::calls::gate) const fn refused_by_body() -> Self {
        Self(())
    }

    /// The same permission for the rest of an admitted call that continues on the thread that
    /// mirrors the guest's.
    pub(in crate::calls) const fn for_job(&self) -> Self {
        Self(())
    }
}
