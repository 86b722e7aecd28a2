//! The slots of a VM's workers on the VM's spending page.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use host_ipc::messages::WorkerId;
use host_ipc::spending::{MAX_SLOTS, SpendingMap};

/// A VM's spending page, and the worker that has each slot. In its slot, a worker publishes how
/// much of its credit it has spent. The broker doesn't read the page, because all workers of the VM
/// can write to all of it.
pub(crate) struct Slots {
    file: OwnedFd,
    page: SpendingMap,
    /// The workers by their slots.
    workers: BTreeMap<u32, WorkerId>,
    /// The number of slots that have ever been used. These are the first slots of the page.
    used: u32,
}

impl Slots {
    /// Creates a page without slots.
    pub(crate) fn new() -> io::Result<Self> {
        Self::with(SpendingMap::create()?)
    }

    /// Takes over a page of the broker that this one replaces.
    pub(crate) fn with(file: OwnedFd) -> io::Result<Self> {
        let page = SpendingMap::map(&file)?;
        Ok(Self { file, page, workers: BTreeMap::new(), used: 0 })
    }

    /// Returns the page's file.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Gives a worker the first free slot. Returns `None` if there is none.
    pub(crate) fn give(&mut self, worker: WorkerId) -> Option<u32> {
        let slot = (0..MAX_SLOTS as u32).find(|slot| !self.workers.contains_key(slot))?;
        // Clear the slot, because any worker of the VM may have written to it.
        self.page.clear(slot);
        self.restore(worker, slot);
        Some(slot)
    }

    /// Records that a worker has a slot.
    pub(crate) fn restore(&mut self, worker: WorkerId, slot: u32) {
        self.workers.insert(slot, worker);
        self.used = self.used.max(slot.saturating_add(1));
    }

    /// Takes back the slot of a worker whose process has ended.
    pub(crate) fn take_back(&mut self, worker: WorkerId) {
        for (slot, _) in self.workers.extract_if(.., |_, of| *of == worker) {
            self.page.clear(slot);
        }
    }

    /// Returns whether a worker has a slot.
    pub(crate) fn has(&self, worker: WorkerId) -> bool {
        self.workers.values().any(|of| *of == worker)
    }

    /// Returns the number of slots that have ever been used. These are the first slots of the page.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }
}
