//! Device processes: one for each VM, started again when it ends.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use control_api::EventKind;
use event_manager::EventOps;

use super::facts::{self, Serving};
use super::service::Service;
use super::session::Session;
use super::spawn::{self, Running};
use super::watches::Source;
use host_ipc::messages::{BrokerToDevice, DeviceSetup, DeviceToBroker, Ending};
use host_ipc::seqpacket;
use memory_ledger::VmId;

/// A device process that ends more often than this within a minute is not started again.
const MAX_RESTARTS: usize = 5;

impl Service {
    pub(super) fn start_device(&mut self, ops: &mut EventOps, id: VmId) {
        let change_users = self.change_users;
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(listener) = &state.socket else { return };
        state.starts.retain(|start| start.elapsed() < Duration::from_secs(60));
        let name = state.vm.name.clone();
        if state.starts.len() >= MAX_RESTARTS {
            let often = state.starts.len();
            return self.fail(
                id,
                format!(
                    "the device process ended {often} times within a minute; it is not restarted \
                     until vcudad is"
                ),
            );
        }
        state.starts.push(Instant::now());
        let device = match Running::start(spawn::device(&self.programs)) {
            Ok(device) => device,
            Err(error) => {
                return self.fail(id, format!("cannot start the device process: {error}"));
            }
        };
        let setup = BrokerToDevice::Setup(DeviceSetup {
            name: name.clone(),
            uid: state.vm.uid.filter(|_| change_users),
            gid: state.vm.gid.filter(|_| change_users),
            limits: state.vm.limits,
        });
        if let Err(error) = seqpacket::send(&device.socket, &setup, &[listener.as_raw_fd()]) {
            tracing::error!(vm = name, "cannot send the setup to the device process: {error}");
        }
        tracing::info!(
            vm = name,
            pid = device.pid(),
            gpus = ?state.gpus.iter().map(|gpu| gpu.0).collect::<Vec<_>>(),
            memory_max = state.vm.spec.memory.max,
            socket = %state.vm.socket.display(),
            "device process started"
        );
        let (socket, pidfd) = (device.socket.as_raw_fd(), device.pidfd.as_raw_fd());
        state.device = Some(device);
        self.watches.add(ops, socket, Source::DeviceSocket(id));
        self.watches.add(ops, pidfd, Source::DevicePid(id));
    }

    /// Gives a VM's device up until the next start.
    fn fail(&mut self, id: VmId, reason: String) {
        let Some(state) = self.vms.get_mut(id) else { return };
        tracing::error!(vm = state.vm.name, "{reason}");
        // Nobody would accept: who connects is to be told so, and not to wait.
        state.socket = None;
        state.failed = Some(reason.clone());
        self.publish(EventKind::DeviceEnded, Some(id), None, reason);
    }

    pub(super) fn tell_device(&mut self, id: VmId, message: &BrokerToDevice, fds: &[RawFd]) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(device) = &mut state.device else { return };
        if let Err(error) = seqpacket::send(&device.socket, message, fds) {
            tracing::error!(
                vm = state.vm.name,
                "cannot send to the device process, so killing it: {error}"
            );
            device.kill();
        }
    }

    pub(super) fn device_ended(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(status) = state.device.as_mut().and_then(Running::reap) else { return };
        let how = spawn::describe(status);
        if let Some(device) = state.device.take() {
            self.watches.remove(ops, device.socket.as_raw_fd());
            self.watches.remove(ops, device.pidfd.as_raw_fd());
        }
        self.start_queue.remove_vm(id);
        for worker in self.workers.ids_of_vm(id) {
            self.end_worker(worker);
        }
        let Some(state) = self.vms.get_mut(id) else { return };
        if state.leaving.is_some() {
            return self.forget_vm(ops, id);
        }
        tracing::warn!(vm = state.vm.name, "device process: {how}");
        if !self.ended {
            state.device_restarts += 1;
            let says = format!("device process: {how}");
            self.publish(EventKind::DeviceEnded, Some(id), None, says);
            self.start_device(ops, id);
        }
    }

    pub(super) fn device_spoke(&mut self, ops: &mut EventOps, id: VmId) {
        let Some(state) = self.vms.get_mut(id) else { return };
        let Some(device) = &mut state.device else { return };
        let message = match seqpacket::receive_plain(&device.socket) {
            Ok(Some(message)) => message,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(None) | Err(_) => {
                let fd = device.socket.as_raw_fd();
                device.kill();
                return self.watches.remove(ops, fd);
            }
        };
        match message {
            DeviceToBroker::Start { request, session, pid, env } => {
                let allowed = &state.vm.env_allow;
                let mut env = env;
                env.retain(|(name, _)| allowed.contains(name));
                self.start_session(ops, Session { vm: id, request, id: session, pid, env });
            }
            DeviceToBroker::End { request } => {
                if let Some(worker) = self.workers.find(id, request) {
                    self.end_worker(worker);
                } else if self.start_queue.remove(id, request) {
                    let how =
                        Ending::NoWorker("the session ended before its worker started".into());
                    self.tell_device(id, &BrokerToDevice::Ended { request, how }, &[]);
                }
            }
            DeviceToBroker::Query { request } => self.tell_facts(id, request),
        }
    }

    /// Tells a VM's guest about its GPUs.
    fn tell_facts(&mut self, id: VmId, request: u64) {
        let Some(state) = self.vms.get(id) else { return };
        let sessions = self.workers.sessions_of(id).map(|(worker, session)| Serving {
            worker,
            session: session.id,
            pid: session.pid,
        });
        let facts = facts::collect(&self.driver, &self.ledger, id, &state.gpus, sessions, |gpu| {
            self.utilization(id, gpu)
        });
        self.tell_device(id, &BrokerToDevice::Facts { request, facts }, &[]);
    }
}
