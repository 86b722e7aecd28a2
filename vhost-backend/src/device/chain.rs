//! Descriptor chains: the request is copied out at once, the places for the answer are kept.

use std::ops::Deref;

use protocol::plain::Plain;
use protocol::uapi::Resp;
use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

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
    /// are in the wrong order or not in guest memory, or the request is longer than `max`.
    pub(super) fn read<M>(
        queue: usize,
        chain: DescriptorChain<M>,
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
        for descriptor in chain {
            unfinished = descriptor.has_next();
            if descriptor.is_write_only() {
                this.writable.push((descriptor.addr(), descriptor.len()));
                continue;
            }
            let Some(bytes) = &mut request else { continue };
            let (have, len) = (bytes.len(), descriptor.len() as usize);
            if !this.writable.is_empty() || len > max - have {
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
