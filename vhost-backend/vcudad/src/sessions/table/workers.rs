//! Starts workers, reads from them, and reaps them.

use std::os::fd::OwnedFd;
use std::time::Instant;

use super::{SessionEffect, Sessions};
use crate::gpu::gpus::Gpus;
use crate::gpu::mps;
use crate::reporting::event::BrokerEvent;
use crate::sessions::cause::Cause;
use crate::sessions::session::Session;
use crate::sessions::worker::{FirstContext, WorkerEffect};
use crate::vm::vms::Vms;
use control_api::{Activity, EndReason, EventKind, format_size};
use host_ipc::messages::{Ending, ToWorker, WorkerId};
use host_ipc::spawner::{End, NewSession, ProcessId};
use memory_ledger::{GpuId, VmId};

impl Sessions {
    /// Starts a worker. If a session is given, the worker will serve it. Returns `None` if it can't
    /// be started.
    pub(super) fn start_worker(
        &mut self,
        set: Vec<GpuId>,
        session: Option<Session>,
        vms: &Vms,
        gpus: &Gpus,
    ) -> Option<WorkerId> {
        let id = self.workers.next_id();
        let mut context = FirstContext::Free;
        let new = session.as_ref().and_then(|session| {
            let vm = &vms.get(session.vm)?.vm;
            let mps = mps::client(&vm.spec, &set, self.scheduler.is_enabled());
            let charged = self.charge_context(id, session.vm, session.user, &set, gpus);
            context = match charged {
                Some(bytes) => FirstContext::charged(bytes),
                // Only a worker with a context can check that the driver uses the MPS daemon, and
                // only a worker without a system call filter can allocate a MIG slice. Such a
                // worker creates a context, and destroys it when its session begins.
                None if mps.is_some() || gpus.has_slice(&set) => FirstContext::Free,
                None => {
                    let (vm, session) = (&vm.name, session.number());
                    tracing::info!(vm, session, "the memory limit has no room for a context");
                    FirstContext::Missing
                }
            };
            let context = context != FirstContext::Missing;
            Some(NewSession { vm: vm.name.clone(), env: session.env.clone(), mps, context })
        });
        let cold = new.as_ref().is_some_and(|new| !new.env.is_empty() || new.mps.is_some());
        match self.launcher.start_worker(gpus.visible(&set), gpus.devices(&set), new) {
            Ok(process) => {
                let socket = process.socket_fd();
                self.workers.add(process, set, session, cold, context);
                self.effects.push(SessionEffect::Watch { worker: id, socket });
                Some(id)
            }
            Err(error) => {
                let vm = session.as_ref().map(|session| vms.name(session.vm));
                tracing::error!(vm, "cannot start a worker: {error}");
                self.workers.count_failure();
                self.accounts.close(id);
                if let Some(Session { vm, request, .. }) = session {
                    self.send_ended(vm, request, Ending::NoWorker(error.to_string()));
                }
                None
            }
        }
    }

    /// Handles that the process of a worker or of the supervisor has started. If it's neither,
    /// returns its pidfd.
    pub(crate) fn set_started(
        &mut self,
        process: ProcessId,
        pid: u32,
        pidfd: OwnedFd,
        vms: &Vms,
        gpus: &Gpus,
    ) -> Option<OwnedFd> {
        let Some(id) = self.workers.with_process(process) else {
            return self.supervisor.set_started(process, pid, pidfd);
        };
        let worker = self.workers.get_mut(id)?;
        if worker.set_started(pid, pidfd) && worker.session().is_some() {
            self.assign(id, vms, gpus);
        }
        None
    }

    /// Handles that the process of a worker or of the supervisor has ended. Returns the worker, if
    /// the process was a worker.
    pub(crate) fn set_ended(&mut self, process: ProcessId, how: &End) -> Option<WorkerId> {
        self.supervisor.set_ended(process, how);
        let id = self.workers.with_process(process)?;
        self.workers.get_mut(id)?.set_ended(how.clone());
        Some(id)
    }

    /// Kills the workers whose start or exit takes too long, and those for which it's unknown
    /// whether their kernels are on the GPU.
    pub(crate) fn end_late(&mut self, vms: &Vms) {
        let now = Instant::now();
        for worker in self.workers.late(now) {
            self.kill_worker(worker, Cause::worker_failed("its start takes too long"), vms);
        }
        for worker in self.workers.lost(now) {
            let why = "taking its kernels off the GPU, or letting them continue, failed";
            self.kill_worker(worker, Cause::worker_failed(why), vms);
        }
        for pid in self.workers.end_remaining(now) {
            tracing::warn!(pid, "a worker did not exit after the end of its session; killing it");
        }
    }

    /// Reads one message from a worker, and handles it.
    pub(crate) fn handle_worker_message(&mut self, id: WorkerId, vms: &mut Vms, gpus: &Gpus) {
        let Some(worker) = self.workers.receiver(id) else { return };
        let fd = worker.socket_fd();
        match worker.handle_message(id, &mut self.accounts) {
            WorkerEffect::None => return,
            WorkerEffect::Ready => {
                let has_session = worker.session().is_some();
                self.workers.reset_failures();
                if has_session {
                    self.assign(id, vms, gpus);
                }
                match self.end_refill_of(id) {
                    Some(vm) => self.refill_after(vm, vms, gpus),
                    None if !has_session && self.scheduler.is_enabled() => {
                        self.refill_without_latency(vms, gpus);
                    }
                    None => {}
                }
            }
            WorkerEffect::Announce => self.announce(id, vms),
            WorkerEffect::MemoryRefused { device, kind, reason } => {
                self.report_refused_memory(id, device, kind, &reason, vms);
                match self.workers.get(id).map(|worker| worker.answer(&ToWorker::Refused)) {
                    Some(Err(how)) => self.kill_misbehaved(id, &how, vms),
                    _ => return,
                }
            }
            WorkerEffect::Misbehaved(how) => self.kill_misbehaved(id, &how, vms),
            WorkerEffect::Failed => worker.end(),
            WorkerEffect::Closed => {
                worker.end();
                self.effects.push(SessionEffect::Unwatch(fd));
            }
            WorkerEffect::Undecodable(how) => {
                self.kill_misbehaved(id, &how, vms);
                self.effects.push(SessionEffect::Unwatch(fd));
            }
        }
        self.workers.touch(id);
    }

    /// Kills a worker because it misbehaved or its GPU was lost, and publishes an event about it.
    pub(crate) fn kill_worker(&mut self, id: WorkerId, cause: Cause, vms: &Vms) {
        let why = cause.text.clone();
        let Some(killed) = self.workers.kill(id, cause) else { return };
        let (vm, session) = killed.session.unzip();
        let (name, pid) = (vm.map_or("", |vm| vms.name(vm)), killed.pid);
        tracing::error!(vm = name, session, pid, "killing a worker: {why}");
        let event = BrokerEvent::new(EventKind::WorkerKilled, format!("worker {pid}: {why}"));
        self.publish(BrokerEvent { vm, session, ..event });
    }

    fn kill_misbehaved(&mut self, id: WorkerId, how: &str, vms: &Vms) {
        let how = format!("protocol violation: {how}");
        self.kill_worker(id, Cause::new(EndReason::ProtocolViolation, how), vms);
    }

    /// Kills all workers that use this GPU.
    pub(crate) fn kill_workers_of_gpu(&mut self, gpu: GpuId, why: &str, vms: &Vms) {
        for worker in self.workers.with_gpu(gpu) {
            self.kill_worker(worker, Cause::new(EndReason::GpuLost, why), vms);
        }
    }

    /// If a worker has ended, closes its account and reports that its session has ended. Returns
    /// true if the worker has ended.
    pub(crate) fn reap(&mut self, id: WorkerId, vms: &mut Vms) -> bool {
        // Handle the scheduler's events first, while the session of this worker is still known.
        self.handle_scheduler_events(vms);
        let Some(worker) = self.workers.get(id) else { return false };
        let Some(end) = worker.ended().cloned() else { return false };
        let was_ended = worker.is_ending();
        let Some(worker) = self.workers.remove(id) else { return false };
        self.scheduler.remove_worker(id);
        self.end_refill_of(id);
        // The worker's GPU memory is free only now that the worker has ended, so release it in the
        // ledger here. If another process holds the worker's descriptors, the driver still reports
        // the memory, and the audit finds that.
        let bytes = self.accounts.close(id);
        let cause = worker.cause().cloned().unwrap_or_else(|| Cause::of_process(&end));
        match worker.session() {
            Some(session) => {
                let (vm, request, number) = (session.vm, session.request, session.number());
                if let Some(state) = vms.get_mut(vm) {
                    state.add_activity(&Activity { ring_depth: 0, ..worker.activity() });
                }
                self.leftovers.add(vm, vms.name(vm), worker.pid(), worker.gpus());
                let Cause { reason, text, uid } = cause;
                tracing::info!(
                    vm = vms.name(vm),
                    session = number,
                    reason = reason.name(),
                    uid,
                    bytes,
                    "session ended: {text}"
                );
                let message = format!("{text}; freed {} of device memory", format_size(bytes));
                let event = BrokerEvent::of_session(EventKind::SessionEnded, vm, number, message);
                self.publish(BrokerEvent { reason: Some(reason), uid, ..event });
                let how = match worker.is_announced() {
                    true => Ending::Died(text),
                    false => Ending::NoWorker(text),
                };
                self.send_ended(vm, request, how);
                self.effects.push(SessionEffect::WorkerGone(vm));
            }
            // The broker killed this warm worker because no VM could use it.
            None if was_ended && worker.cause().is_none() => {}
            None => {
                tracing::error!("a warm worker ended: {}", cause.text);
                if self.workers.count_failure() {
                    tracing::error!(
                        "too many warm workers failed; starting workers only on demand"
                    );
                }
            }
        }
        self.effects.push(SessionEffect::Ended(worker));
        true
    }

    /// Returns the VM of a worker, or `None` if the cause of its session's end is already known.
    pub(crate) fn vm_of_unexplained(&self, worker: WorkerId) -> Option<VmId> {
        let worker = self.workers.get(worker).filter(|worker| worker.cause().is_none())?;
        worker.session().map(|session| session.vm)
    }
}
