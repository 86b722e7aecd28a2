//! Orders to a VM's workers to move their memory, and the workers' reports about them.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::{Accounts, LedgerChange};
use host_ipc::messages::WorkerId;
use host_ipc::residency::Place;
use memory_ledger::VmId;

/// The combined reports of a VM's workers about their latest orders to move their memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Residency {
    /// Whether a worker hasn't carried out its order yet.
    pub waits: bool,
    /// Whether a worker couldn't carry out its order.
    pub failed: bool,
    /// Whether a session needs its memory, or has begun since the VM's memory was ordered away.
    pub needs: bool,
    /// Whether a session has calls that wait for a GPU.
    pub holds: bool,
    /// The bytes that are away.
    pub away: u64,
}

impl Accounts {
    /// Orders all workers of a VM to take their memory off the GPUs, or to put it back. Memory that
    /// was ordered back counts as resident from now on.
    pub(crate) fn order(&mut self, vm: VmId, place: Place) {
        if place == Place::OnGpu {
            let workers = self.pages.get(&vm).into_iter().flatten();
            let workers: Vec<_> = workers.map(|(worker, _)| *worker).collect();
            workers.into_iter().for_each(|worker| self.bring_back(worker));
        }
        for shown in self.pages.get(&vm).into_iter().flat_map(HashMap::values) {
            shown.page.residency.give_order(place);
        }
    }

    /// Makes the ledger match the orders that a VM's workers have, after this broker has replaced
    /// another one that may have ended between an order and its record. Returns whether any worker's
    /// memory is ordered away.
    pub(crate) fn reconcile(&mut self, vm: VmId) -> bool {
        let orders = self.pages.get(&vm).into_iter().flatten();
        let orders: Vec<_> =
            orders.map(|(worker, shown)| (*worker, shown.page.residency.order().place)).collect();
        for (worker, _) in orders.iter().filter(|(_, place)| *place == Place::OnGpu) {
            self.bring_back(*worker);
        }
        orders.iter().any(|(_, place)| *place == Place::Away)
    }

    /// Counts all memory of a worker as resident.
    fn bring_back(&mut self, worker: WorkerId) {
        let away = self.ledger.away(worker);
        for (device, (_, bytes)) in (0..).zip(away).filter(|(_, (_, bytes))| *bytes > 0) {
            if self.ledger.bring_back(worker, device, bytes).is_ok() {
                self.changes.push(LedgerChange::BringBack(worker, device, bytes));
            }
        }
    }

    /// Takes the reports of a VM's workers about their latest orders. Memory that has left counts as
    /// away. A worker can report anything, but no more counts as away than it holds, and the audit
    /// then allows it that much less on the GPU.
    pub(crate) fn take_reports(&mut self, vm: VmId) -> Residency {
        let mut sum = Residency::default();
        for (worker, shown) in self.pages.get(&vm).into_iter().flatten() {
            let words = &shown.page.residency;
            let (order, report) = (words.order(), words.report());
            sum.needs |= words.needs() || order.place == Place::OnGpu;
            sum.holds |= shown.page.gpus.iter().any(|gpu| gpu.held.load(Ordering::SeqCst) > 0);
            if report.number != order.number {
                sum.waits = true;
                continue;
            }
            sum.failed |= report.failed;
            let known = self.ledger.away(*worker);
            for (device, (_, known)) in known.into_iter().enumerate() {
                let index = device as u32;
                let more = words.away(device).saturating_sub(known);
                let more = more.min(self.ledger.memory_of(*worker, index));
                if more > 0 && self.ledger.send_away(*worker, index, more).is_ok() {
                    self.changes.push(LedgerChange::SendAway(*worker, index, more));
                }
                sum.away = sum.away.saturating_add(known + more);
            }
        }
        sum
    }
}
