//! Copies of the broker's descriptors, which the spawner keeps for a broker that takes over after
//! the current one.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use host_ipc::apart;
use host_ipc::spawner::Kept;

/// The descriptors that are kept for one process.
#[derive(Default)]
pub(crate) struct KeptFds(BTreeMap<Kept, Vec<OwnedFd>>);

impl KeptFds {
    /// Keeps a set of descriptors, and closes the set's earlier descriptors. A set with a wrong
    /// number of descriptors isn't kept.
    pub(crate) fn keep(&mut self, what: Kept, fds: Vec<OwnedFd>) {
        match fds.len() == what.count() {
            true => apart::close(self.0.insert(what, fds).into_iter().flatten()),
            false => apart::close(fds),
        }
    }

    /// Closes a set of descriptors.
    pub(crate) fn close(&mut self, what: Kept) {
        apart::close(self.0.remove(&what).into_iter().flatten());
    }

    /// Returns a set of descriptors, if it's kept.
    pub(crate) fn get(&self, what: Kept) -> Option<&[OwnedFd]> {
        self.0.get(&what).map(Vec::as_slice)
    }

    /// Returns the sets that are kept, and the descriptors of all of them in the same order.
    pub(crate) fn all(&self) -> (Vec<Kept>, Vec<BorrowedFd<'_>>) {
        let fds = self.0.values().flatten().map(OwnedFd::as_fd);
        (self.0.keys().copied().collect(), fds.collect())
    }
}

impl Drop for KeptFds {
    /// Closes the descriptors on another thread: closing sockets to untrusted processes may block.
    fn drop(&mut self) {
        apart::close(std::mem::take(&mut self.0).into_values().flatten());
    }
}
