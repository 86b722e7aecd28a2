//! The descriptors that the event loop watches.

use std::collections::HashMap;
use std::os::fd::RawFd;

use event_manager::{EventOps, EventSet, Events};

use host_ipc::messages::WorkerId;
use memory_ledger::VmId;

/// The owner of a watched descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Signals,
    Timer,
    Control,
    Nvml,
    Scheduler,
    DeviceSocket(VmId),
    DevicePid(VmId),
    WorkerSocket(WorkerId),
    WorkerPid(WorkerId),
}

/// The watched descriptors and their owners.
#[derive(Default)]
pub(crate) struct Watches(HashMap<RawFd, Source>);

impl Watches {
    /// Watches a descriptor. The event loop is called whenever it is readable.
    pub(crate) fn add(&mut self, ops: &mut EventOps, fd: RawFd, source: Source) {
        match ops.add(Events::new_raw(fd, EventSet::IN)) {
            Ok(()) => drop(self.0.insert(fd, source)),
            Err(error) => tracing::error!("cannot watch {source:?}: {error}"),
        }
    }

    /// Stops watching a descriptor. It must still be open.
    pub(crate) fn remove(&mut self, ops: &mut EventOps, fd: RawFd) {
        if self.0.remove(&fd).is_some()
            && let Err(error) = ops.remove(Events::empty_raw(fd))
        {
            tracing::error!("cannot stop watching a descriptor: {error}");
        }
    }

    /// The owner of a descriptor, if it is still watched.
    pub(crate) fn source(&self, fd: RawFd) -> Option<Source> {
        self.0.get(&fd).copied()
    }
}
