//! Descriptor chains: the request is copied out at once, the places for the answer are kept, as many
//! as an answer can need.

use std::ops::Deref;

use protocol::plain::Plain;
use protocol::uapi::{QUERY_MAX, Resp};
use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// A chain may have as many descriptors as its queue, as the standard has it, and one more for each
/// page of its bytes: Linux' drivers make indirect tables that are longer than the queue, of buffers
/// whose pages lie apart.
const PAGE: usize = protocol::windows::PAGE_BYTES as usize;
/// Room for any answer that is not a command's, whose requests are as long.
const ROOM: usize = size_of::<Resp>() + QUERY_MAX;

/// A chain whose request has been read.
pub(super) struct Chain {
    /// Which queue it came from.
    pub(super) queue: usize,
    /// Its head.
    pub(super) head: u16,
    /// Where the answer goes.
    writable: Vec<(GuestAddress, u32)>,
}

impl Chain {
    /// Copies the request out. It is `None` when the chain is no chain: it has a loop, its parts
    /// are in the wrong order or not in guest memory, it is longer than a queue of `size` allows, or
    /// the request is longer than `max`. Of the room for an answer no more is kept than one can fill.
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
        // The iterator stops early at a loop, and at what is not a descriptor.
        (this, request.filter(|_| !unfinished))
    }

    /// Bytes that the chain has for an answer.
    pub(super) fn room(&self) -> usize {
        self.writable.iter().map(|(_, len)| *len as usize).sum()
    }

    /// Writes an answer; how many bytes that were. A chain without room gets none.
    pub(super) fn write(&self, memory: &GuestMemoryMmap, status: u32, body: &[u8]) -> u32 {
        let resp = Resp { status, len: body.len() as u32 };
        let answer = [resp.as_bytes(), body].concat();
        if self.room() < answer.len() { 0 } else { self.write_bytes(memory, &answer) }
    }

    /// Writes bytes from the start of the writable part on, as far as they fit.
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

    /// A chain with an indirect table of so many descriptors, each of `len` bytes, the first of
    /// them to be read.
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
        // The first entry is head 0.
        memory.write_obj(1u16.to_le(), GuestAddress(0x2002)).unwrap();
        let mut queue = Queue::new(SIZE).unwrap();
        queue.set_desc_table_address(Some(0x1000), Some(0));
        queue.set_avail_ring_address(Some(0x2000), Some(0));
        queue.set_used_ring_address(Some(0x3000), Some(0));
        queue.set_ready(true);
        Chain::read(2, queue.pop_descriptor_chain(&memory).unwrap(), SIZE, MAX)
    }

    #[test]
    fn a_chain_is_as_long_as_its_queue_and_its_pages_allow() {
        // As Linux has it: a page each.
        let (chain, request) = read(1 + 200, 4096);
        assert_eq!(request.map(|request| request.len()), Some(4096));
        assert!(chain.room() >= MAX);
        assert!(read(SIZE, 64).1.is_some());
        for (count, len) in [(SIZE + 1, 64), (4000, 64), (65_535, 64), (65_535, 0)] {
            assert!(read(count, len).1.is_none(), "{count} of {len} bytes");
        }
    }

    #[test]
    fn of_a_long_chain_only_what_an_answer_needs_is_kept() {
        for (count, len) in [(65_535, 64), (65_535, 4096), (65_535, 0)] {
            let kept = read(count, len).0.writable.len();
            assert!(kept <= ROOM.div_ceil(4096) + usize::from(SIZE), "{kept} of {len} bytes");
        }
    }
}
