//! The time slices of this process's kernels.
//!
//! While the kernels of several processes are on a GPU, the driver lets them run in turn. The time
//! slice of a process's channel group determines for how long its kernels run at a time. It can be
//! changed only through the file of the client to which the group belongs.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;

use super::client;
use super::objects::Objects;
use super::wire;

/// The time slices of this process's channel groups, and the limits for them.
#[derive(Debug)]
pub(super) struct Timeslices {
    /// The groups in which kernels run, by client and handle.
    groups: BTreeMap<(u32, u32), Group>,
    /// Limits in microseconds, by the driver's number of the GPU.
    limits: BTreeMap<u32, u64>,
}

#[derive(Debug)]
struct Group {
    /// The file of the client to which the group belongs.
    file: Arc<OwnedFd>,
    /// The driver's number of the GPU.
    gpu_number: u32,
    /// The time slice that the driver library has set, in microseconds.
    usual: u64,
    /// The time slice that the group has now.
    current: u64,
    /// Whether the group counts when [`Timeslices::changes`] checks whether several groups on a GPU
    /// may run kernels at the same time.
    counts: bool,
}

/// A change of a channel group's time slice.
#[derive(Debug)]
#[must_use]
pub(super) struct Change {
    file: Arc<OwnedFd>,
    client: u32,
    group: u32,
    microseconds: u64,
}

impl Timeslices {
    pub(super) const fn new() -> Self {
        Self { groups: BTreeMap::new(), limits: BTreeMap::new() }
    }

    /// Records the time slice that the driver library has set for a client's channel group. The
    /// library used the descriptor `fd` for this. Ignores groups in which no kernels run.
    pub(super) fn add(
        &mut self,
        objects: &Objects,
        fd: c_int,
        (client, handle): (u32, u32),
        microseconds: u64,
    ) {
        let Some(gpu_number) = objects.gpu_of_compute_group(client, handle) else { return };
        let of_client = self.groups.range((client, 0)..=(client, u32::MAX)).next();
        let file = of_client.map(|(_, group)| group.file.clone()).or_else(|| duplicate(fd));
        let Some(file) = file else { return };
        let counts = self.groups.get(&(client, handle)).is_none_or(|group| group.counts);
        let (usual, current) = (microseconds, microseconds);
        self.groups.insert((client, handle), Group { file, gpu_number, usual, current, counts });
    }

    /// Removes the groups that no longer exist. Keeps no files of clients without groups.
    pub(super) fn remove_freed(&mut self, objects: &Objects) {
        self.groups.retain(|&(client, handle), group| {
            objects.gpu_of_compute_group(client, handle) == Some(group.gpu_number)
        });
    }

    /// Stops counting the present groups. They were created before the session, and a program that
    /// creates contexts of its own leaves them idle.
    pub(super) fn disregard(&mut self) {
        self.groups.values_mut().for_each(|group| group.counts = false);
    }

    /// Limits the time slices of kernels on a GPU. With `None`, restores the time slices that the
    /// driver library has set.
    pub(super) fn limit(&mut self, gpu_number: u32, limit: Option<u64>) {
        match limit {
            Some(limit) => self.limits.insert(gpu_number, limit),
            None => self.limits.remove(&gpu_number),
        };
    }

    /// Returns the changes that the groups' time slices now need. A limit doesn't apply while more
    /// than one group on the GPU counts ([`Group::counts`]), because these groups would often
    /// interrupt one another.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut count = BTreeMap::<u32, usize>::new();
        for group in self.groups.values() {
            *count.entry(group.gpu_number).or_default() += usize::from(group.counts);
        }
        let changes = self.groups.iter().filter_map(|(&(client, handle), group)| {
            let limit = self.limits.get(&group.gpu_number);
            let limit = limit.filter(|_| count[&group.gpu_number] <= 1);
            let microseconds = limit.map_or(group.usual, |limit| group.usual.min(*limit));
            let change =
                || Change { file: group.file.clone(), client, group: handle, microseconds };
            (group.current != microseconds).then(change)
        });
        changes.collect()
    }

    /// Records the group's new time slice after a change has been made.
    pub(super) fn note(&mut self, change: &Change) {
        if let Some(group) = self.groups.get_mut(&(change.client, change.group)) {
            group.current = change.microseconds;
        }
    }

    /// Returns the number of groups.
    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }
}

impl Change {
    /// Makes the change. If that fails, returns false, and the kernels keep the time slice that
    /// they have.
    pub(super) fn make(&self) -> bool {
        let mut parameters = wire::timeslice(self.microseconds);
        let (operation, command) = ("SET_TIMESLICE", wire::SET_TIMESLICE);
        // SAFETY: the parameters have the command's size, and contain no pointers.
        let result = unsafe {
            client::control(
                &self.file,
                operation,
                self.client,
                self.group,
                command,
                &mut parameters,
            )
        };
        match &result {
            Ok(()) => tracing::trace!(group = self.group, us = self.microseconds, "time slice"),
            Err(error) => tracing::debug!("cannot change the time slice of kernels: {error}"),
        }
        result.is_ok()
    }
}

/// Duplicates a descriptor, because the driver library may close its descriptor.
fn duplicate(fd: c_int) -> Option<Arc<OwnedFd>> {
    // SAFETY: the call takes only integers.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    // SAFETY: nothing else owns the new descriptor.
    (copy >= 0).then(|| Arc::new(unsafe { OwnedFd::from_raw_fd(copy) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::messages::DriverObject;
    use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE};
    use std::fs::File;
    use std::os::fd::AsRawFd;

    const CLIENT: u32 = 0xc1d0_014b;

    /// Returns the objects of two GPUs, with the numbers 0 and 3. Each GPU has a group with the
    /// handle `0x10 * number + 2`, in which kernels run, and one with the next handle, in which no
    /// kernels run.
    fn two_gpus() -> Objects {
        let mut objects = Objects::new();
        for number in [0, 3] {
            let device = 0x10 * number + 1;
            for (parent, handle, class, detail) in [
                (CLIENT, device, DEVICE, number),
                (device, device + 1, CHANNEL_GROUP, 1),
                (device, device + 2, CHANNEL_GROUP, 11),
            ] {
                let object = DriverObject { client: CLIENT, parent, handle, class, detail };
                objects.add(object).unwrap();
            }
        }
        objects
    }

    /// Returns the time slices of all groups, which the driver library has set to 2048 us.
    fn slices(objects: &Objects) -> Timeslices {
        let file = File::open("/dev/null").unwrap();
        let mut slices = Timeslices::new();
        for group in [(CLIENT, 2), (CLIENT, 3), (CLIENT, 0x32), (CLIENT, 4), (7, 2)] {
            slices.add(objects, file.as_raw_fd(), group, 2048);
        }
        assert_eq!(slices.count(), 2);
        slices
    }

    /// Returns the necessary changes, and records them as made.
    fn changes(slices: &mut Timeslices) -> Vec<(u32, u64)> {
        let changes = slices.changes();
        changes.iter().for_each(|change| slices.note(change));
        changes.iter().map(|change| (change.group, change.microseconds)).collect()
    }

    /// Adds another group for kernels on GPU 3.
    fn add_group(objects: &mut Objects, slices: &mut Timeslices, handle: u32) {
        let (parent, class) = (0x31, CHANNEL_GROUP);
        let group = DriverObject { client: CLIENT, parent, handle, class, detail: 1 };
        objects.add(group).unwrap();
        // -1 isn't a valid descriptor. That's no problem, because the client's first group already
        // has the client's file.
        slices.add(objects, -1, (CLIENT, handle), 2048);
    }

    #[test]
    fn a_limit_applies_to_the_groups_in_which_kernels_run_on_that_gpu() {
        let mut slices = slices(&two_gpus());
        for (gpu_number, limit, expected) in [
            (3, Some(100), vec![(0x32, 100)]),
            (3, Some(100), vec![]),
            (0, Some(5000), vec![]),
            (5, Some(100), vec![]),
            (3, None, vec![(0x32, 2048)]),
        ] {
            slices.limit(gpu_number, limit);
            assert_eq!(changes(&mut slices), expected);
        }
    }

    #[test]
    fn a_limit_also_applies_to_a_group_that_is_created_later() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        slices.limit(3, Some(100));
        objects.free(CLIENT, 0x32);
        slices.remove_freed(&objects);
        assert_eq!(changes(&mut slices), []);
        add_group(&mut objects, &mut slices, 0x40);
        assert_eq!(changes(&mut slices), [(0x40, 100)]);
        // The driver library sets the group's time slice again.
        slices.add(&objects, -1, (CLIENT, 0x40), 2000);
        assert_eq!(changes(&mut slices), [(0x40, 100)]);
        slices.limit(3, None);
        assert_eq!(changes(&mut slices), [(0x40, 2000)]);
    }

    #[test]
    fn several_groups_on_a_gpu_are_not_limited() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        slices.limit(0, Some(100));
        slices.limit(3, Some(100));
        assert_eq!(changes(&mut slices), [(2, 100), (0x32, 100)]);
        add_group(&mut objects, &mut slices, 0x40);
        assert_eq!(changes(&mut slices), [(0x32, 2048)]);
        objects.free(CLIENT, 0x32);
        slices.remove_freed(&objects);
        assert_eq!(changes(&mut slices), [(0x40, 100)]);
    }

    #[test]
    fn an_idle_group_from_before_the_session_does_not_count() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        slices.disregard();
        slices.limit(3, Some(100));
        add_group(&mut objects, &mut slices, 0x40);
        assert_eq!(changes(&mut slices), [(0x32, 100), (0x40, 100)]);
        add_group(&mut objects, &mut slices, 0x41);
        assert_eq!(changes(&mut slices), [(0x32, 2048), (0x40, 2048)]);
    }

    #[test]
    fn a_change_that_fails_is_tried_again() {
        let mut slices = slices(&two_gpus());
        slices.limit(3, Some(100));
        for _ in 0..2 {
            let changes = slices.changes();
            // Making the change fails, because the file isn't one of the driver's.
            assert!(changes.len() == 1 && !changes[0].make());
        }
    }

    #[test]
    fn groups_that_have_been_freed_are_forgotten_with_their_files() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        let file = Arc::downgrade(&slices.groups[&(CLIENT, 2)].file);
        objects.free(CLIENT, 1);
        slices.remove_freed(&objects);
        assert_eq!((slices.count(), file.strong_count()), (1, 1));
        objects.free(CLIENT, CLIENT);
        slices.remove_freed(&objects);
        assert_eq!((slices.count(), file.strong_count()), (0, 0));
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_left_out() {
        let mut slices = Timeslices::new();
        slices.add(&two_gpus(), -1, (CLIENT, 2), 2048);
        assert_eq!(slices.count(), 0);
    }
}
