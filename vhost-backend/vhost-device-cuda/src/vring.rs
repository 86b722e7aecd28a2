//! A virtqueue of vhost-user-backend that reports when it's started or stopped. The library has a
//! hook for GET_VRING_BASE, with which QEMU stops a queue. It has none for SET_VRING_ENABLE, with
//! which cloud-hypervisor stops one.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use vhost_user_backend::{VringRwLock, VringStateGuard, VringStateMutGuard, VringT};
use virtio_queue::{Error, QueueT};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use host_ipc::eventfd::notify;

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Inner = VringRwLock<Memory>;

/// A handle of a virtqueue. All clones refer to the same queue.
#[derive(Clone)]
pub(super) struct Vring {
    inner: Inner,
    /// The eventfd that the queue notifies when it may have been started or stopped.
    changed: Arc<OnceLock<Arc<OwnedFd>>>,
}

impl Vring {
    /// Makes the queue notify an eventfd whenever it may have been started or stopped.
    pub(super) fn report_to(&self, event: &Arc<OwnedFd>) {
        let _ = self.changed.set(event.clone());
    }

    /// Returns true if the queue has been started and is enabled.
    pub(super) fn runs(&self) -> bool {
        let ring = self.inner.get_ref();
        ring.get_queue().ready() && ring.is_enabled()
    }

    fn report(&self) {
        if let Some(event) = self.changed.get() {
            notify(&**event);
        }
    }
}

impl<'a> VringStateGuard<'a, Memory> for Vring {
    type G = <Inner as VringStateGuard<'a, Memory>>::G;
}

impl<'a> VringStateMutGuard<'a, Memory> for Vring {
    type G = <Inner as VringStateMutGuard<'a, Memory>>::G;
}

impl VringT<Memory> for Vring {
    fn new(memory: Memory, max_queue_size: u16) -> Result<Self, Error> {
        Ok(Self { inner: Inner::new(memory, max_queue_size)?, changed: Arc::default() })
    }

    fn get_ref(&self) -> <Self as VringStateGuard<'_, Memory>>::G {
        self.inner.get_ref()
    }

    fn get_mut(&self) -> <Self as VringStateMutGuard<'_, Memory>>::G {
        self.inner.get_mut()
    }

    fn add_used(&self, desc_index: u16, len: u32) -> Result<(), Error> {
        self.inner.add_used(desc_index, len)
    }

    fn signal_used_queue(&self) -> io::Result<()> {
        self.inner.signal_used_queue()
    }

    fn enable_notification(&self) -> Result<bool, Error> {
        self.inner.enable_notification()
    }

    fn disable_notification(&self) -> Result<(), Error> {
        self.inner.disable_notification()
    }

    fn needs_notification(&self) -> Result<bool, Error> {
        self.inner.needs_notification()
    }

    fn set_enabled(&self, enabled: bool) {
        self.inner.set_enabled(enabled);
        self.report();
    }

    fn set_queue_info(
        &self,
        desc_table: u64,
        avail_ring: u64,
        used_ring: u64,
    ) -> Result<(), Error> {
        self.inner.set_queue_info(desc_table, avail_ring, used_ring)
    }

    fn queue_next_avail(&self) -> u16 {
        self.inner.queue_next_avail()
    }

    fn set_queue_next_avail(&self, base: u16) {
        self.inner.set_queue_next_avail(base);
    }

    fn set_queue_next_used(&self, index: u16) {
        self.inner.set_queue_next_used(index);
    }

    fn queue_used_idx(&self) -> Result<u16, Error> {
        self.inner.queue_used_idx()
    }

    fn set_queue_size(&self, size: u16) {
        self.inner.set_queue_size(size);
    }

    fn set_queue_event_idx(&self, enabled: bool) {
        self.inner.set_queue_event_idx(enabled);
    }

    fn set_queue_ready(&self, ready: bool) {
        self.inner.set_queue_ready(ready);
        self.report();
    }

    fn set_kick(&self, file: Option<File>) {
        self.inner.set_kick(file);
    }

    fn read_kick(&self) -> io::Result<bool> {
        self.inner.read_kick()
    }

    fn set_call(&self, file: Option<File>) {
        self.inner.set_call(file);
    }

    fn set_err(&self, file: Option<File>) {
        self.inner.set_err(file);
    }
}
