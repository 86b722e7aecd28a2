//! The gate's decision about each command, and its follow-up after the command has run.

use super::pass::Pass;
use crate::reply::ReplyTo;

/// The gate's decision about a command that has just arrived.
#[must_use]
pub(in crate::calls) enum Admission {
    /// Run the command now, and then pass the ticket to `Gate::ran`.
    Run(Ticket, ReplyTo),
    /// Don't run the command. Reply with this CUresult.
    Answer(u32, ReplyTo),
    /// The gate keeps the command and will return it from `Gate::next` later.
    Held,
}

/// Permission to run one command. After the command has run, the gate takes the ticket back.
#[must_use]
pub(in crate::calls) struct Ticket {
    pass: Pass,
    /// The ordinal of the GPU, if the command is a gated call whose time the gate must record.
    begins: Option<usize>,
}

impl Ticket {
    /// Creates the ticket for a command that may use the driver.
    #[inline]
    pub(super) fn admitted(begins: Option<usize>) -> Self {
        Self { pass: Pass::admitted(), begins }
    }

    /// Creates the ticket for a command that will fail before it calls the driver; see
    /// [`Pass::refused_by_body`].
    pub(super) fn refused_by_body() -> Self {
        Self { pass: Pass::refused_by_body(), begins: None }
    }

    /// Returns the pass, which the call's implementation needs to submit GPU work.
    #[inline]
    pub(in crate::calls) fn pass(&self) -> &Pass {
        &self.pass
    }

    #[inline]
    pub(super) fn begins(&self) -> Option<usize> {
        self.begins
    }
}
