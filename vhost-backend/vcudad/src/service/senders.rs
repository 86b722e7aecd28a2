//! Budgets of the broker's time for the VMs whose processes send messages.

use std::time::Instant;

use event_manager::EventOps;

use super::Service;
use crate::sessions::worker::Worker;
use crate::vm::device::Device;
use crate::watches::Source;
use memory_ledger::VmId;

impl Service {
    /// Returns the VM whose device process or worker has sent a message. The VM's guest may have
    /// taken over that process. Returns `None` if the source isn't a process of a VM.
    pub(super) fn sender(&self, source: Source) -> Option<VmId> {
        match source {
            Source::DeviceSocket(vm) => Some(vm),
            Source::WorkerSocket(worker) => {
                let session = self.sessions.workers().get(worker)?.session();
                session.map(|session| session.vm)
            }
            _ => None,
        }
    }

    /// Watches the sockets of VMs again that weren't watched because the VM had used up its time
    /// budget, if its budget has grown enough.
    pub(super) fn resume_held(&mut self, ops: &mut EventOps) {
        for source in self.budgets.resume(Instant::now()) {
            let socket = match source {
                Source::DeviceSocket(vm) => {
                    let device = self.vms.get(vm).map(|state| &state.device);
                    device.filter(|device| !device.is_paused()).and_then(Device::socket_fd)
                }
                Source::WorkerSocket(worker) => {
                    self.sessions.workers().get(worker).map(Worker::socket_fd)
                }
                _ => None,
            };
            socket.into_iter().for_each(|socket| self.watches.add(ops, socket, source));
        }
    }
}
