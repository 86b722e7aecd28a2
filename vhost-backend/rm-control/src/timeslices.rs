//! The time slices of this process's kernels.
//!
//! While the kernels of several processes are on a GPU, the driver lets them run in turn. The time
//! slice of a process's channel group says for how long. Only that process can change it.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;

use super::client;
use super::objects::Objects;
use super::wire;

/// The time slices of this process's channel groups, and the limits for them. No I/O.
#[derive(Debug)]
pub(super) struct Timeslices {
    /// What the driver library has set, by client and channel group.
    slices: BTreeMap<(u32, u32), Slice>,
    /// In microseconds, by the driver's number of the GPU.
    limits: BTreeMap<u32, u64>,
}

#[derive(Debug)]
struct Slice {
    /// The client's file. The driver takes the client's operations from no other.
    file: Arc<OwnedFd>,
    microseconds: u64,
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
        Self { slices: BTreeMap::new(), limits: BTreeMap::new() }
    }

    /// Adds the time slice that a channel group of a client has been given through this descriptor.
    /// Returns the change that is necessary because the GPU has a limit. Ignores groups in which no
    /// kernels run.
    pub(super) fn add(
        &mut self,
        objects: &Objects,
        fd: c_int,
        (client, group): (u32, u32),
        microseconds: u64,
    ) -> Option<Change> {
        let gpu_number = objects.gpu_of_compute_group(client, group)?;
        let of_client = self.slices.range((client, 0)..=(client, u32::MAX)).next();
        let file = of_client.map(|(_, slice)| slice.file.clone()).or_else(|| duplicate(fd))?;
        let slice = Slice { file, microseconds };
        let limit = self.limits.get(&gpu_number);
        let change = limit.map(|limit| slice.change(client, group, *limit));
        self.slices.insert((client, group), slice);
        change
    }

    /// Removes the groups that no longer exist. Keeps no files of clients without groups.
    pub(super) fn remove_freed(&mut self, objects: &Objects) {
        let exists = |client, group| objects.gpu_of_compute_group(client, group).is_some();
        self.slices.retain(|&(client, group), _| exists(client, group));
    }

    /// Limits the time slices of kernels on a GPU, or with `None` gives them those that the driver
    /// library has set. Returns the changes that are necessary.
    pub(super) fn limit(
        &mut self,
        objects: &Objects,
        gpu_number: u32,
        limit: Option<u64>,
    ) -> Vec<Change> {
        match limit {
            Some(limit) => self.limits.insert(gpu_number, limit),
            None => self.limits.remove(&gpu_number),
        };
        let on_gpu = self.slices.iter().filter(|&(&(client, group), _)| {
            objects.gpu_of_compute_group(client, group) == Some(gpu_number)
        });
        let limit = limit.unwrap_or(u64::MAX);
        on_gpu.map(|(&(client, group), slice)| slice.change(client, group, limit)).collect()
    }

    /// Returns the number of channel groups in which kernels run.
    pub(super) fn count(&self) -> usize {
        self.slices.len()
    }
}

impl Slice {
    fn change(&self, client: u32, group: u32, limit: u64) -> Change {
        let microseconds = self.microseconds.min(limit);
        Change { file: self.file.clone(), client, group, microseconds }
    }
}

impl Change {
    /// Makes the change. Where this fails, the kernels keep the time slice that they have.
    pub(super) fn make(self) {
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
        if let Err(error) = result {
            tracing::debug!("cannot change the time slice of kernels: {error}");
        }
    }
}

/// Duplicates a descriptor, because the driver library may close its own.
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

    /// Two GPUs, with the numbers 0 and 3. On each, kernels run in the group `0x10 * number + 2`, and
    /// not in the next one.
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

    /// The slices of all groups, each of 2048 us.
    fn slices(objects: &Objects) -> Timeslices {
        let file = File::open("/dev/null").unwrap();
        let mut slices = Timeslices::new();
        for group in [(CLIENT, 2), (CLIENT, 3), (CLIENT, 0x32), (CLIENT, 4), (7, 2)] {
            assert!(slices.add(objects, file.as_raw_fd(), group, 2048).is_none());
        }
        slices
    }

    fn set(changes: &[Change]) -> Vec<(u32, u64)> {
        changes.iter().map(|change| (change.group, change.microseconds)).collect()
    }

    #[test]
    fn a_limit_applies_to_the_groups_in_which_kernels_run_on_that_gpu() {
        let objects = two_gpus();
        let mut slices = slices(&objects);
        assert_eq!(slices.count(), 2);
        assert_eq!(set(&slices.limit(&objects, 3, Some(100))), [(0x32, 100)]);
        assert_eq!(set(&slices.limit(&objects, 0, Some(5000))), [(2, 2048)]);
        assert_eq!(set(&slices.limit(&objects, 3, None)), [(0x32, 2048)]);
        assert_eq!(set(&slices.limit(&objects, 5, Some(100))), []);
    }

    #[test]
    fn a_limit_also_applies_to_groups_that_are_created_later() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        let _ = slices.limit(&objects, 3, Some(100));
        let group = DriverObject {
            client: CLIENT,
            parent: 0x31,
            handle: 0x40,
            class: CHANNEL_GROUP,
            detail: 1,
        };
        objects.add(group).unwrap();
        // The file of the client's first group serves for all of them.
        let change = slices.add(&objects, -1, (CLIENT, 0x40), 2048).unwrap();
        assert_eq!(set(&[change]), [(0x40, 100)]);
        let _ = slices.limit(&objects, 3, None);
        assert!(slices.add(&objects, -1, (CLIENT, 0x40), 1000).is_none());
        assert_eq!(set(&slices.limit(&objects, 3, None)), [(0x32, 2048), (0x40, 1000)]);
    }

    #[test]
    fn groups_that_have_been_freed_are_forgotten_with_their_files() {
        let mut objects = two_gpus();
        let mut slices = slices(&objects);
        let file = Arc::downgrade(&slices.slices[&(CLIENT, 2)].file);
        objects.free(CLIENT, 1);
        slices.remove_freed(&objects);
        assert_eq!((slices.count(), file.strong_count()), (1, 1));
        objects.free(CLIENT, CLIENT);
        slices.remove_freed(&objects);
        assert_eq!((slices.count(), file.strong_count()), (0, 0));
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_left_out() {
        let objects = two_gpus();
        let mut slices = Timeslices::new();
        assert!(slices.add(&objects, -1, (CLIENT, 2), 2048).is_none());
        assert_eq!(slices.count(), 0);
    }
}
