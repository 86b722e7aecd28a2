//! Keeps warm workers ready.

use super::{Refill, Sessions};
use crate::gpu::gpus::Gpus;
use crate::vm::vms::Vms;
use host_ipc::messages::WorkerId;
use memory_ledger::VmId;

impl Sessions {
    /// Starts warm workers until each set of GPUs has enough, and kills warm workers that no VM can
    /// use.
    pub(crate) fn refill(&mut self, vms: &Vms, gpus: &Gpus) {
        let sets = vms.warm_sets(gpus);
        self.workers.end_free_outside(&sets);
        if self.refill.is_some() {
            // A worker is being started. The refill continues when that worker is ready.
            return;
        }
        for set in sets {
            while self.workers.needs_warm(&set)
                && self.start_worker(set.clone(), None, vms, gpus).is_some()
            {}
        }
    }

    /// Does the same as [`Self::refill`], after a session of the VM `vm` has taken a warm worker.
    /// The contexts of new workers could disturb latency VMs. On the GPUs of latency VMs, workers
    /// are therefore started one after another, each in a window of `vm`.
    pub(super) fn refill_after(&mut self, vm: VmId, vms: &Vms, gpus: &Gpus) {
        if !self.scheduler.is_enabled() {
            return self.refill(vms, gpus);
        }
        self.refill_without_latency(vms, gpus);
        let mut sets = vms.warm_sets(gpus).into_iter();
        let needs = sets.find(|set| vms.has_latency_vm(set) && self.workers.needs_warm(set));
        let Some(set) = needs.filter(|_| self.refill.is_none()) else { return };
        self.scheduler.begin_start(vm, set[0]);
        self.refill = Some(Refill { vm, gpus: set, worker: None });
    }

    /// Starts warm workers for the sets of GPUs that no latency VM uses. A few workers start at
    /// once for each set, so that a burst of short programs finds warm workers again soon.
    pub(super) fn refill_without_latency(&mut self, vms: &Vms, gpus: &Gpus) {
        let sets = vms.warm_sets(gpus);
        self.workers.end_free_outside(&sets);
        for set in sets.into_iter().filter(|set| !vms.has_latency_vm(set)) {
            while self.workers.may_start_beside_others(&set)
                && self.start_worker(set.clone(), None, vms, gpus).is_some()
            {}
        }
    }

    /// Starts the next warm worker, after the scheduler has permitted it.
    pub(crate) fn continue_refill(&mut self, vms: &Vms, gpus: &Gpus) {
        let Some(Refill { gpus: set, worker: None, .. }) = &self.refill else { return };
        let set = set.clone();
        let wanted = vms.warm_sets(gpus).contains(&set) && self.workers.needs_warm(&set);
        let started = wanted.then(|| self.start_worker(set, None, vms, gpus)).flatten();
        match (&mut self.refill, started) {
            (Some(refill), Some(worker)) => refill.worker = Some(worker),
            _ => self.end_refill(),
        }
    }

    /// Handles that a worker is ready or has ended. If it was the warm worker that was being
    /// started, returns the VM in whose windows more workers can be started.
    pub(super) fn end_refill_of(&mut self, worker: WorkerId) -> Option<VmId> {
        let refill = self.refill.as_ref().filter(|refill| refill.worker == Some(worker))?;
        let vm = refill.vm;
        self.end_refill();
        Some(vm)
    }

    fn end_refill(&mut self) {
        if self.refill.take().is_some() {
            self.scheduler.end_start();
        }
    }
}
