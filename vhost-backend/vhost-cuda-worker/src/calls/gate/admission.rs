//! The gate's decisions about a command.

use super::pass::Pass;
use crate::reply::ReplyTo;

/// The decision about a command that has arrived.
#[must_use]
pub(in crate::calls) enum Admission {
    /// Run the command now, then hand the ticket to `Gate::ran`.
    Run(Ticket, ReplyTo),
    /// Reply with this result. The command doesn't run.
    Answer(u32, ReplyTo),
    /// The gate holds the command.
    Held,
}

/// Permission to run one command.
#[must_use]
pub(in crate::calls) struct Ticket {
    pass: Pass,
    after: After,
}

/// The gate's next step after a command has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// No step, because the command hasn't queued anything.
    Nothing,
    /// Mark streams if that is due.
    Mark,
    /// Record when a call on a GPU has begun, then mark streams if that is due.
    Begun(usize),
}

impl Ticket {
    /// Creates the permission for a command that may go to the driver.
    #[inline]
    pub(super) fn admitted(after: After) -> Self {
        Self { pass: Pass::admitted(), after }
    }

    /// Creates the permission for a command that its body will refuse; see
    /// [`Pass::refused_by_body`].
    pub(super) fn refused_by_body() -> Self {
        Self { pass: Pass::refused_by_body(), after: After::Nothing }
    }

    /// Returns the pass for the body of the command.
    #[inline]
    pub(in crate::calls) fn pass(&self) -> &Pass {
        &self.pass
    }

    #[inline]
    pub(super) fn after(&self) -> After {
        self.after
    }
}
