//! The driver's side of a split virtqueue (virtio 1.3, 2.7): its descriptor table and its two
//! rings. The transport without a VM uses it, and so do the tests that act as a guest.

use crate::error::TransportError;
use std::sync::atomic::{AtomicU16, Ordering, fence};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

/// Descriptor flag: the chain continues with the descriptor `next`.
pub const DESC_F_NEXT: u16 = 1;
/// Descriptor flag: the device writes to the buffer instead of reading it.
pub const DESC_F_WRITE: u16 = 2;
const USED_F_NO_NOTIFY: u16 = 1;

/// A descriptor, as defined by virtio.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Guest-physical address of the buffer.
    pub addr: u64,
    /// Length of the buffer in bytes.
    pub len: u32,
    pub flags: u16,
    /// Index of the next descriptor.
    pub next: u16,
}

/// An element of the used ring, as defined by virtio.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// Index of the chain's first descriptor.
    pub head: u32,
    /// The number of bytes that the device wrote.
    pub written: u32,
}

/// The driver's side of a virtqueue, without the buffers.
pub struct DriverQueue {
    base: *mut u8,
    size: u16,
    /// Whether VIRTIO_RING_F_EVENT_IDX was negotiated.
    event_idx: bool,
    available: u16,
    seen: u16,
}

// SAFETY: the queue's memory isn't tied to a thread, and only the queue's owner accesses it in this
// process.
unsafe impl Send for DriverQueue {}

impl DriverQueue {
    /// Returns the number of bytes that the rings and the table of a queue with `size` descriptors
    /// occupy.
    pub const fn bytes(size: u16) -> usize {
        Self::used_at(size) + 6 + 8 * size as usize
    }

    const fn available_at(size: u16) -> usize {
        16 * size as usize
    }

    const fn used_at(size: u16) -> usize {
        (Self::available_at(size) + 6 + 2 * size as usize).next_multiple_of(8)
    }

    /// Creates a queue with `size` descriptors, a power of two.
    ///
    /// # Safety
    /// There must be [`bytes`](Self::bytes) zeroed bytes at `base`, which must be a multiple of 16.
    /// As long as the queue exists, they must stay mapped, and no other thread of this process may
    /// access them.
    pub unsafe fn new(base: *mut u8, size: u16, event_idx: bool) -> Self {
        Self { base, size, event_idx, available: 0, seen: 0 }
    }

    /// Returns the number of descriptors.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Registers the queue with the device and starts it. `at` is the queue's address as the front
    /// end's user address, and `next` is the index of the first chain that the device takes.
    pub fn start(
        &self,
        front_end: &mut Frontend,
        index: usize,
        at: u64,
        next: u16,
        (kick, call): (&EventFd, &EventFd),
    ) -> Result<(), TransportError> {
        let failed = |what| move |source| TransportError::VhostUser { what, source };
        let addresses = VringConfigData {
            queue_max_size: self.size,
            queue_size: self.size,
            flags: 0,
            desc_table_addr: at,
            used_ring_addr: at + Self::used_at(self.size) as u64,
            avail_ring_addr: at + Self::available_at(self.size) as u64,
            log_addr: None,
        };
        front_end.set_vring_num(index, self.size).map_err(failed("SET_VRING_NUM"))?;
        front_end.set_vring_addr(index, &addresses).map_err(failed("SET_VRING_ADDR"))?;
        front_end.set_vring_base(index, next).map_err(failed("SET_VRING_BASE"))?;
        front_end.set_vring_call(index, call).map_err(failed("SET_VRING_CALL"))?;
        front_end.set_vring_kick(index, kick).map_err(failed("SET_VRING_KICK"))?;
        front_end.set_vring_enable(index, true).map_err(failed("SET_VRING_ENABLE"))
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        debug_assert!(offset + size_of::<T>() <= Self::bytes(self.size));
        self.base.wrapping_add(offset).cast()
    }

    fn word(&self, offset: usize) -> &AtomicU16 {
        // SAFETY: callers pass offsets of 16-bit fields, which are even and inside the queue. Both
        // sides access these fields only atomically.
        unsafe { AtomicU16::from_ptr(self.at(offset)) }
    }

    /// Writes a descriptor. The device must not be using the descriptor at this index.
    pub fn describe(&self, index: u16, descriptor: Descriptor) {
        let at = self.at::<Descriptor>(16 * usize::from(index % self.size));
        // SAFETY: the entry is inside the table, to which the device never writes.
        unsafe { at.write_volatile(descriptor) };
    }

    /// Returns a descriptor.
    pub fn descriptor(&self, index: u16) -> Descriptor {
        let at = self.at::<Descriptor>(16 * usize::from(index % self.size));
        // SAFETY: the entry is inside the table, to which the device never writes.
        unsafe { at.read_volatile() }
    }

    /// Makes a chain available to the device. Returns true if the device must be notified.
    pub fn push(&mut self, head: u16) -> bool {
        let (available, used) = (Self::available_at(self.size), Self::used_at(self.size));
        let old = self.available;
        self.word(available + 4 + 2 * usize::from(old % self.size)).store(head, Ordering::Relaxed);
        self.available = old.wrapping_add(1);
        self.announce(0);
        // The device writes which notifications it wants, and then checks for chains. The driver
        // makes a chain available, and then reads which notifications the device wants. With a
        // fence in between on both sides, at least one side sees the other's write.
        fence(Ordering::SeqCst);
        match self.event_idx {
            true => {
                let event = self.word(used + 4 + 8 * usize::from(self.size));
                event.load(Ordering::Relaxed) == old
            }
            false => self.word(used).load(Ordering::Relaxed) & USED_F_NO_NOTIFY == 0,
        }
    }

    /// Writes the number of chains that the driver has made available to the avail ring. To
    /// simulate a hostile driver, tests add `beyond` to the correct number.
    pub fn announce(&self, beyond: u16) {
        let index = self.word(Self::available_at(self.size) + 2);
        index.store(self.available.wrapping_add(beyond), Ordering::Release);
    }

    /// Returns the next chain that the device has used.
    pub fn pop(&mut self) -> Option<Used> {
        let used = Self::used_at(self.size);
        if self.word(used + 2).load(Ordering::Acquire) == self.seen {
            return None;
        }
        let element = self.at::<Used>(used + 4 + 8 * usize::from(self.seen % self.size));
        self.seen = self.seen.wrapping_add(1);
        // SAFETY: the element is inside the used ring, and the device wrote it before the index.
        Some(unsafe { element.read_volatile() })
    }
}

/// The device's side of a virtqueue, for tests.
#[cfg(test)]
pub mod device {
    use super::*;

    /// Returns the head of chain number `number`, if the driver has made it available.
    pub fn take(queue: &DriverQueue, number: u16) -> Option<u16> {
        let at = DriverQueue::available_at(queue.size);
        if queue.word(at + 2).load(Ordering::Acquire) == number {
            return None;
        }
        let entry = at + 4 + 2 * usize::from(number % queue.size);
        Some(queue.word(entry).load(Ordering::Relaxed))
    }

    /// Returns chain number `number` to the driver.
    pub fn give(queue: &DriverQueue, number: u16, used: Used) {
        let at = DriverQueue::used_at(queue.size);
        let element = queue.at::<Used>(at + 4 + 8 * usize::from(number % queue.size));
        // SAFETY: the element is inside the used ring.
        unsafe { element.write(used) };
        queue.word(at + 2).store(number.wrapping_add(1), Ordering::Release);
    }

    /// Requests a notification when chain number `number` becomes available (with EVENT_IDX), or no
    /// notifications (`None`).
    pub fn notify(queue: &DriverQueue, number: Option<u16>) {
        let at = DriverQueue::used_at(queue.size);
        queue.word(at).store(u16::from(number.is_none()), Ordering::Relaxed);
        let event = queue.word(at + 4 + 8 * usize::from(queue.size));
        event.store(number.unwrap_or_default(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(16))]
    struct Memory([u8; 256]);

    fn queue(memory: &mut Memory, event_idx: bool) -> DriverQueue {
        assert!(DriverQueue::bytes(8) <= memory.0.len());
        // SAFETY: the memory is large enough, aligned, and zeroed. Tests drop the memory after the
        // queue.
        unsafe { DriverQueue::new(memory.0.as_mut_ptr(), 8, event_idx) }
    }

    #[test]
    fn the_parts_are_where_virtio_puts_them() {
        assert_eq!(DriverQueue::available_at(64), 1024);
        assert_eq!(DriverQueue::used_at(64), 1024 + 6 + 128 + 2);
        assert_eq!(DriverQueue::bytes(64), DriverQueue::used_at(64) + 6 + 512);
    }

    #[test]
    fn chains_return_in_the_devices_order_even_after_the_index_wraps() {
        let mut memory = Memory([0; 256]);
        let mut queue = queue(&mut memory, false);
        for round in (0..70_000u32).step_by(2) {
            let number = round as u16;
            assert!(queue.push(3) && queue.push(5));
            assert_eq!(device::take(&queue, number), Some(3));
            assert_eq!(device::take(&queue, number.wrapping_add(1)), Some(5));
            assert_eq!(device::take(&queue, number.wrapping_add(2)), None);
            assert_eq!(queue.pop(), None);
            for (number, head) in [(number, 5), (number.wrapping_add(1), 3)] {
                let used = Used { head, written: round };
                device::give(&queue, number, used);
                assert_eq!(queue.pop(), Some(used));
            }
        }
    }

    #[test]
    fn the_device_chooses_which_notifications_it_gets() {
        let (mut first, mut second) = (Memory([0; 256]), Memory([0; 256]));
        let (mut flags, mut events) = (queue(&mut first, false), queue(&mut second, true));
        device::notify(&flags, None);
        assert!(!flags.push(0));
        device::notify(&flags, Some(1));
        assert!(flags.push(0));
        // The event index is initially 0, so the first chain causes a notification.
        let notified: Vec<_> = (0..4)
            .map(|number| {
                if number == 1 {
                    device::notify(&events, Some(2));
                }
                events.push(0)
            })
            .collect();
        assert_eq!(notified, [true, false, true, false]);
    }

    #[test]
    fn an_index_out_of_range_stays_inside_the_table() {
        let mut memory = Memory([0; 256]);
        let queue = queue(&mut memory, false);
        queue.describe(8 * 1000 + 7, Descriptor { addr: 1, len: 2, flags: 3, next: 4 });
        assert_eq!(queue.descriptor(7).next, 4);
    }
}
