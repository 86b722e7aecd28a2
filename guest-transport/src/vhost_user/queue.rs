//! A split virtqueue (virtio 1.3, 2.7), driven from user space.
//!
//! Descriptors are used in pairs. For the lifetime of the queue, slot `i` owns descriptor `2i`,
//! which the device reads, descriptor `2i + 1`, which the device writes, and a buffer for each of
//! them. A request takes two copies and no allocation, and the device never sees the program's
//! memory.

use super::memory::{GuestMemory, PAGE};
use crate::error::TransportError;
use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU16, Ordering, fence};

const DESC_F_NEXT: u16 = 1;
const DESC_F_WRITE: u16 = 2;
const USED_F_NO_NOTIFY: u16 = 1;

/// A virtqueue descriptor, as defined by virtio.
#[repr(C)]
#[derive(Clone, Copy)]
struct Descriptor {
    addr: u64,
    len: u32,
    flags: u16,
    next: u16,
}

/// An element of the used ring.
#[repr(C)]
#[derive(Clone, Copy)]
struct UsedElement {
    id: u32,
    len: u32,
}

/// The offsets of the queue's parts in its memory, and the sizes of each slot's buffers.
struct Layout {
    size: u16,
    avail: usize,
    used: usize,
    buffers: usize,
    readable: usize,
    writable: usize,
}

impl Layout {
    fn new(size: u16, readable: usize, writable: usize) -> Self {
        let entries = usize::from(size);
        let avail = 16 * entries;
        let used = (avail + 6 + 2 * entries).next_multiple_of(8);
        let buffers = (used + 6 + 8 * entries).next_multiple_of(64);
        Self {
            size,
            avail,
            used,
            buffers,
            readable: readable.next_multiple_of(64),
            writable: writable.next_multiple_of(64),
        }
    }

    fn slots(&self) -> u16 {
        self.size / 2
    }

    fn readable_at(&self, slot: u16) -> usize {
        self.buffers + usize::from(slot) * (self.readable + self.writable)
    }

    fn writable_at(&self, slot: u16) -> usize {
        self.readable_at(slot) + self.readable
    }

    fn bytes(&self) -> usize {
        self.readable_at(self.slots())
    }
}

/// The driver's side of a virtqueue. It isn't synchronized, so its owner must lock it.
pub struct SplitQueue {
    memory: Mapping,
    guest_address: u64,
    layout: Layout,
    available: u16,
    seen: u16,
}

/// The addresses of the descriptor table and rings, for VHOST_USER_SET_VRING_ADDR.
pub struct RingAddresses {
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

impl SplitQueue {
    /// Creates a queue with `size` descriptors (a power of two) and buffers of the given sizes.
    pub fn new(
        guest: &GuestMemory,
        size: u16,
        readable: usize,
        writable: usize,
    ) -> Result<Self, TransportError> {
        let layout = Layout::new(size, readable, writable);
        let pages = guest.allocate(layout.bytes())?;
        let memory = Mapping::shared(guest.fd(), pages.offset, pages.len)?;
        let (guest_address, _) = pages.keep();
        Ok(Self { memory, guest_address, layout, available: 0, seen: 0 })
    }

    /// Returns the number of descriptors.
    pub fn size(&self) -> u16 {
        self.layout.size
    }

    /// Returns the maximum number of requests in flight.
    pub fn slots(&self) -> u16 {
        self.layout.slots()
    }

    /// Returns the addresses of the queue's parts. `base` is the address at which guest memory
    /// begins.
    pub fn addresses(&self, base: u64) -> RingAddresses {
        let at = base + self.guest_address;
        RingAddresses {
            descriptors: at,
            available: at + self.layout.avail as u64,
            used: at + self.layout.used as u64,
        }
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        debug_assert!(offset + size_of::<T>() <= self.layout.bytes().next_multiple_of(PAGE));
        self.memory.as_ptr().wrapping_add(offset).cast()
    }

    fn index(&self, offset: usize) -> &AtomicU16 {
        // SAFETY: callers pass offsets of 16-bit ring fields, which are even and inside the
        // mapping. Both sides access these fields only atomically.
        unsafe { AtomicU16::from_ptr(self.at(offset)) }
    }

    fn describe(&self, number: u16, descriptor: Descriptor) {
        // SAFETY: the table has `size` entries and the device never writes to it. The slot is free,
        // so the device isn't reading this entry.
        unsafe { self.at::<Descriptor>(16 * usize::from(number)).write_volatile(descriptor) };
    }

    /// Makes a slot's chain available to the device, which reads `parts` and may write `writable`
    /// bytes. Returns whether the device must be notified. The slot must be free.
    pub fn push(&mut self, slot: u16, parts: &[&[u8]], writable: usize) -> bool {
        let mut filled = 0;
        for part in parts {
            let room = self.layout.readable - filled;
            let part = &part[..part.len().min(room)];
            let to = self.at::<u8>(self.layout.readable_at(slot) + filled);
            // SAFETY: `part` fits into the space left in the slot's buffer and doesn't overlap it.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            filled += part.len();
        }
        let writable = writable.min(self.layout.writable);
        let (first, second) = (2 * slot, 2 * slot + 1);
        let to_write = Descriptor {
            addr: self.guest_address + self.layout.writable_at(slot) as u64,
            len: writable as u32,
            flags: DESC_F_WRITE,
            next: 0,
        };
        let head = match (filled, writable) {
            (0, _) => {
                self.describe(second, to_write);
                second
            }
            (_, writable) => {
                self.describe(second, to_write);
                let flags = if writable > 0 { DESC_F_NEXT } else { 0 };
                let addr = self.guest_address + self.layout.readable_at(slot) as u64;
                self.describe(first, Descriptor { addr, len: filled as u32, flags, next: second });
                first
            }
        };
        let entry = self.layout.avail + 4 + 2 * usize::from(self.available % self.layout.size);
        self.index(entry).store(head, Ordering::Relaxed);
        self.available = self.available.wrapping_add(1);
        self.index(self.layout.avail + 2).store(self.available, Ordering::Release);
        // The device changes NO_NOTIFY and then checks for chains. The driver makes a chain
        // available and then checks NO_NOTIFY. So at least one of them sees the other's write.
        fence(Ordering::SeqCst);
        self.index(self.layout.used).load(Ordering::Relaxed) & USED_F_NO_NOTIFY == 0
    }

    /// Returns the next slot whose chain the device has used, and the number of bytes that the
    /// device wrote.
    pub fn pop(&mut self) -> Option<(u16, usize)> {
        let used = self.index(self.layout.used + 2).load(Ordering::Acquire);
        if used == self.seen {
            return None;
        }
        let entry = self.layout.used + 4 + 8 * usize::from(self.seen % self.layout.size);
        // SAFETY: the entry is inside the used ring, and the device wrote it before the index.
        let element = unsafe { self.at::<UsedElement>(entry).read_volatile() };
        self.seen = self.seen.wrapping_add(1);
        let slot = (element.id as u16 / 2) % self.slots();
        Some((slot, (element.len as usize).min(self.layout.writable)))
    }

    /// Copies data that the device wrote to a slot's buffer.
    pub fn read(&self, slot: u16, offset: usize, to: &mut [u8]) {
        let len = to.len().min(self.layout.writable.saturating_sub(offset));
        let from = self.at::<u8>(self.layout.writable_at(slot) + offset);
        // SAFETY: `offset + len` doesn't exceed the size of the slot's buffer.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), len) };
    }

    /// Returns the maximum number of bytes that the device may write to a slot's buffer.
    pub fn writable(&self) -> usize {
        self.layout.writable
    }

    /// Returns the maximum length of a request in bytes.
    pub fn readable(&self) -> usize {
        self.layout.readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acts as the device: responds to each available chain with the bytes of its request,
    /// reversed.
    fn serve(queue: &SplitQueue, from: &mut u16) {
        let size = queue.layout.size;
        while *from != queue.index(queue.layout.avail + 2).load(Ordering::Acquire) {
            let entry = queue.layout.avail + 4 + 2 * usize::from(*from % size);
            let head = queue.index(entry).load(Ordering::Relaxed);
            // SAFETY: `push` wrote this descriptor to the mapping.
            let first = unsafe { queue.at::<Descriptor>(16 * usize::from(head)).read() };
            assert_eq!(first.flags, DESC_F_NEXT);
            // SAFETY: `push` wrote this descriptor too.
            let second = unsafe { queue.at::<Descriptor>(16 * usize::from(first.next)).read() };
            assert_eq!(second.flags, DESC_F_WRITE);
            let local = |addr: u64| queue.at::<u8>((addr - queue.guest_address) as usize);
            for i in 0..first.len as usize {
                // SAFETY: both buffers are inside the mapping and have at least `first.len` bytes.
                unsafe {
                    let byte = local(first.addr).add(first.len as usize - 1 - i).read();
                    local(second.addr).add(i).write(byte);
                }
            }
            let used = queue.layout.used + 4 + 8 * usize::from(*from % size);
            let element = UsedElement { id: head.into(), len: first.len };
            // SAFETY: the entry is inside the used ring.
            unsafe { queue.at::<UsedElement>(used).write(element) };
            *from = from.wrapping_add(1);
            queue.index(queue.layout.used + 2).store(*from, Ordering::Release);
        }
    }

    #[test]
    fn chains_return_with_their_responses_even_after_the_index_wraps() {
        let guest = GuestMemory::new(1 << 20).unwrap();
        let mut queue = SplitQueue::new(&guest, 8, 64, 64).unwrap();
        let mut device = 0;
        for round in 0..70_000u32 {
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
        let element = UsedElement { id: u32::MAX, len: u32::MAX };
        // SAFETY: this is the first entry of the used ring.
        unsafe { queue.at::<UsedElement>(queue.layout.used + 4).write(element) };
        queue.index(queue.layout.used + 2).store(1, Ordering::Release);
        let (slot, len) = queue.pop().unwrap();
        assert!(slot < queue.slots());
        assert!(len <= 64);
    }
}
