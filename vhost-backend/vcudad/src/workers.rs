//! Workers: started ahead of sessions, listened to, reaped.

use std::io;
use std::os::fd::AsRawFd;

use control_api::{Activity, EventKind, Sharing};
use event_manager::EventOps;

use super::pool::Phase;
use super::rate::printable;
use super::reports::add;
use super::service::Service;
use super::session::Session;
use super::spawn::{self, Running};
use super::watches::Source;
use host_ipc::messages::{BrokerToDevice, Ending, ToBroker, ToWorker, WorkerId};
use host_ipc::seqpacket;
use memory_ledger::GpuId;

/// Warm workers that may fail in a row before no more are started ahead of a session.
const MAX_FAILURES: u32 = 3;
/// Sets of GPUs for which workers are kept ready.
const MAX_SETS: usize = 4;

impl Service {
    /// Sets of GPUs that VMs have, in the order in which the VMs came; the first few of them.
    fn warm_sets(&self) -> Vec<Vec<GpuId>> {
        let mut sets: Vec<Vec<GpuId>> = Vec::new();
        for (_, state) in self.vms.iter() {
            let healthy = state.gpus.iter().all(|gpu| self.is_healthy(*gpu));
            let served = healthy
                && !state.gpus.is_empty()
                && state.leaving.is_none()
                && state.failed.is_none();
            // Under MPS a session's limits are read when its driver starts.
            let warm = state.vm.spec.sharing == Sharing::Exclusive;
            if served && warm && sets.len() < MAX_SETS && !sets.contains(&state.gpus) {
                sets.push(state.gpus.clone());
            }
        }
        sets
    }

    /// Starts the workers that are to be ready, and ends those that nobody can use any more.
    pub(super) fn refill(&mut self, ops: &mut EventOps) {
        let sets = self.warm_sets();
        for id in self.workers.free_outside(&sets) {
            self.end_worker(id);
        }
        for gpus in sets {
            while self.workers.free(&gpus) < self.warm_workers && self.failures < MAX_FAILURES {
                let before = self.workers.free(&gpus);
                self.start_worker(ops, gpus.clone(), None);
                if self.workers.free(&gpus) == before {
                    break;
                }
            }
        }
    }

    pub(super) fn start_worker(
        &mut self,
        ops: &mut EventOps,
        gpus: Vec<GpuId>,
        session: Option<Session>,
    ) {
        let env = session.as_ref().map_or(&[][..], |session| session.env.as_slice());
        let cold = !env.is_empty();
        let visible = self.gpus.visible(&gpus);
        let command = spawn::worker(&self.programs, &self.driver.library, &visible, env);
        match Running::start(command) {
            Ok(running) => {
                let (socket, pidfd) = (running.socket.as_raw_fd(), running.pidfd.as_raw_fd());
                let id = self.workers.add(running, gpus, session, cold);
                self.watches.add(ops, socket, Source::WorkerSocket(id));
                self.watches.add(ops, pidfd, Source::WorkerPid(id));
            }
            Err(error) => {
                tracing::error!("cannot start a worker: {error}");
                self.failures += 1;
                if let Some(Session { vm, request, .. }) = session {
                    let how = Ending::NoWorker(error.to_string());
                    self.tell_device(vm, &BrokerToDevice::Ended { request, how }, &[]);
                }
            }
        }
    }

    pub(super) fn end_worker(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.running.kill();
            worker.phase = Phase::Ending;
        }
    }

    /// Ends a worker for a reason that its operator is to hear of.
    pub(super) fn kill_worker(&mut self, id: WorkerId, why: &str) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        if worker.phase == Phase::Ending {
            return;
        }
        let of = worker.session.as_ref().map(|session| (session.vm, session.number()));
        let pid = worker.running.pid();
        worker.failure.get_or_insert_with(|| why.to_owned());
        self.end_worker(id);
        self.killed += 1;
        let (vm, session) = (of.map(|of| of.0), of.map(|of| of.1));
        let name = vm.map_or("", |vm| self.vms.name(vm));
        tracing::error!(vm = name, session, pid, "killing a worker: {why}");
        self.publish(EventKind::WorkerKilled, vm, session, format!("worker {pid}: {why}"));
    }

    pub(super) fn worker_ended(&mut self, ops: &mut EventOps, id: WorkerId) {
        // What the scheduler said of it may still wait, and counts while its session is known.
        self.scheduler_spoke();
        let Some(worker) = self.workers.get_mut(id) else { return };
        let Some(status) = worker.running.reap() else { return };
        let was_ended = worker.phase == Phase::Ending;
        let Some(worker) = self.workers.remove(id) else { return };
        self.watches.remove(ops, worker.running.socket.as_raw_fd());
        self.watches.remove(ops, worker.running.pidfd.as_raw_fd());
        self.compute.remove_worker(id);
        // Only now is the memory on the GPU free.
        let bytes = self.ledger.close(id);
        let did = Activity { ring_depth: 0, ..worker.activity() };
        let how = worker.failure.unwrap_or_else(|| spawn::describe(status));
        match worker.session {
            Some(session) => {
                let (vm, request, session) = (session.vm, session.request, session.number());
                if let Some(state) = self.vms.get_mut(vm) {
                    add(&mut state.past, &did);
                }
                let name = self.vms.name(vm);
                tracing::info!(vm = name, session, bytes, "worker reaped: {how}");
                let says = format!("{how}; freed {bytes} bytes of device memory");
                self.publish(EventKind::SessionEnded, Some(vm), Some(session), says);
                let how = if worker.announced { Ending::Died(how) } else { Ending::NoWorker(how) };
                self.tell_device(vm, &BrokerToDevice::Ended { request, how }, &[]);
                self.forget_vm(ops, vm);
            }
            // It was of no use any more.
            None if was_ended && how == spawn::describe(status) => {}
            None => {
                self.failures += 1;
                tracing::error!("a warm worker ended: {how}");
                if self.failures == MAX_FAILURES {
                    tracing::error!(
                        "too many warm workers failed; starting workers only on demand"
                    );
                }
            }
        }
        if !self.ended {
            self.start_waiting(ops);
            self.refill(ops);
        }
    }

    pub(super) fn worker_spoke(&mut self, ops: &mut EventOps, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        let fd = worker.running.socket.as_raw_fd();
        let message = match seqpacket::receive_plain(&worker.running.socket) {
            Ok(Some(message)) => message,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                self.misbehaved(id, &printable(&error.to_string()));
                return self.watches.remove(ops, fd);
            }
            Ok(None) | Err(_) => {
                self.end_worker(id);
                return self.watches.remove(ops, fd);
            }
        };
        let has_account = matches!(worker.phase, Phase::Assigned | Phase::Serving);
        let answer = match message {
            ToBroker::Ready if worker.phase == Phase::Starting => {
                worker.phase = Phase::Warm;
                let taken = worker.session.is_some();
                self.failures = 0;
                if taken {
                    self.assign(id);
                }
                return;
            }
            ToBroker::Failed { reason } => {
                worker.failure = Some(printable(&reason));
                return self.end_worker(id);
            }
            ToBroker::Began if worker.phase == Phase::Assigned => return self.announce(id),
            ToBroker::Reserve { device, bytes, kind } if has_account => {
                match self.ledger.reserve(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) if error.is_full() => {
                        self.memory_refused(id, device, kind, &error.to_string());
                        ToWorker::Refused
                    }
                    Err(error) => return self.misbehaved(id, &error.to_string()),
                }
            }
            ToBroker::Release { device, bytes, kind } if has_account => {
                match self.ledger.release(id, device, bytes, kind) {
                    Ok(()) => ToWorker::Granted,
                    Err(error) => return self.misbehaved(id, &error.to_string()),
                }
            }
            ToBroker::Query { device } if has_account => match self.ledger.usage_of(id, device) {
                Ok(usage) => ToWorker::Usage { used: usage.used, max: usage.max },
                Err(error) => return self.misbehaved(id, &error.to_string()),
            },
            // A message that was under way when the worker was ended.
            _ if worker.phase == Phase::Ending => return,
            other => {
                let says = printable(&format!("unexpected {other:?}"));
                return self.misbehaved(id, &says);
            }
        };
        let Some(worker) = self.workers.get_mut(id) else { return };
        if let Err(error) = seqpacket::send(&worker.running.socket, &answer, &[]) {
            self.misbehaved(id, &format!("cannot send it an answer: {error}"));
        }
    }

    fn misbehaved(&mut self, id: WorkerId, how: &str) {
        self.kill_worker(id, &format!("protocol violation: {how}"));
    }
}
