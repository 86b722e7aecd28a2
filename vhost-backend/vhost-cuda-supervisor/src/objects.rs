//! The objects of one worker that lead to its channels. The broker learns about each of them before
//! the worker does.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE, is_channel};
use host_ipc::messages::{DriverObject, FromSupervisor, SessionOfVm};
use host_ipc::seqpacket;

use super::bytes::u32_at;
use super::limit::Limit;

/// A worker has at most so many of these objects. libcuda allocates 24 for a context.
const MOST: usize = 1024;
/// A worker that allocates more of them than this in a second waits, so that the broker isn't
/// flooded. Creating a context takes a tenth of a second, so no program allocates as many.
const PER_SECOND: u32 = 512;
/// Offset of the engine in the parameters of a channel group.
const ENGINE: usize = 12;

/// The objects of one worker that the broker knows.
pub struct Objects {
    session: SessionOfVm,
    broker: Arc<OwnedFd>,
    /// The handle of the object that each was created under, by client and handle.
    parents: HashMap<(u32, u32), u32>,
    limit: Limit,
}

/// Returns an object's detail for the broker, or `None` if the object is of no interest.
pub fn detail(class: u32, parameters: &[u8]) -> Option<u32> {
    let number = |at: usize| if parameters.len() < at + 4 { 0 } else { u32_at(parameters, at) };
    match class {
        DEVICE => Some(number(0)),
        CHANNEL_GROUP => Some(number(ENGINE)),
        _ => is_channel(class).then_some(0),
    }
}

impl Objects {
    /// `broker` is the socket to the broker, which knows the objects in `before`.
    pub fn new(session: SessionOfVm, before: &[DriverObject], broker: Arc<OwnedFd>) -> Self {
        let parents = before.iter().map(|one| ((one.client, one.handle), one.parent)).collect();
        Self { session, broker, parents, limit: Limit::new(PER_SECOND) }
    }

    /// Returns false if the worker may not allocate another object. Waits if it has allocated too
    /// many in this second.
    pub fn has_room(&mut self) -> bool {
        self.limit.wait();
        self.parents.len() < MOST
    }

    /// Returns true if the broker knows this object.
    pub fn has(&self, client: u32, handle: u32) -> bool {
        self.parents.contains_key(&(client, handle))
    }

    /// Records an object that the driver has allocated. It replaces one with the same handle, which
    /// the driver has freed with something that it depended on.
    pub fn add(&mut self, object: DriverObject) {
        self.parents.insert((object.client, object.handle), object.parent);
        self.report(&FromSupervisor::Object { session: self.session, object });
    }

    /// Records that the driver has freed an object, and with it those that were created under it.
    /// It may be one that was never added, such as a client.
    pub fn remove(&mut self, client: u32, handle: u32) {
        let mut freed = vec![handle];
        while let Some(handle) = freed.pop() {
            if self.parents.remove(&(client, handle)).is_some() {
                self.report(&FromSupervisor::Freed { session: self.session, client, handle });
            }
            let ended = |of: u32, parent: u32| of == client && [client, parent].contains(&handle);
            let objects = self.parents.iter();
            let objects = objects.filter(|((of, _), parent)| ended(*of, **parent));
            freed.extend(objects.map(|((_, object), _)| *object));
        }
    }

    fn report(&self, message: &FromSupervisor) {
        if let Err(error) = seqpacket::send(&*self.broker, message, &[]) {
            let number = self.session.number;
            tracing::error!(session = number, "cannot report an object of the driver: {error}");
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const SESSION: SessionOfVm = SessionOfVm { vm: 3, number: 7 };

    /// Returns no objects, and the broker's end of their socket.
    pub fn objects() -> (Objects, OwnedFd) {
        let (broker, ours) = seqpacket::pair().unwrap();
        (Objects::new(SESSION, &[], Arc::new(ours)), broker)
    }

    /// Returns all messages once the supervisor has closed its end.
    pub fn reports(objects: Objects, broker: &OwnedFd) -> Vec<FromSupervisor> {
        drop(objects);
        let next = || Some(seqpacket::receive(broker).unwrap()?.0);
        std::iter::from_fn(next).collect()
    }

    fn object(client: u32, parent: u32, handle: u32, class: u32) -> DriverObject {
        DriverObject { client, parent, handle, class, detail: 0 }
    }

    /// Adds a device with a group and a channel, and another group, to each of two clients.
    fn two_clients() -> (Objects, OwnedFd) {
        let (mut objects, broker) = objects();
        for client in [100, 200] {
            objects.add(object(client, client, 1, DEVICE));
            objects.add(object(client, 1, 2, CHANNEL_GROUP));
            objects.add(object(client, 2, 3, 0xc86f));
            objects.add(object(client, 1, 4, CHANNEL_GROUP));
        }
        (objects, broker)
    }

    fn left(objects: &Objects) -> Vec<(u32, u32)> {
        let mut left: Vec<_> = objects.parents.keys().copied().collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn freeing_an_object_frees_what_was_created_under_it() {
        let (mut objects, broker) = two_clients();
        objects.remove(100, 2);
        assert_eq!(left(&objects)[..2], [(100, 1), (100, 4)]);
        objects.remove(100, 1);
        objects.remove(200, 200);
        assert_eq!(left(&objects), []);
        objects.remove(200, 200);
        let reports = reports(objects, &broker);
        assert_eq!(reports.len(), 16);
        let freed = |client, handle| {
            let is = |report: &&FromSupervisor| {
                **report == FromSupervisor::Freed { session: SESSION, client, handle }
            };
            reports.iter().filter(is).count()
        };
        for client in [100, 200] {
            assert_eq!([1, 2, 3, 4].map(|handle| freed(client, handle)), [1; 4]);
        }
    }

    #[test]
    fn objects_from_before_the_session_are_reported_only_when_they_are_freed() {
        let (broker, ours) = seqpacket::pair().unwrap();
        let before = [object(100, 100, 1, DEVICE), object(100, 1, 2, CHANNEL_GROUP)];
        let mut objects = Objects::new(SESSION, &before, Arc::new(ours));
        objects.remove(100, 1);
        assert_eq!(reports(objects, &broker).len(), 2);
    }

    #[test]
    fn objects_of_devices_that_are_not_known_are_freed_with_them() {
        let (mut objects, broker) = objects();
        objects.add(object(100, 9, 10, CHANNEL_GROUP));
        objects.remove(100, 8);
        objects.remove(200, 9);
        assert_eq!(left(&objects), [(100, 10)]);
        objects.remove(100, 9);
        assert_eq!(reports(objects, &broker).len(), 2);
    }

    #[test]
    fn handles_in_a_circle_do_no_harm() {
        let (mut objects, broker) = objects();
        // A handle that is used again can have any parent.
        objects.add(object(100, 2, 1, DEVICE));
        objects.add(object(100, 1, 2, DEVICE));
        objects.add(object(100, 3, 3, DEVICE));
        objects.remove(100, 3);
        assert_eq!(left(&objects), [(100, 1), (100, 2)]);
        objects.remove(100, 1);
        assert_eq!(left(&objects), []);
        assert_eq!(reports(objects, &broker).len(), 6);
    }

    #[test]
    fn their_number_is_limited() {
        let (mut objects, broker) = objects();
        let reader = std::thread::spawn(move || {
            while seqpacket::receive::<FromSupervisor>(&broker).unwrap().is_some() {}
        });
        for handle in 0..MOST as u32 {
            objects.add(object(100, 100, handle, DEVICE));
        }
        assert!(!objects.has_room());
        objects.remove(100, 5);
        assert!(objects.has_room());
        drop(objects);
        reader.join().unwrap();
    }

    #[test]
    fn details_are_the_gpu_and_the_engine() {
        let parameters: Vec<u8> = (1..=5u32).flat_map(u32::to_ne_bytes).collect();
        assert_eq!(detail(DEVICE, &parameters), Some(1));
        assert_eq!(detail(CHANNEL_GROUP, &parameters), Some(4));
        assert_eq!(detail(0xc86f, &parameters), Some(0));
        assert_eq!(detail(DEVICE, &[]), Some(0));
        assert_eq!(detail(0x40, &parameters), None);
    }
}
