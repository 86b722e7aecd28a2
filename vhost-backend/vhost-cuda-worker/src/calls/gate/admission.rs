//! The gate's decision about each command, and its follow-up after the command has run.

use super::pass::Pass;
use crate::reply::ReplyTo;

/// The gate's decision about a command that has just arrived.
#[must_use]
pub(in crate::calls) enum Admission {
    /// Run the command now, then pass the ticket to `Gate::ran`.
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
    after: After,
}

/// What the gate must do after a command has run. A mark is an event that the worker records to see
/// how far the GPU has come in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing, because the command hasn't queued anything.
    Nothing,
    /// Record marks in the streams that need one.
    Mark,
    /// Record the time at which the call began on the GPU with this ordinal, then record marks in
    /// the streams that need one.
    Begun(usize),
}

impl Ticket {
    /// Creates the ticket for a command that may use the driver.
    #[inline]
    pub(super) fn admitted(after: After) -> Self {
        Self { pass: Pass::admitted(), after }
    }

    /// Creates the ticket for a command that fails before its body calls the driver; see
    /// [`Pass::refused_by_body`].
    pub(super) fn refused_by_body() -> Self {
        Self { pass: Pass::refused_by_body(), after: After::Nothing }
    }

    /// Returns the pass, which the body needs to submit GPU work.
    #[inline]
    pub(in crate::calls) fn pass(&self) -> &Pass {
        &self.pass
    }

    #[inline]
    pub(super) fn after(&self) -> After {
        self.after
    }
}
