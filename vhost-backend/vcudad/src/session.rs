//! A session, and the queue of sessions that wait for a worker.

use std::collections::VecDeque;

use memory_ledger::VmId;

/// Maximum number of waiting sessions of a VM, in multiples of sessions.max.
const MAX_WAITING: usize = 2;

/// A session that wants, or has, a worker.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) vm: VmId,
    /// Identifies the session to its device process.
    pub(crate) request: u64,
    /// The guest's id of the session, for queries from the guest.
    pub(crate) id: u32,
    /// The guest process, for the log.
    pub(crate) pid: u32,
    /// The allowed part of the environment that the session came with.
    pub(crate) env: Vec<(String, String)>,
}

impl Session {
    /// The session's number for operators. Guest ids are not unique: each front end starts at 1.
    pub(crate) fn number(&self) -> u32 {
        u32::try_from(self.request).unwrap_or(u32::MAX)
    }
}

/// The queue of sessions that can't start yet: their VM is at sessions.max and a killed worker
/// hasn't been reaped, or their VM starts sessions too quickly.
#[derive(Default)]
pub(crate) struct StartQueue(VecDeque<Session>);

impl StartQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether another session of a VM may wait.
    pub(crate) fn has_room(&self, vm: VmId, sessions_max: usize) -> bool {
        let waiting = self.0.iter().filter(|session| session.vm == vm).count();
        waiting < MAX_WAITING * sessions_max
    }

    /// Adds a session. Returns whether the queue was empty.
    pub(crate) fn push(&mut self, session: Session) -> bool {
        self.0.push_back(session);
        self.0.len() == 1
    }

    /// Takes all sessions, in the order in which they were added.
    pub(crate) fn take_all(&mut self) -> VecDeque<Session> {
        std::mem::take(&mut self.0)
    }

    /// Drops the session of this request. Returns whether it was waiting.
    pub(crate) fn remove(&mut self, vm: VmId, request: u64) -> bool {
        let same = |session: &Session| (session.vm, session.request) == (vm, request);
        let place = self.0.iter().position(same);
        place.and_then(|place| self.0.remove(place)).is_some()
    }

    /// Drops all sessions of a VM.
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
