//! A session, and the queue of sessions that are waiting for a worker.

use std::collections::{BTreeMap, VecDeque};

use host_ipc::messages::PROGRAM;
use host_ipc::printable::printable_to;
use memory_ledger::VmId;
use serde::{Deserialize, Serialize};

/// Maximum number of a VM's sessions in the queue, as a multiple of sessions.max.
const MAX_WAITING: usize = 2;
/// Maximum number of characters of a program's name. The kernel's names have 15.
const MAX_PROGRAM: usize = 32;

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
    /// The program's name, as the guest claims it.
    #[serde(default)]
    pub(crate) program: Option<String>,
    /// The ID of the guest's user, if the user's sessions have limits.
    #[serde(default)]
    pub(crate) user: Option<u32>,
    /// The environment variables that the guest process passed, limited to those that the host
    /// allows.
    pub(crate) env: Vec<(String, String)>,
}

impl Session {
    /// Returns the session's number for operators. The guest's IDs aren't unique, because each
    /// front end counts its sessions from 1.
    pub(crate) fn number(&self) -> u32 {
        u32::try_from(self.request).unwrap_or(u32::MAX)
    }
}

/// Finds the program's name, as the guest claims it, among these variables. Shortens the name, and
/// escapes special characters.
pub(crate) fn program(env: &[(String, String)]) -> Option<String> {
    let (_, name) = env.iter().find(|(name, _)| name == PROGRAM)?;
    Some(printable_to(name, MAX_PROGRAM)).filter(|name| !name.is_empty())
}

/// A change of the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum QueueChange {
    Added(Session),
    /// The session with this request number is no longer in the queue.
    Removed(VmId, u64),
    /// A VM has no more sessions in the queue.
    VmRemoved(VmId),
}

/// The queue of sessions that can't be started yet: either the VM is at sessions.max and one of its
/// killed workers hasn't been reaped, or the VM is starting sessions too quickly. Each VM has a
/// queue of its own, so that the time to handle a VM's requests doesn't depend on other VMs'
/// sessions.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Session>", into = "Vec<Session>")]
pub(crate) struct StartQueue {
    /// VMs without sessions in the queue aren't in the map.
    vms: BTreeMap<VmId, VecDeque<Session>>,
    /// The changes since the last call of `take_changes`.
    changes: Vec<QueueChange>,
}

impl From<Vec<Session>> for StartQueue {
    fn from(sessions: Vec<Session>) -> Self {
        let mut queue = Self::default();
        sessions.into_iter().for_each(|session| queue.vm(session.vm).push_back(session));
        queue
    }
}

impl From<StartQueue> for Vec<Session> {
    fn from(queue: StartQueue) -> Self {
        queue.vms.into_values().flatten().collect()
    }
}

impl StartQueue {
    fn vm(&mut self, vm: VmId) -> &mut VecDeque<Session> {
        self.vms.entry(vm).or_default()
    }

    fn take(&mut self, vm: VmId, place: usize) -> Option<Session> {
        let sessions = self.vms.get_mut(&vm)?;
        let session = sessions.remove(place);
        if sessions.is_empty() {
            self.vms.remove(&vm);
        }
        session
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.vms.is_empty()
    }

    /// Returns true if there is room in the queue for another session of this VM.
    pub(crate) fn has_room(&self, vm: VmId, sessions_max: usize) -> bool {
        self.vms.get(&vm).map_or(0, VecDeque::len) < MAX_WAITING * sessions_max
    }

    /// Adds a session to the queue. Returns true if the queue was empty before.
    pub(crate) fn push(&mut self, session: Session) -> bool {
        let was_empty = self.is_empty();
        self.changes.push(QueueChange::Added(session.clone()));
        self.vm(session.vm).push_back(session);
        was_empty
    }

    /// Returns the VMs that have sessions in the queue.
    pub(crate) fn vms(&self) -> Vec<VmId> {
        self.vms.keys().copied().collect()
    }

    /// Takes a VM's first session out of the queue, to try to start it. In the record, the session
    /// stays in the queue until [`Self::set_started`].
    pub(crate) fn take_first(&mut self, vm: VmId) -> Option<Session> {
        self.take(vm, 0)
    }

    /// Puts a session that must still wait back at the front of the queue.
    pub(crate) fn put_back(&mut self, session: Session) {
        self.vm(session.vm).push_front(session);
    }

    /// Records that a session has left the queue, because it was started or refused.
    pub(crate) fn set_started(&mut self, vm: VmId, request: u64) {
        self.changes.push(QueueChange::Removed(vm, request));
    }

    /// Removes the session with this request number. Returns true if it was in the queue.
    pub(crate) fn remove(&mut self, vm: VmId, request: u64) -> bool {
        let same = |session: &Session| session.request == request;
        let place = self.vms.get(&vm).and_then(|sessions| sessions.iter().position(same));
        let removed = place.and_then(|place| self.take(vm, place)).is_some();
        if removed {
            self.changes.push(QueueChange::Removed(vm, request));
        }
        removed
    }

    /// Removes all of a VM's sessions.
    pub(crate) fn remove_vm(&mut self, vm: VmId) {
        if self.vms.remove(&vm).is_some() {
            self.changes.push(QueueChange::VmRemoved(vm));
        }
    }

    /// Takes the changes since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<QueueChange> {
        std::mem::take(&mut self.changes)
    }

    /// Makes a change that another broker's queue has recorded.
    pub(crate) fn repeat(&mut self, change: QueueChange) {
        match change {
            QueueChange::Added(session) => {
                self.push(session);
            }
            QueueChange::Removed(vm, request) => {
                self.remove(vm, request);
            }
            QueueChange::VmRemoved(vm) => self.remove_vm(vm),
        }
        self.changes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session(vm: u64, request: u64) -> Session {
        Session { vm: VmId(vm), request, id: 1, pid: 1, program: None, user: None, env: Vec::new() }
    }

    fn requests(queue: &StartQueue) -> Vec<(VmId, u64)> {
        let all: Vec<Session> = queue.clone().into();
        all.iter().map(|session| (session.vm, session.request)).collect()
    }

    #[test]
    fn a_claimed_name_is_short_and_printable() {
        let of = |name: &str, value: &str| program(&[(name.into(), value.into())]);
        assert_eq!(of(PROGRAM, "python3").as_deref(), Some("python3"));
        assert_eq!(of(PROGRAM, "a\n\u{1b}[2J").as_deref(), Some("a\\n\\u{1b}[2J"));
        let long = of(PROGRAM, &"x".repeat(5000)).unwrap();
        assert_eq!(long.chars().count(), MAX_PROGRAM + 1, "{long}");
        assert_eq!([of(PROGRAM, ""), of("CUDA_LAUNCH_BLOCKING", "1")], [None, None]);
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
        queue.push(session(1, 3));
        let first = queue.take_first(VmId(1)).unwrap();
        queue.put_back(first);
        assert_eq!(requests(&queue), [(VmId(1), 2), (VmId(1), 3), (VmId(2), 1)]);
        assert_eq!(queue.vms(), [VmId(1), VmId(2)]);
        for vm in queue.vms() {
            queue.remove_vm(vm);
        }
        assert!(queue.is_empty() && queue.vms().is_empty());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64, u64),
        Try(u64, bool),
        Remove(u64, u64),
        RemoveVm(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let (vm, request) = (1..4u64, 0..6u64);
        prop_oneof![
            4 => (vm.clone(), request.clone()).prop_map(|(vm, request)| Step::Push(vm, request)),
            2 => (vm.clone(), any::<bool>()).prop_map(|(vm, starts)| Step::Try(vm, starts)),
            2 => (vm.clone(), request).prop_map(|(vm, request)| Step::Remove(vm, request)),
            1 => vm.prop_map(Step::RemoveVm),
        ]
    }

    proptest! {
        /// A queue that repeats the changes of another one has the same sessions.
        #[test]
        fn the_changes_say_everything(steps in prop::collection::vec(step(), 0..100)) {
            let (mut queue, mut copy) = (StartQueue::default(), StartQueue::default());
            let mut last = 10;
            for step in steps {
                match step {
                    Step::Push(vm, request) => {
                        last += 10;
                        queue.push(session(vm, last + request));
                    }
                    Step::Try(vm, starts) => match queue.take_first(VmId(vm)) {
                        Some(first) if starts => queue.set_started(first.vm, first.request),
                        first => first.into_iter().for_each(|first| queue.put_back(first)),
                    },
                    Step::Remove(vm, request) => {
                        queue.remove(VmId(vm), last + request);
                    }
                    Step::RemoveVm(vm) => queue.remove_vm(VmId(vm)),
                }
                for change in queue.take_changes() {
                    let text = serde_json::to_string(&change).unwrap();
                    copy.repeat(serde_json::from_str(&text).unwrap());
                }
                prop_assert_eq!(requests(&copy), requests(&queue));
            }
        }
    }
}
