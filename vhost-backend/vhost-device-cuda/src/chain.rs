//! Descriptor chains. The request is copied out immediately, so the guest can't change it later.
//! Writable descriptors beyond the longest possible response aren't kept.

use std::ops::Deref;

use protocol::plain::Plain;
use protocol::uapi::{QUERY_MAX, Resp};
use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Page size for the limit on a chain's descriptors. According to the virtio standard, a chain may
/// have as many descriptors as its queue has entries. We allow one more for each page of data in
/// the chain, because Linux drivers build indirect tables longer than the queue when a buffer's
/// pages aren't contiguous.
const PAGE: usize = protocol::windows::PAGE_BYTES as usize;
/// Length of the longest response to any request except a command, in bytes. A response to a
/// command is limited to the length of the longest request instead.
const ROOM: usize = size_of::<Resp>() + QUERY_MAX;

/// A chain whose request has been read.
pub(super) struct Chain {
    /// Index of the chain's queue.
    pub(super) queue: usize,
    /// Index of the chain's first descriptor.
    pub(super) head: u16,
    /// Addresses and lengths of the buffers for the response.
    writable: Vec<(GuestAddress, u32)>,
}

impl Chain {
    /// Reads a chain, and copies out its request. The request is `None` if the chain is malformed:
    /// it has a loop, a readable descriptor follows a writable one or isn't in guest memory, the
    /// chain is longer than a queue with `size` entries allows, or the request is longer than
    /// `max`. Writable descriptors beyond the longest possible response are dropped.
    pub(super) fn read<M>(
        queue: usize,
        chain: DescriptorChain<M>,
        size: u16,
        max: usize,
    ) -> (Self, Option<Vec<u8>>)
    where
        M: Deref<Target = GuestMemoryMmap> + Clone,
    {
        let mut this = Self { queue, head: chain.head_index(), writable: Vec::new() };
        let memory = chain.clone();
        let memory = memory.memory();
        let mut request = Some(Vec::new());
        let mut unfinished = false;
        let (mut answers, mut room, mut total) = (false, 0, 0);
        for (index, descriptor) in chain.enumerate() {
            total += descriptor.len() as usize;
            if index >= usize::from(size) + total / PAGE {
                request = None;
                break;
            }
            unfinished = descriptor.has_next();
            if descriptor.is_write_only() {
                answers = true;
                if room < max.max(ROOM) && descriptor.len() > 0 {
                    this.writable.push((descriptor.addr(), descriptor.len()));
                    room += descriptor.len() as usize;
                }
                continue;
            }
            let Some(bytes) = &mut request else { continue };
            let (have, len) = (bytes.len(), descriptor.len() as usize);
            if answers || len > max - have {
                request = None;
                continue;
            }
            bytes.resize(have + len, 0);
            if memory.read_slice(&mut bytes[have..], descriptor.addr()).is_err() {
                request = None;
            }
        }
        // The iterator stops early at a loop or an invalid descriptor.
        (this, request.filter(|_| !unfinished))
    }

    /// Returns the number of writable bytes, which are available for a response.
    pub(super) fn room(&self) -> usize {
        self.writable.iter().map(|(_, len)| *len as usize).sum()
    }

    /// Writes a response and returns its length. Writes nothing if the response doesn't fit.
    pub(super) fn write(&self, memory: &GuestMemoryMmap, status: u32, body: &[u8]) -> u32 {
        let resp = Resp { status, len: body.len() as u32 };
        let answer = [resp.as_bytes(), body].concat();
        if self.room() < answer.len() { 0 } else { self.write_bytes(memory, &answer) }
    }

    /// Writes as many bytes as fit to the start of the writable part, and returns their number.
    pub(super) fn write_bytes(&self, memory: &GuestMemoryMmap, mut bytes: &[u8]) -> u32 {
        let mut written = 0;
        for (address, len) in &self.writable {
            let count = bytes.len().min(*len as usize);
            if count == 0 || memory.write_slice(&bytes[..count], *address).is_err() {
                break;
            }
            written += count as u32;
            bytes = &bytes[count..];
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use virtio_bindings::bindings::virtio_ring::{
        VRING_DESC_F_INDIRECT, VRING_DESC_F_NEXT, VRING_DESC_F_WRITE,
    };
    use virtio_queue::desc::{RawDescriptor, split::Descriptor};
    use virtio_queue::{Queue, QueueT};

    use super::*;

    const SIZE: u16 = 16;
    const TABLE: u64 = 0x10_0000;
    const MAX: usize = 64 << 10;

    /// Reads a chain with an indirect table of `count` descriptors, each for `len` bytes. The first
    /// is readable, and the others are writable.
    fn read(count: u16, len: u32) -> (Chain, Option<Vec<u8>>) {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 4 << 20)]).unwrap();
        let last = count - 1;
        for index in 0..count {
            let next = if index == last { 0 } else { VRING_DESC_F_NEXT };
            let write = if index == 0 { 0 } else { VRING_DESC_F_WRITE };
            let descriptor = Descriptor::new(0x20_0000, len, (next | write) as u16, index + 1);
            let place = TABLE + 16 * u64::from(index);
            memory.write_obj(RawDescriptor::from(descriptor), GuestAddress(place)).unwrap();
        }
        let flags = VRING_DESC_F_INDIRECT as u16;
        let table = Descriptor::new(TABLE, 16 * u32::from(count), flags, 0);
        memory.write_obj(RawDescriptor::from(table), GuestAddress(0x1000)).unwrap();
        // The first entry in the avail ring is descriptor 0.
        memory.write_obj(1u16.to_le(), GuestAddress(0x2002)).unwrap();
        let mut queue = Queue::new(SIZE).unwrap();
        queue.set_desc_table_address(Some(0x1000), Some(0));
        queue.set_avail_ring_address(Some(0x2000), Some(0));
        queue.set_used_ring_address(Some(0x3000), Some(0));
        queue.set_ready(true);
        Chain::read(2, queue.pop_descriptor_chain(&memory).unwrap(), SIZE, MAX)
    }

    #[test]
    fn chain_length_is_limited_by_queue_size_and_pages() {
        // Linux drivers use one descriptor per page if the pages aren't contiguous.
        let (chain, request) = read(1 + 200, 4096);
        assert_eq!(request.map(|request| request.len()), Some(4096));
        assert!(chain.room() >= MAX);
        assert!(read(SIZE, 64).1.is_some());
        for (count, len) in [(SIZE + 1, 64), (4000, 64), (65_535, 64), (65_535, 0)] {
            assert!(read(count, len).1.is_none(), "{count} of {len} bytes");
        }
    }

    #[test]
    fn keeps_only_the_descriptors_that_an_answer_needs() {
        for (count, len) in [(65_535, 64), (65_535, 4096), (65_535, 0)] {
            let kept = read(count, len).0.writable.len();
            assert!(kept <= ROOM.div_ceil(4096) + usize::from(SIZE), "{kept} of {len} bytes");
        }
    }
}
