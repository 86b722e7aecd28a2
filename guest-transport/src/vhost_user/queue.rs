//! A virtqueue with a buffer for each of its descriptors.
//!
//! Descriptors are used in pairs. For the lifetime of the queue, slot `i` owns descriptor `2i`,
//! which the device reads, descriptor `2i + 1`, which the device writes, and a buffer for each of
//! them. A request requires two copies and no allocation, and the device never sees the program's
//! memory.

use super::memory::{GuestMemory, PAGE};
use crate::error::TransportError;
use crate::mapping::Mapping;
use crate::virtqueue::{DESC_F_NEXT, DESC_F_WRITE, Descriptor, DriverQueue};
use vhost::vhost_user::Frontend;
use vmm_sys_util::eventfd::EventFd;

/// The driver's side of a virtqueue. It isn't synchronized, so its owner must lock it.
pub struct SplitQueue {
    ring: DriverQueue,
    memory: Mapping,
    guest_address: u64,
    /// Size of each slot's buffer that the device reads. `writable` is the size of the buffer that
    /// the device writes.
    readable: usize,
    writable: usize,
}

impl SplitQueue {
    /// Creates a queue with `size` descriptors (a power of two) and buffers of the given sizes.
    pub fn new(
        guest: &GuestMemory,
        size: u16,
        readable: usize,
        writable: usize,
    ) -> Result<Self, TransportError> {
        let (readable, writable) = (readable.next_multiple_of(64), writable.next_multiple_of(64));
        let buffers = usize::from(size / 2) * (readable + writable);
        let pages = guest.allocate(Self::buffers_at(size) + buffers)?;
        let memory = Mapping::shared(guest.fd(), pages.offset, pages.len)?;
        let (guest_address, _) = pages.keep();
        // SAFETY: the pages are new, so they're zeroed, and the value owns their mapping. The
        // buffers are behind the queue.
        let ring = unsafe { DriverQueue::new(memory.as_ptr(), size, false) };
        Ok(Self { ring, memory, guest_address, readable, writable })
    }

    /// Returns the maximum number of requests in flight.
    pub fn slots(&self) -> u16 {
        self.ring.size() / 2
    }

    /// Starts the queue. `base` is the user address at which guest memory begins.
    pub fn start(
        &self,
        front_end: &mut Frontend,
        index: u32,
        base: u64,
        kick_and_call: (&EventFd, &EventFd),
    ) -> Result<(), TransportError> {
        let at = base + self.guest_address;
        self.ring.start(front_end, index as usize, at, 0, kick_and_call)
    }

    fn buffers_at(size: u16) -> usize {
        DriverQueue::bytes(size).next_multiple_of(64)
    }

    fn readable_at(&self, slot: u16) -> usize {
        Self::buffers_at(self.ring.size()) + usize::from(slot) * (self.readable + self.writable)
    }

    fn writable_at(&self, slot: u16) -> usize {
        self.readable_at(slot) + self.readable
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.readable_at(self.slots()).next_multiple_of(PAGE));
        self.memory.as_ptr().wrapping_add(offset)
    }

    /// Makes a slot's chain available to the device, which reads `parts` and may write `writable`
    /// bytes. Returns true if the device must be notified. The slot must be free.
    pub fn push(&mut self, slot: u16, parts: &[&[u8]], writable: usize) -> bool {
        let mut filled = 0;
        for part in parts {
            let room = self.readable - filled;
            let part = &part[..part.len().min(room)];
            let to = self.at(self.readable_at(slot) + filled);
            // SAFETY: `part` fits into the space left in the slot's buffer and doesn't overlap it.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            filled += part.len();
        }
        let writable = writable.min(self.writable);
        let (first, second) = (2 * slot, 2 * slot + 1);
        let addr = self.guest_address + self.writable_at(slot) as u64;
        let to_write = Descriptor { addr, len: writable as u32, flags: DESC_F_WRITE, next: 0 };
        self.ring.describe(second, to_write);
        if filled == 0 {
            return self.ring.push(second);
        }
        let flags = if writable > 0 { DESC_F_NEXT } else { 0 };
        let addr = self.guest_address + self.readable_at(slot) as u64;
        self.ring.describe(first, Descriptor { addr, len: filled as u32, flags, next: second });
        self.ring.push(first)
    }

    /// Returns the next slot whose chain the device has used, and the number of bytes that the
    /// device wrote.
    pub fn pop(&mut self) -> Option<(u16, usize)> {
        let used = self.ring.pop()?;
        let slot = (used.head as u16 / 2) % self.slots();
        Some((slot, (used.written as usize).min(self.writable)))
    }

    /// Copies data that the device wrote to a slot's buffer.
    pub fn read(&self, slot: u16, offset: usize, to: &mut [u8]) {
        let len = to.len().min(self.writable.saturating_sub(offset));
        let from = self.at(self.writable_at(slot) + offset);
        // SAFETY: `offset + len` doesn't exceed the size of the slot's buffer.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), len) };
    }

    /// Returns the maximum number of bytes that the device may write to a slot's buffer.
    pub fn writable(&self) -> usize {
        self.writable
    }

    /// Returns the maximum length of a request in bytes.
    pub fn readable(&self) -> usize {
        self.readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtqueue::{Used, device};

    /// Acts as the device: responds to each available chain with the bytes of its request,
    /// reversed.
    fn serve(queue: &SplitQueue, from: &mut u16) {
        while let Some(head) = device::take(&queue.ring, *from) {
            let first = queue.ring.descriptor(head);
            assert_eq!(first.flags, DESC_F_NEXT);
            let second = queue.ring.descriptor(first.next);
            assert_eq!(second.flags, DESC_F_WRITE);
            let local = |addr: u64| queue.at((addr - queue.guest_address) as usize);
            for i in 0..first.len as usize {
                // SAFETY: both buffers are inside the mapping and have at least `first.len` bytes.
                unsafe {
                    let byte = local(first.addr).add(first.len as usize - 1 - i).read();
                    local(second.addr).add(i).write(byte);
                }
            }
            device::give(&queue.ring, *from, Used { head: head.into(), written: first.len });
            *from = from.wrapping_add(1);
        }
    }

    #[test]
    fn chains_return_with_their_responses() {
        let guest = GuestMemory::new(1 << 20).unwrap();
        let mut queue = SplitQueue::new(&guest, 8, 64, 64).unwrap();
        let mut device = 0;
        for round in 0..1000u32 {
            let slot = (round % 4) as u16;
            assert!(queue.push(slot, &[&round.to_le_bytes(), b"!"], 16));
            assert_eq!(queue.pop(), None);
            serve(&queue, &mut device);
            assert_eq!(queue.pop(), Some((slot, 5)));
            let mut answer = [0; 5];
            queue.read(slot, 0, &mut answer);
            answer.reverse();
            assert_eq!(answer[..4], round.to_le_bytes());
        }
    }

    #[test]
    fn invalid_used_elements_stay_within_the_buffers() {
        let guest = GuestMemory::new(1 << 20).unwrap();
        let mut queue = SplitQueue::new(&guest, 8, 64, 64).unwrap();
        device::give(&queue.ring, 0, Used { head: u32::MAX, written: u32::MAX });
        let (slot, len) = queue.pop().unwrap();
        assert!(slot < queue.slots());
        assert!(len <= 64);
    }
}
