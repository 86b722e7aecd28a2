//! The pauses of a VM, by an operator and by its VMM. The VM runs only if neither has paused it.

use std::time::Instant;

use control_api::PausedBy;
use serde::{Deserialize, Serialize};

use crate::reporting::rate::TokenBucket;

/// The limit on pauses by a VMM: this many at once, and `PAUSES_PER_SECOND` in the long run. Each
/// one may take the VM's kernels off the GPU, which delays other VMs' evictions, and a guest that
/// has taken over its device process could request any number.
const PAUSES_AT_ONCE: u32 = 8;
const PAUSES_PER_SECOND: u32 = 2;

/// A VM's pauses.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Pause {
    by_operator: bool,
    by_vmm: bool,
    /// Whether the VMM has paused the VM, as the device process reported last. If the VMM has
    /// paused the VM too often, the pause isn't in effect yet.
    vmm_has_paused: bool,
    #[serde(skip, default = "pauses")]
    pauses: TokenBucket,
}

fn pauses() -> TokenBucket {
    TokenBucket::new(PAUSES_AT_ONCE, PAUSES_PER_SECOND, Instant::now())
}

impl Pause {
    pub(crate) fn new() -> Self {
        Self { by_operator: false, by_vmm: false, vmm_has_paused: false, pauses: pauses() }
    }

    /// Returns true if the VM must be off its GPUs.
    pub(crate) fn is_paused(&self) -> bool {
        self.by_operator || self.by_vmm
    }

    pub(crate) fn is_by_operator(&self) -> bool {
        self.by_operator
    }

    /// Returns who has paused the VM.
    pub(crate) fn paused_by(&self) -> Vec<PausedBy> {
        let all = [(self.by_operator, PausedBy::Api), (self.by_vmm, PausedBy::Vmm)];
        all.into_iter().filter(|(paused, _)| *paused).map(|(_, by)| by).collect()
    }

    /// Records a pause by an operator, or its end.
    pub(crate) fn set_by_operator(&mut self, paused: bool) {
        self.by_operator = paused;
    }

    /// Records that the VMM has paused the VM or lets it continue, as the device process reports.
    /// Returns true if [`Self::take_vmm_change`] must be called.
    pub(crate) fn set_by_vmm(&mut self, paused: bool) -> bool {
        self.vmm_has_paused = paused;
        self.is_pending()
    }

    /// Returns true if a pause by the VMM, or its end, isn't in effect yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.vmm_has_paused != self.by_vmm
    }

    /// If a pause by the VMM, or its end, takes effect at `now`, returns true for a pause and false
    /// for its end. Only a pause can be delayed. The end of a pause takes effect at once.
    pub(crate) fn take_vmm_change(&mut self, now: Instant) -> Option<bool> {
        if !self.is_pending() || self.vmm_has_paused && !self.pauses.take(now) {
            return None;
        }
        self.by_vmm = self.vmm_has_paused;
        Some(self.by_vmm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_vm_runs_only_if_neither_has_paused_it() {
        let mut pause = Pause::new();
        assert!(!pause.is_paused() && pause.paused_by().is_empty());
        pause.set_by_operator(true);
        assert!(pause.set_by_vmm(true));
        assert_eq!(pause.take_vmm_change(Instant::now()), Some(true));
        assert_eq!(pause.paused_by(), [PausedBy::Api, PausedBy::Vmm]);
        pause.set_by_operator(false);
        assert!(pause.is_paused());
        assert!(pause.set_by_vmm(false));
        assert_eq!(pause.take_vmm_change(Instant::now()), Some(false));
        assert!(!pause.is_paused());
        assert!(!pause.set_by_vmm(false), "it already runs");
    }

    #[test]
    fn pauses_by_a_vmm_are_limited_but_the_last_report_takes_effect() {
        let mut pause = Pause::new();
        let start = Instant::now();
        let mut count = 0;
        for _ in 0..1000 {
            for paused in [true, false] {
                pause.set_by_vmm(paused);
                count += u32::from(pause.take_vmm_change(start) == Some(true));
            }
        }
        assert_eq!(count, PAUSES_AT_ONCE);
        pause.set_by_vmm(true);
        assert_eq!(pause.take_vmm_change(start), None);
        assert!(pause.is_pending() && !pause.is_paused());
        assert_eq!(pause.take_vmm_change(start + Duration::from_secs(1)), Some(true));
        assert!(!pause.is_pending() && pause.is_paused());
    }
}
