use super::super::totals::tests::are_empty;
use super::*;

pub const SESSION: SessionOfVm = SessionOfVm { vm: 3, number: 7 };

/// Returns an empty set of objects, and the broker's end of the socket for their reports.
pub fn objects() -> (Objects, OwnedFd) {
    of_vm(&Arc::default())
}

pub fn of_vm(totals: &Arc<Totals>) -> (Objects, OwnedFd) {
    let (broker, ours) = seqpacket::pair().unwrap();
    (Objects::new(SESSION, &[], Arc::new(ours), totals.clone()), broker)
}

/// Allocates an object as a worker does. Returns false if it may not allocate the object.
pub fn allocate(objects: &mut Objects, object: DriverObject) -> bool {
    let DriverObject { client, parent, class, detail, .. } = object;
    let detail = super::detail(class, &[]).map(|_| detail);
    let permit = objects.permit(client, parent, class, detail);
    permit.map(|permit| objects.add(object, detail.is_some(), permit)).is_some()
}

/// Drops the objects, which closes the supervisor's end of the socket, and returns all messages
/// that the broker has received.
pub fn reports(objects: Objects, broker: &OwnedFd) -> Vec<FromSupervisor> {
    drop(objects);
    let next = || Some(seqpacket::receive(broker).unwrap()?.0);
    std::iter::from_fn(next).collect()
}

fn object(client: u32, parent: u32, handle: u32, class: u32) -> DriverObject {
    DriverObject { client, parent, handle, class, detail: 0 }
}

/// Returns the objects of two clients. Each client has a device with a channel group, a channel in
/// that group, and a second group.
fn two_clients() -> (Objects, OwnedFd) {
    let (mut objects, broker) = objects();
    for client in [100, 200] {
        allocate(&mut objects, object(client, client, 1, DEVICE));
        allocate(&mut objects, object(client, 1, 2, CHANNEL_GROUP));
        allocate(&mut objects, object(client, 2, 3, 0xc86f));
        allocate(&mut objects, object(client, 1, 4, CHANNEL_GROUP));
    }
    (objects, broker)
}

fn left(objects: &Objects) -> Vec<(u32, u32)> {
    objects.all.keys().copied().collect()
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
    let mut objects = Objects::new(SESSION, &before, Arc::new(ours), Arc::default());
    objects.remove(100, 1);
    assert_eq!(reports(objects, &broker).len(), 2);
}

#[test]
fn objects_of_devices_that_are_not_known_are_freed_with_them() {
    let (mut objects, broker) = objects();
    allocate(&mut objects, object(100, 9, 10, CHANNEL_GROUP));
    objects.remove(100, 8);
    objects.remove(200, 9);
    assert_eq!(left(&objects), [(100, 10)]);
    objects.remove(100, 9);
    assert_eq!(reports(objects, &broker).len(), 2);
}

#[test]
fn handles_in_a_circle_do_no_harm() {
    let (mut objects, broker) = objects();
    // A handle that is reused can get another parent.
    allocate(&mut objects, object(100, 2, 1, DEVICE));
    allocate(&mut objects, object(100, 1, 2, DEVICE));
    allocate(&mut objects, object(100, 3, 3, DEVICE));
    objects.remove(100, 3);
    assert_eq!(left(&objects), [(100, 1), (100, 2)]);
    objects.remove(100, 1);
    assert_eq!(left(&objects), []);
    assert_eq!(reports(objects, &broker).len(), 6);
}

/// Returns an empty set of objects, whose reports a thread reads and drops.
fn read(totals: &Arc<Totals>) -> Objects {
    let (objects, broker) = of_vm(totals);
    std::thread::spawn(
        move || {
            while seqpacket::receive::<FromSupervisor>(&broker).unwrap().is_some() {}
        },
    );
    objects
}

/// Returns the objects of a worker that has the maximum number of reported objects, so that it
/// can't allocate another device, channel group, or channel.
pub fn full(totals: &Arc<Totals>) -> Objects {
    let mut objects = read(totals);
    for handle in 0..MOST as u32 {
        assert!(allocate(&mut objects, object(100, 100, handle, DEVICE)));
    }
    objects
}

#[test]
fn their_number_is_limited() {
    let totals = Arc::default();
    let mut objects = full(&totals);
    assert!(!allocate(&mut objects, object(100, 100, 5000, DEVICE)));
    // Memory isn't reported to the broker, so this limit doesn't apply to it.
    assert!(allocate(&mut objects, object(100, 100, 5000, 0x40)));
    objects.remove(100, 5);
    assert!(allocate(&mut objects, object(100, 100, 5, DEVICE)));
    drop(objects);
    assert!(are_empty(&totals));
}

/// The workers of a VM together can't have more channels than a single worker.
#[test]
fn the_channels_of_a_vm_are_limited() {
    let totals = Arc::default();
    let (mut workers, mut channels) = (Vec::new(), 0);
    for _ in 0..8 {
        let mut objects = read(&totals);
        let gpu = DriverObject { detail: 3, ..object(100, 100, 1, DEVICE) };
        assert!(allocate(&mut objects, gpu));
        assert!(allocate(&mut objects, object(100, 1, 2, CHANNEL_GROUP)));
        let another =
            |handle: &u32| allocate(&mut objects, object(100, 2 - handle % 2, 10 + handle, 0xc86f));
        channels += (0..300).filter(another).count();
        workers.push(objects);
    }
    assert_eq!(channels, 1024);
    // The limit is per GPU, so the VM can still create channels on another GPU.
    let gpu = DriverObject { detail: 4, ..object(200, 200, 1, DEVICE) };
    let last = &mut workers[7];
    assert!(allocate(last, gpu) && allocate(last, object(200, 1, 2, 0xc86f)));
    // Memory is counted, too. The objects of a worker that has exited are no longer counted.
    assert!(allocate(last, object(200, 1, 3, 0x40)));
    let mut next = read(&totals);
    let gpu = DriverObject { detail: 3, ..object(100, 100, 1, DEVICE) };
    let channel = object(100, 1, 2, 0xc86f);
    assert!(allocate(&mut next, gpu) && !allocate(&mut next, channel));
    drop(workers);
    assert!(allocate(&mut next, channel));
    next.remove(100, 100);
    assert!(are_empty(&totals));
}

#[test]
fn channels_from_before_the_session_count() {
    let (broker, ours) = seqpacket::pair().unwrap();
    let totals = Arc::default();
    let before = [object(100, 2, 3, 0xc86f), object(100, 1, 2, CHANNEL_GROUP)];
    let before = [&before[..], &[object(100, 100, 1, DEVICE)]].concat();
    let objects = Objects::new(SESSION, &before, Arc::new(ours), Arc::clone(&totals));
    let engines = Engines { gpu: Some(0), compute: true };
    assert_eq!(totals.number(SESSION.vm, Kind::Channel(engines)), 1);
    drop((objects, broker));
    assert!(are_empty(&totals));
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
