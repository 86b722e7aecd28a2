//! Sessions: each gets a worker of its own, as far as its VM may have more.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use control_api::EventKind;
use event_manager::EventOps;

use super::pool::Phase;
use super::service::Service;
use super::session::Session;
use control_server::handle::now_ms;
use host_ipc::doorbell::doorbell;
use host_ipc::eventfd::eventfd;
use host_ipc::gate::{GateMap, GatePage};
use host_ipc::messages::{Assignment, BrokerToDevice, Charge, Ending, ToWorker, WorkerId};
use host_ipc::seqpacket;
use memory_ledger::GpuId;

impl Service {
    pub(super) fn start_session(&mut self, ops: &mut EventOps, mut session: Session) {
        let (id, request, now) = (session.vm, session.request, Instant::now());
        let Some(state) = self.vms.get_mut(id) else { return };
        let max = state.vm.limits.max_sessions as usize;
        if self.workers.find(id, request).is_some() {
            tracing::error!(vm = state.vm.name, "the device process used a session number twice");
            return;
        }
        let full = self.workers.of_vm(id) >= max;
        let waits = if full { self.workers.ending(id) } else { !state.session_starts.take(now) };
        let gpus = state.gpus.clone();
        if waits && self.start_queue.has_room(id, max) {
            if self.start_queue.push(session) {
                self.arm_timer();
            }
            return;
        }
        if full || waits {
            let Some(state) = self.vms.get_mut(id) else { return };
            if let Some(before) = state.refusals.say(now) {
                tracing::warn!(
                    vm = state.vm.name,
                    session = session.number(),
                    before,
                    "refusing a session: sessions.max is {max}"
                );
            }
            let ended = BrokerToDevice::Ended { request, how: Ending::Limit };
            return self.tell_device(id, &ended, &[]);
        }
        match self.sharing_env(id) {
            // Later ones hold: a session can't bring other limits.
            Ok(env) => session.env.extend(env),
            Err(error) => {
                tracing::error!(
                    vm = self.vms.name(id),
                    session = session.number(),
                    "cannot start a worker: {error}"
                );
                let how = Ending::NoWorker(error.to_string());
                return self.tell_device(id, &BrokerToDevice::Ended { request, how }, &[]);
            }
        }
        let free = if session.env.is_empty() { self.workers.best_free(&gpus) } else { None };
        match free {
            Some(worker) => {
                let Some(found) = self.workers.get_mut(worker) else { return };
                found.session = Some(session);
                if found.phase == Phase::Warm {
                    self.assign(worker);
                }
            }
            None => self.start_worker(ops, gpus, Some(session)),
        }
        self.refill(ops);
    }

    /// Looks again at the sessions that wait, in their order.
    pub(super) fn start_waiting(&mut self, ops: &mut EventOps) {
        for session in self.start_queue.take_all() {
            self.start_session(ops, session);
        }
    }

    /// Hands a worker that is warm to its session.
    pub(super) fn assign(&mut self, id: WorkerId) {
        if let Err(reason) = self.try_assign(id) {
            tracing::error!("cannot assign a worker: {reason}");
            if let Some(worker) = self.workers.get_mut(id) {
                worker.failure = Some(reason);
            }
            self.end_worker(id);
        }
    }

    fn try_assign(&mut self, id: WorkerId) -> Result<(), String> {
        let Some(worker) = self.workers.get_mut(id) else { return Ok(()) };
        let Some(session) = &worker.session else { return Ok(()) };
        let Some(state) = self.vms.get(session.vm) else { return Ok(()) };
        if let Some(cgroup) = &state.cgroup {
            cgroup.take(worker.running.pid())?;
        }
        self.ledger.open(id, session.vm, &state.gpus);
        let bytes = |gpu: &GpuId| self.gpus.get(*gpu).map_or(0, |gpu| gpu.context_bytes);
        let contexts: Vec<u64> = state.gpus.iter().map(bytes).collect();
        // A warm worker has a context on its first GPU. If there is no room for it, the worker ends
        // it, and the guest learns so when it makes one.
        let first = contexts.first().copied().unwrap_or(0);
        let charged = first == 0 || self.ledger.reserve(id, 0, first, Charge::Context).is_ok();
        let assignment = Assignment {
            label: format!("{}/{}", state.vm.name, session.number()),
            pid: session.pid,
            uid: state.vm.uid.filter(|_| self.change_users),
            gid: state.vm.gid.filter(|_| self.change_users),
            env: session.env.clone(),
            spin_us: state.vm.spin_us,
            context_bytes: contexts,
            context_charged: charged,
        };
        let text = |error: io::Error| error.to_string();
        let (theirs, devices) = seqpacket::stream_pair().map_err(text)?;
        seqpacket::refuse_descriptors(&devices).map_err(text)?;
        let (button, chime) = doorbell().map_err(text)?;
        let (wake, bell) = (eventfd().map_err(text)?, eventfd().map_err(text)?);
        let page = GatePage::create().map_err(text)?;
        let gate = GateMap::map(&page).map_err(text)?;
        let scheduled = GateMap::map(&page).map_err(text)?;
        let ring = button.try_clone().map_err(text)?;
        // The end to ring with is never the worker's.
        let fds = [&theirs, &chime, &wake, &page, &bell].map(OwnedFd::as_raw_fd);
        seqpacket::send(&worker.running.socket, &ToWorker::Assign(assignment), &fds)
            .map_err(text)?;
        worker.handover = Some((devices.into(), button, wake));
        worker.gate = Some(gate);
        worker.taken_ms = now_ms();
        worker.phase = Phase::Assigned;
        let (vm, gpus) = (session.vm, state.gpus.clone());
        self.schedule(id, vm, &gpus, scheduled, ring, bell);
        Ok(())
    }

    /// The session is served: its device process gets the other ends.
    pub(super) fn announce(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(id) else { return };
        worker.phase = Phase::Serving;
        worker.announced = true;
        let pid = worker.running.pid();
        let (Some(session), Some((stream, doorbell, wake))) =
            (&worker.session, worker.handover.take())
        else {
            return;
        };
        let (vm, number) = (session.vm, session.number());
        let says = format!("guest process {}, worker {pid}", session.pid);
        let message = BrokerToDevice::Started { request: session.request, pid };
        if let Some(state) = self.vms.get_mut(vm) {
            state.sessions_total += 1;
        }
        let fds = [stream.as_raw_fd(), doorbell.as_raw_fd(), wake.as_raw_fd()];
        self.tell_device(vm, &message, &fds);
        self.publish(EventKind::SessionStarted, Some(vm), Some(number), says);
    }

    /// An allocation of a session had no room.
    pub(super) fn memory_refused(&mut self, id: WorkerId, device: u32, kind: Charge, says: &str) {
        tracing::debug!("{says}");
        let Some(session) = self.workers.get_mut(id).and_then(|worker| worker.session.as_ref())
        else {
            return;
        };
        let (vm, number) = (session.vm, session.number());
        let Some(state) = self.vms.get_mut(vm) else { return };
        let Some(gpu) = state.gpus.get(device as usize).copied() else { return };
        let seldom = state.memory_refusals.entry(gpu);
        let seldom = seldom.or_insert_with(|| super::rate::Seldom::new(super::service::SECOND));
        if let Some(before) = seldom.say(Instant::now()) {
            let kind = kind.name();
            let says = match before {
                0 => format!("{kind}: {says}"),
                _ => format!("{kind}: {says} ({before} more since the last event)"),
            };
            self.publish_gpu(EventKind::MemoryRefused, Some(vm), Some(number), Some(gpu), says);
        }
    }
}
