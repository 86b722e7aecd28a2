//! The gate's decisions about a command.

use super::pass::Pass;
use crate::reply::ReplyTo;

/// The decision about a command that has arrived.
#[must_use]
pub(in crate::calls) enum Admission {
    /// Run the command now, then hand the ticket to `Gate::ran`.
    Run(Ticket, ReplyTo),
    /// Answer with this result. The command doesn't run.
    Answer(u32, ReplyTo),
    /// The gate holds the command.
    Held,
}

/// The permission to run one command.
#[must_use]
pub(in crate::calls) struct Ticket {
    pass: Pass,
    after: After,
}

/// What the gate does after a command ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing: the command has queued nothing.
    Nothing,
    /// Marks streams if that is due.
    Mark,
    /// Records when a call on a GPU has begun, then marks streams if that is due.
    Begun(usize),
}

impl Ticket {
    /// For a command that may go to the driver.
    #[inline]
    pub(super) fn admitted(after: After) -> Self {
        Self { pass: Pass::admitted(), after }
    }

    /// For a command whose body refuses it; see [`Pass::refused_by_body`].
    pub(super) fn refused_by_body() -> Self {
        Self { pass: Pass::refused_by_body(), after: After::Nothing }
    }

    /// The pass for the body of the command.
    #[inline]
    pub(in crate::calls) fn pass(&self) -> &Pass {
        &self.pass
    }

    #[inline]
    pub(super) fn after(&self) -> After {
        self.after
    }
}
