//! The usage of VMs: samples, writes to the state directory, and reports.

use std::time::Instant;

use super::Service;
use control_server::handle::{Answer, Response, now_ms};
use memory_ledger::VmId;

impl Service {
    /// Adds the usage of all VMs since the last sample, if it's time for a sample. If `is_wanted`
    /// is true, the result is needed now, so less time must have passed.
    pub(super) fn sample_usage(&mut self, is_wanted: bool) {
        if !self.usage.must_sample(is_wanted, Instant::now()) {
            return;
        }
        for vm in self.vms.ids() {
            self.sample_vm(vm);
        }
    }

    /// Adds a VM's usage since the last sample.
    fn sample_vm(&mut self, id: VmId) {
        let Some(state) = self.vms.get(id) else { return };
        for gpu in &state.gpus {
            let uuid = self.gpus.get(*gpu).map_or("", |gpu| gpu.uuid());
            let counters = self.sessions.counters(id, *gpu);
            self.usage.sample((id, *gpu), (&state.vm.name, uuid), counters, now_ms());
        }
    }

    /// Starts to count a new VM's usage. If the VM joins a group, the counters already include the
    /// usage of the group's other VMs, which must not be charged to it.
    pub(super) fn begin_usage(&mut self, id: VmId) {
        let gpus = self.vms.get(id).map(|state| state.gpus.clone()).unwrap_or_default();
        for gpu in gpus {
            self.usage.begin((id, gpu), self.sessions.counters(id, gpu));
        }
    }

    /// Counts the usage of a VM for the last time, after its last process has ended.
    pub(super) fn end_usage(&mut self, id: VmId) {
        self.sample_vm(id);
        let (usage, vms) = (&mut self.usage, &self.vms);
        usage.end(id, |name| vms.named(name).is_some_and(|other| other != id));
    }

    /// Saves the usage if it's time for that. If `is_wanted` is true, somebody waits for it, so
    /// it's time now.
    pub(super) fn save_usage(&mut self, is_wanted: bool) {
        if let Some(record) = self.usage.take_save(is_wanted, Instant::now()) {
            self.scrapes.begin();
            self.roster.save_usage(record);
        }
    }

    /// Handles the result of saving the usage, if there is one.
    pub(super) fn handle_usage_saved(&mut self) {
        let Some(result) = self.roster.take_usage_saved() else { return };
        self.usage.saved(result, Instant::now(), now_ms());
        self.scrapes.end();
        if self.scrapes.has_next() {
            self.save_usage(true);
            if !self.usage.is_saving() {
                // The counters in these reports have already been saved.
                self.scrapes.send_all();
            }
        }
    }

    /// Replies with the metrics once their counters have been saved.
    pub(super) fn scrape(&mut self, answer: Answer) {
        let stats = Response::Stats(Box::new(self.reports().stats()));
        if !self.usage.is_unsaved() {
            return answer.give(Ok(stats));
        }
        self.scrapes.wait(answer, stats, Instant::now());
        self.save_usage(true);
    }

    /// Saves the usage before the broker exits.
    pub(super) fn save_last_usage(&mut self) {
        self.sample_usage(true);
        self.save_usage(true);
        self.scrapes.send_all();
    }
}
