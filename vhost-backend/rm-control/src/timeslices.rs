//! The time slices of this process's kernels.
//!
//! While the kernels of several processes are on a GPU, the driver lets them run in turn. The time
//! slice of a process's channel group says for how long. Only that process can change it.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;

use super::client::{self, RmError};
use super::objects::Objects;
use super::wire;

/// A channel group with kernels of this process.
#[derive(Clone, Debug)]
pub struct Group {
    /// The driver's number of the GPU.
    pub gpu_number: u32,
    client: u32,
    handle: u32,
    slice: Slice,
}

impl Group {
    /// Sets the group's time slice, or the one that the driver library has set if that's shorter. If
    /// the group no longer exists, this fails.
    pub fn limit_timeslice(&self, microseconds: u64) -> Result<(), RmError> {
        let mut parameters = wire::timeslice(microseconds.min(self.slice.microseconds));
        let (operation, command) = ("SET_TIMESLICE", wire::SET_TIMESLICE);
        let file = &self.slice.file;
        // SAFETY: the parameters have the command's size, and contain no pointers.
        unsafe {
            client::control(file, operation, self.client, self.handle, command, &mut parameters)
        }
    }
}

/// The time slices that the driver library has set in this process, by client and channel group.
#[derive(Debug)]
pub(super) struct Timeslices(BTreeMap<(u32, u32), Slice>);

#[derive(Clone, Debug)]
struct Slice {
    /// The client's file. The driver takes the client's operations from no other.
    file: Arc<OwnedFd>,
    microseconds: u64,
}

impl Timeslices {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds the time slice of a channel group, which was set through this descriptor.
    pub(super) fn add(&mut self, fd: c_int, client: u32, group: u32, microseconds: u64) {
        // The driver library may close its own descriptor.
        // SAFETY: the call takes only integers.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if copy >= 0 {
            // SAFETY: nothing else owns the new descriptor.
            let file = Arc::new(unsafe { OwnedFd::from_raw_fd(copy) });
            self.0.insert((client, group), Slice { file, microseconds });
        }
    }

    /// Returns the channel groups among these objects in which kernels run.
    pub(super) fn groups(&self, objects: &Objects) -> Vec<Group> {
        let groups = self.0.iter().filter_map(|(&(client, handle), slice)| {
            let gpu_number = objects.gpu_of_compute_group(client, handle)?;
            Some(Group { gpu_number, client, handle, slice: slice.clone() })
        });
        groups.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::messages::DriverObject;
    use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE};
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn groups_in_which_kernels_run_are_listed_with_their_gpu() {
        const CLIENT: u32 = 0xc1d0_014b;
        let mut objects = Objects::new();
        for (parent, handle, class, detail) in
            [(CLIENT, 1, DEVICE, 3), (1, 2, CHANNEL_GROUP, 1), (1, 3, CHANNEL_GROUP, 11)]
        {
            let object = DriverObject { client: CLIENT, parent, handle, class, detail };
            objects.add(object).unwrap();
        }
        let file = File::open("/dev/null").unwrap();
        let mut slices = Timeslices::new();
        for (client, group) in [(CLIENT, 2), (CLIENT, 3), (CLIENT, 4), (7, 2)] {
            slices.add(file.as_raw_fd(), client, group, 2048);
        }
        drop(file);
        let groups = slices.groups(&objects);
        let found: Vec<_> = groups.iter().map(|group| (group.gpu_number, group.handle)).collect();
        assert_eq!(found, [(3, 2)]);
        let error = groups[0].limit_timeslice(100).unwrap_err();
        assert!(matches!(error, RmError::Ioctl { operation: "SET_TIMESLICE", .. }), "{error}");
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_left_out() {
        let mut slices = Timeslices::new();
        slices.add(-1, 1, 2, 2048);
        assert!(slices.0.is_empty());
    }
}
