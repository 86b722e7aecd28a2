//! A session, and the queue of sessions that are waiting for a worker.

use std::collections::VecDeque;

use memory_ledger::VmId;
use serde::{Deserialize, Serialize};

/// Maximum number of a VM's sessions in the queue, as a multiple of sessions.max.
const MAX_WAITING: usize = 2;

/// A session that has a worker or is waiting for one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) vm: VmId,
    /// The device process's number for the session, which is used in messages.
    pub(crate) request: u64,
    /// The guest's ID for the session, which is reported when the guest queries its processes.
    pub(crate) id: u32,
    /// Process ID of the guest process, for logs and for queries from the guest.
    pub(crate) pid: u32,
    /// The environment variables that the guest process passed, limited to those that the host
    /// allows.
    pub(crate) env: Vec<(String, String)>,
}

impl Session {
    /// Returns the session's number for operators. The guest's IDs are not unique, because each
    /// front end starts at 1.
    pub(crate) fn number(&self) -> u32 {
        u32::try_from(self.request).unwrap_or(u32::MAX)
    }
}

/// The queue of sessions that can't be started yet: either the VM is at sessions.max and one of its
/// killed workers hasn't been reaped, or the VM is starting sessions too quickly.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct StartQueue(VecDeque<Session>);

impl StartQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if there is room in the queue for another session of this VM.
    pub(crate) fn has_room(&self, vm: VmId, sessions_max: usize) -> bool {
        let waiting = self.0.iter().filter(|session| session.vm == vm).count();
        waiting < MAX_WAITING * sessions_max
    }

    /// Adds a session to the queue. Returns true if the queue was empty before.
    pub(crate) fn push(&mut self, session: Session) -> bool {
        self.0.push_back(session);
        self.0.len() == 1
    }

    /// Takes all sessions, in the order in which they were added.
    pub(crate) fn take_all(&mut self) -> VecDeque<Session> {
        std::mem::take(&mut self.0)
    }

    /// Removes the session with this request number. Returns true if it was in the queue.
    pub(crate) fn remove(&mut self, vm: VmId, request: u64) -> bool {
        let same = |session: &Session| (session.vm, session.request) == (vm, request);
        let place = self.0.iter().position(same);
        place.and_then(|place| self.0.remove(place)).is_some()
    }

    /// Removes all of a VM's sessions.
    pub(crate) fn remove_vm(&mut self, vm: VmId) {
        self.0.retain(|session| session.vm != vm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(vm: u64, request: u64) -> Session {
        Session { vm: VmId(vm), request, id: 1, pid: 1, env: Vec::new() }
    }

    #[test]
    fn sessions_wait_in_order_and_each_vm_has_its_limit() {
        let mut queue = StartQueue::default();
        assert!(queue.push(session(1, 1)));
        assert!(!queue.push(session(2, 1)));
        assert!(queue.has_room(VmId(1), 1));
        assert!(!queue.push(session(1, 2)));
        assert!(!queue.has_room(VmId(1), 1) && queue.has_room(VmId(2), 1));
        assert!(queue.remove(VmId(1), 1) && !queue.remove(VmId(1), 1));
        let all = queue.take_all();
        let order: Vec<_> = all.iter().map(|session| (session.vm, session.request)).collect();
        assert_eq!(order, [(VmId(2), 1), (VmId(1), 2)]);
        assert!(queue.is_empty());
        queue.push(session(1, 3));
        queue.remove_vm(VmId(1));
        assert!(queue.is_empty());
    }
}
