//! The event loop's subscriber: what the broker has, and who is to be called when something
//! happens. One thread, and nothing here waits for anybody: sockets are non-blocking, and who does
//! not read is ended.

use std::os::fd::AsRawFd;
use std::time::Duration;

use control_api::EventKind;
use event_manager::{EventOps, Events, MutEventSubscriber};

use super::audit::Audit;
use super::cgroup::Cgroups;
use super::compute::ComputeHandle;
use super::gpus::Gpus;
use super::mps::Mps;
use super::pool::Workers;
use super::roster::Roster;
use super::session::StartQueue;
use super::signals::Signals;
use super::spawn::Programs;
use super::systemd::Systemd;
use super::timer::Timer;
use super::together::Together;
use super::vms::Vms;
use super::watches::{Source, Watches};
use crate::config::Policy;
use control_server::handle::{About, ControlInbox};
use host_ipc::gpu::Probed;
use memory_ledger::{GpuId, Ledger, VmId};

/// How often the broker looks around, when nothing happens.
pub(super) const SECOND: Duration = Duration::from_secs(1);
/// How soon it looks again at sessions that wait for their turn.
const SOON: Duration = Duration::from_millis(25);

/// The broker's state.
pub(super) struct Service {
    pub(super) vms: Vms,
    pub(super) gpus: Gpus,
    pub(super) policy: Policy,
    /// Workers kept ready, for each set of GPUs.
    pub(super) warm_workers: usize,
    pub(super) programs: Programs,
    /// The driver library and the GPUs that it finds.
    pub(super) driver: Probed,
    /// Processes get users of their own.
    pub(super) change_users: bool,
    pub(super) signals: Signals,
    pub(super) timer: Timer,
    pub(super) watches: Watches,
    pub(super) workers: Workers,
    /// After the workers, which are its clients.
    pub(super) mps: Mps,
    pub(super) start_queue: StartQueue,
    pub(super) ledger: Ledger,
    /// Who has the GPUs when.
    pub(super) compute: ComputeHandle,
    /// The VMs that are one to the scheduler.
    pub(super) together: Together,
    /// Warm workers that failed, in a row.
    pub(super) failures: u32,
    /// Workers that were ended for what they did.
    pub(super) killed: u64,
    pub(super) inbox: ControlInbox,
    pub(super) roster: Roster,
    /// NVML's word against the ledger's, where there is NVML.
    pub(super) audit: Option<Audit>,
    pub(super) systemd: Systemd,
    /// Milliseconds since 1970.
    pub(super) started_ms: u64,
    pub(super) ended: bool,
    /// Dropped last: the VMs' cgroups lie in it.
    pub(super) cgroups: Option<Cgroups>,
}

impl Service {
    /// Whether a signal asked for the end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Tells who listens to events.
    pub(super) fn publish(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        says: impl Into<String>,
    ) {
        self.publish_gpu(kind, vm, session, None, says);
    }

    pub(super) fn publish_gpu(
        &self,
        kind: EventKind,
        vm: Option<VmId>,
        session: Option<u32>,
        gpu: Option<GpuId>,
        says: impl Into<String>,
    ) {
        let vm = vm.map(|vm| self.vms.name(vm));
        let about = About { vm, session, gpu: gpu.map(|gpu| gpu.0) };
        self.inbox.events().publish(kind, about, says);
    }

    /// Sets when the broker looks around next. Not at each event, or it would never come to it.
    pub(super) fn arm_timer(&self) {
        let mut after = if self.start_queue.is_empty() { SECOND } else { SOON };
        if let Some(interval) = self.systemd.interval() {
            after = after.min(interval);
        }
        self.timer.set(after);
    }

    fn tick(&mut self, ops: &mut EventOps) {
        self.timer.acknowledge();
        if self.systemd.take_ping_due() {
            if self.compute.is_alive() {
                self.systemd.ping_watchdog();
            } else {
                tracing::error!("scheduler thread is stuck; skipping the systemd watchdog ping");
            }
        }
        if !self.start_queue.is_empty() && !self.ended {
            self.start_waiting(ops);
        }
        self.arm_timer();
    }

    fn asked(&mut self, ops: &mut EventOps) {
        self.inbox.acknowledge();
        while let Some((request, answer)) = self.inbox.next() {
            self.handle(ops, request, answer);
        }
    }

    fn signalled(&mut self) {
        if self.signals.take() {
            tracing::info!("shutting down");
            self.systemd.stopping();
            self.ended = true;
        }
    }

    /// Ends everything. What is under way is lost, as when a host is switched off.
    fn shut_down(&mut self) {
        for (_, state) in self.vms.iter_mut() {
            if let Some(mut device) = state.device.take() {
                device.end();
            }
        }
        let mut workers: Vec<_> = self.workers.drain().collect();
        workers.iter_mut().for_each(|(_, worker)| worker.running.kill());
        workers.iter_mut().for_each(|(_, worker)| worker.running.end());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl MutEventSubscriber for Service {
    fn process(&mut self, events: Events, ops: &mut EventOps) {
        match self.watches.source(events.fd()) {
            Some(Source::Signals) => self.signalled(),
            Some(Source::Timer) => self.tick(ops),
            Some(Source::Control) => self.asked(ops),
            Some(Source::Nvml) => self.witness_spoke(),
            Some(Source::Scheduler) => self.scheduler_spoke(),
            Some(Source::DeviceSocket(vm)) => self.device_spoke(ops, vm),
            Some(Source::DevicePid(vm)) => self.device_ended(ops, vm),
            Some(Source::WorkerSocket(worker)) => self.worker_spoke(ops, worker),
            Some(Source::WorkerPid(worker)) => self.worker_ended(ops, worker),
            None => {}
        }
    }

    fn init(&mut self, ops: &mut EventOps) {
        let (signals, timer) = (self.signals.as_raw_fd(), self.timer.as_raw_fd());
        self.watches.add(ops, signals, Source::Signals);
        self.watches.add(ops, timer, Source::Timer);
        self.watches.add(ops, self.inbox.as_raw_fd(), Source::Control);
        self.watch_audit(ops);
        self.watches.add(ops, self.compute.events_fd(), Source::Scheduler);
        for vm in self.vms.ids() {
            self.start_device(ops, vm);
        }
        self.refill(ops);
        self.systemd.ready();
        self.arm_timer();
    }
}
