//! Whether a VM has a GPU: one state per VM and GPU, and all of its transitions.
//!
//! `docs/design/scheduler.md` has a drawing of them.

use super::types::Nanos;

/// Whether a VM has a GPU. The variants' `gate` is that of a VM without a turn. `started` is true
/// if some of the VM's work has run since the gate of its turn was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The VM has no turn. If some of its work is running, that work couldn't be evicted or waits
    /// for the host.
    Away { gate: Gate },
    /// The VM has no turn, but at the time `since`, it was found running work that can be evicted.
    /// All of that work may wait for the host by now.
    Stray { gate: Gate, since: Nanos },
    /// The VM has no turn, and its kernels were taken off the GPU at the time `since`. Its gate is
    /// never on standby.
    Off { gate: Gate, since: Nanos },
    /// The VM has a turn, and its gate is open.
    Running { started: bool },
    /// The VM still has a turn, but its gate was closed at the time `since`.
    Draining { since: Nanos, started: bool, work: Work },
}

/// The gate of a VM without a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The gate is closed, and the workers needn't poll it.
    Closed,
    /// The gate is closed, and the workers poll it, because the VM is probably next.
    Prepared,
    /// The gate is on standby: the VM may begin work, because it would get a turn at once.
    Standby,
}

/// The work in flight of a VM whose turn is ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Work may still be running.
    Runs,
    /// A report since the gate was closed has shown that no work is running.
    Drained,
    /// The work was taken off the GPU at this time.
    Off(Nanos),
}

impl Default for Presence {
    fn default() -> Self {
        Presence::Away { gate: Gate::Closed }
    }
}

/// State transitions.
impl Presence {
    /// Handles that the VM gets a turn. Returns since when its kernels were off the GPU, if they
    /// were.
    pub(super) fn open(&mut self) -> Option<Nanos> {
        let off_since = self.off_since();
        *self = Presence::Running { started: false };
        off_since
    }

    /// Handles that the gates of the VM's turn are closed.
    pub(super) fn close(&mut self, now: Nanos) {
        *self = Presence::Draining { since: now, started: self.has_started(), work: Work::Runs };
    }

    /// Handles the end of the VM's turn.
    pub(super) fn end(&mut self) {
        let gate = Gate::Closed;
        *self = match self.off_since() {
            Some(since) => Presence::Off { gate, since },
            None => Presence::Away { gate },
        };
    }

    /// Handles that the VM's kernels are taken off the GPU.
    pub(super) fn evict(&mut self, now: Nanos) {
        debug_assert!(!self.is_off(), "the driver counts evictions, and each needs a return");
        match self {
            Presence::Draining { work, .. } => *work = Work::Off(now),
            Presence::Away { gate } | Presence::Stray { gate, .. } => {
                *self = Presence::Off { gate: *gate, since: now };
            }
            Presence::Off { .. } | Presence::Running { .. } => {}
        }
    }

    /// Handles a report for the VM. `ran` is true if some work has run, `runs` if work is running
    /// and doesn't wait for the host, and `active` if any is in flight.
    pub(super) fn report(&mut self, ran: bool, runs: bool, active: bool) {
        match self {
            Presence::Running { started } => *started |= ran,
            Presence::Draining { started, work, .. } => {
                *started |= ran;
                if *work == Work::Runs && !runs {
                    *work = Work::Drained;
                }
            }
            Presence::Stray { gate, .. } if !active => *self = Presence::Away { gate: *gate },
            _ => {}
        }
    }

    /// Handles that work of the VM is running without a turn.
    pub(super) fn stray(&mut self, now: Nanos) {
        if let Presence::Away { gate } = *self {
            *self = Presence::Stray { gate, since: now };
        }
    }

    /// Changes the gate of a VM without a turn. Returns false if the gate isn't in state `from`.
    pub(super) fn set_gate(&mut self, from: Gate, to: Gate) -> bool {
        match self {
            Presence::Away { gate } | Presence::Stray { gate, .. } | Presence::Off { gate, .. }
                if *gate == from =>
            {
                *gate = to;
                true
            }
            _ => false,
        }
    }
}

/// Queries of the state.
impl Presence {
    /// Returns true if the VM has a turn on this GPU.
    pub fn has_turn(self) -> bool {
        matches!(self, Presence::Running { .. } | Presence::Draining { .. })
    }

    /// Returns true if the VM has a turn and its gate is open.
    pub fn is_running(self) -> bool {
        matches!(self, Presence::Running { .. })
    }

    /// Returns since when the VM's kernels have been off the GPU, if they are.
    pub fn off_since(self) -> Option<Nanos> {
        match self {
            Presence::Off { since, .. } | Presence::Draining { work: Work::Off(since), .. } => {
                Some(since)
            }
            _ => None,
        }
    }

    /// Returns true if the VM's kernels are off the GPU.
    pub fn is_off(self) -> bool {
        self.off_since().is_some()
    }

    /// Returns since when work has been running without a turn, if some was found.
    pub fn stray_since(self) -> Option<Nanos> {
        match self {
            Presence::Stray { since, .. } => Some(since),
            _ => None,
        }
    }

    /// Returns when the gate of the VM's turn was closed, if the VM has a turn and its gate is
    /// closed.
    pub fn closed_at(self) -> Option<Nanos> {
        match self {
            Presence::Draining { since, .. } => Some(since),
            _ => None,
        }
    }

    /// Returns true if some work has run since the current turn's gate was opened.
    pub fn has_started(self) -> bool {
        matches!(
            self,
            Presence::Running { started: true } | Presence::Draining { started: true, .. }
        )
    }

    /// Returns true if a report since the gate was closed has shown that no work is running.
    pub fn has_drained(self) -> bool {
        matches!(self, Presence::Draining { work: Work::Drained, .. })
    }

    /// Returns the gate of a VM without a turn.
    pub fn gate(self) -> Option<Gate> {
        match self {
            Presence::Away { gate } | Presence::Stray { gate, .. } | Presence::Off { gate, .. } => {
                Some(gate)
            }
            Presence::Running { .. } | Presence::Draining { .. } => None,
        }
    }
}
