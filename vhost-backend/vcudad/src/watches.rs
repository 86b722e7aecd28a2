//! The descriptors that the event loop watches.

use std::collections::HashMap;
use std::os::fd::RawFd;

use event_manager::{EventOps, EventSet, Events};

use host_ipc::messages::WorkerId;
use memory_ledger::VmId;

/// What a watched descriptor belongs to.
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

/// The watched descriptors and what each belongs to.
#[derive(Default)]
pub(crate) struct Watches(HashMap<RawFd, Source>);

impl Watches {
    /// Watches a descriptor until it becomes readable, again and again.
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

    /// What a descriptor belongs to, if it is still watched.
    pub(crate) fn source(&self, fd: RawFd) -> Option<Source> {
        self.0.get(&fd).copied()
    }
}
