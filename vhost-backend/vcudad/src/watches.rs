//! The table of descriptors that the event loop watches.

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
    Saver,
    Rereader,
    Nvml,
    Scheduler,
    Spawner,
    Supervisor,
    DeviceSocket(VmId),
    WorkerSocket(WorkerId),
}

/// The watched descriptors and their owners.
#[derive(Default)]
pub(crate) struct Watches(HashMap<RawFd, Source>);

impl Watches {
    /// Starts watching a descriptor, unless it's being watched. Whenever it is readable, the event
    /// loop calls the coordinator.
    pub(crate) fn add(&mut self, ops: &mut EventOps, fd: RawFd, source: Source) {
        if self.0.contains_key(&fd) {
            return;
        }
        match ops.add(Events::new_raw(fd, EventSet::IN)) {
            Ok(()) => drop(self.0.insert(fd, source)),
            Err(error) => tracing::error!("cannot watch {source:?}: {error}"),
        }
    }

    /// Stops watching a descriptor. The descriptor must still be open.
    pub(crate) fn remove(&mut self, ops: &mut EventOps, fd: RawFd) {
        if self.0.remove(&fd).is_some()
            && let Err(error) = ops.remove(Events::empty_raw(fd))
        {
            tracing::error!("cannot stop watching a descriptor: {error}");
        }
    }

    /// Returns the owner of a descriptor, if the descriptor is being watched.
    pub(crate) fn source(&self, fd: RawFd) -> Option<Source> {
        self.0.get(&fd).copied()
    }
}
