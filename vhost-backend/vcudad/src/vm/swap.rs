//! Whether a VM's memory is on its GPUs.

use std::time::{Duration, Instant};

use control_api::SwapState;
use serde::{Deserialize, Serialize};

use crate::sessions::accounts::Residency;

/// How long workers may take to send memory away.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before memory that couldn't return is ordered back again.
const PAUSE: Duration = Duration::from_secs(1);

/// A VM's memory as a whole.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Swap {
    state: SwapState,
    /// When the state began, or when the memory last couldn't return.
    #[serde(skip, default = "Instant::now")]
    since: Instant,
    /// Whether the memory has failed to return since it last left.
    #[serde(skip)]
    is_stuck: bool,
}

impl Default for Swap {
    fn default() -> Self {
        Self { state: SwapState::OnGpu, since: Instant::now(), is_stuck: false }
    }
}

/// The coordinator's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All memory that can leave has left.
    Left,
    /// The memory can't leave, so order it back.
    CannotLeave(&'static str),
    /// A session needs the memory, so order it back.
    Return,
    /// The memory is back, or there are no sessions any more.
    Returned,
    /// The memory can't return now. `first` says whether this is the first failure since it left.
    CannotReturn { first: bool },
}

impl Swap {
    /// Returns whether the memory is away because it couldn't return.
    pub(crate) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    pub(crate) fn state(&self) -> SwapState {
        self.state
    }

    /// Returns true if some of the memory may not be on the GPUs.
    pub(crate) fn is_off(&self) -> bool {
        self.state != SwapState::OnGpu
    }

    /// Returns true if workers are carrying out an order.
    pub(crate) fn is_moving(&self) -> bool {
        matches!(self.state, SwapState::Leaving | SwapState::Returning)
    }

    pub(crate) fn set(&mut self, state: SwapState, now: Instant) {
        (self.state, self.since) = (state, now);
        self.is_stuck &= matches!(state, SwapState::Away | SwapState::Returning);
    }

    /// Decides what to do after the workers' reports. `has_sessions` says whether there are any
    /// workers.
    pub(crate) fn step(
        &mut self,
        reports: Residency,
        has_sessions: bool,
        now: Instant,
    ) -> Option<Step> {
        let Residency { waits, failed, needs, holds, .. } = reports;
        let for_long = now.saturating_duration_since(self.since);
        match self.state {
            SwapState::OnGpu => None,
            _ if !has_sessions => Some(Step::Returned),
            SwapState::Leaving if failed => {
                Some(Step::CannotLeave("a worker couldn't move its memory; vcudad's log says why"))
            }
            SwapState::Leaving if needs => Some(Step::CannotLeave("a session needs the memory")),
            SwapState::Leaving if !waits => Some(Step::Left),
            SwapState::Leaving if for_long >= PATIENCE => {
                Some(Step::CannotLeave("a worker hasn't reported within 60 s"))
            }
            SwapState::Away if (needs || holds) && (!self.is_stuck || for_long >= PAUSE) => {
                Some(Step::Return)
            }
            SwapState::Returning if failed => {
                self.set(SwapState::Away, now);
                let first = !std::mem::replace(&mut self.is_stuck, true);
                Some(Step::CannotReturn { first })
            }
            // There is no time limit: a stuck worker keeps only its own session waiting.
            SwapState::Returning if !waits => Some(Step::Returned),
            SwapState::Leaving | SwapState::Away | SwapState::Returning => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Residency =
        Residency { waits: false, failed: false, needs: false, holds: false, away: 0 };
    const WAITS: Residency = Residency { waits: true, ..NOTHING };
    const NEEDS: Residency = Residency { needs: true, ..NOTHING };
    const FAILED: Residency = Residency { failed: true, ..NOTHING };

    fn step(state: SwapState, reports: Residency, after: Duration) -> Option<Step> {
        let (mut swap, now) = (Swap::default(), Instant::now());
        swap.set(state, now);
        swap.step(reports, true, now + after)
    }

    #[test]
    fn each_report_has_one_consequence() {
        use SwapState::{Away, Leaving, OnGpu, Returning};
        let soon = Duration::from_millis(1);
        for reports in [NOTHING, WAITS, NEEDS, FAILED] {
            assert_eq!(step(OnGpu, reports, PATIENCE), None);
        }
        assert_eq!(step(Leaving, WAITS, soon), None);
        assert_eq!(step(Leaving, NOTHING, soon), Some(Step::Left));
        for (reports, after) in [(NEEDS, soon), (FAILED, soon), (WAITS, PATIENCE)] {
            assert!(matches!(step(Leaving, reports, after), Some(Step::CannotLeave(_))));
        }
        assert_eq!(step(Away, NOTHING, PATIENCE), None);
        assert_eq!(step(Away, NEEDS, soon), Some(Step::Return));
        assert_eq!(step(Returning, WAITS, soon), None);
        assert_eq!(step(Returning, NEEDS, soon), Some(Step::Returned));
        assert_eq!(step(Returning, WAITS, PATIENCE), None);
        let holds = Residency { holds: true, ..NOTHING };
        assert_eq!(step(Leaving, Residency { waits: true, ..holds }, soon), None);
        assert_eq!(step(Away, holds, soon), Some(Step::Return));
        let mut swap = Swap::default();
        swap.set(Away, Instant::now());
        assert_eq!(swap.step(NOTHING, false, Instant::now()), Some(Step::Returned));
    }

    #[test]
    fn memory_that_cannot_return_is_ordered_back_again_after_a_pause() {
        let (mut swap, now) = (Swap::default(), Instant::now());
        swap.set(SwapState::Returning, now);
        assert_eq!(swap.step(FAILED, true, now), Some(Step::CannotReturn { first: true }));
        assert_eq!((swap.state(), swap.step(NEEDS, true, now)), (SwapState::Away, None));
        assert_eq!(swap.step(NEEDS, true, now + PAUSE), Some(Step::Return));
        swap.set(SwapState::Returning, now);
        assert_eq!(swap.step(FAILED, true, now), Some(Step::CannotReturn { first: false }));
        for state in [SwapState::OnGpu, SwapState::Returning] {
            swap.set(state, now);
        }
        assert_eq!(swap.step(FAILED, true, now), Some(Step::CannotReturn { first: true }));
    }
}
