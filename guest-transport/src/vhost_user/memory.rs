//! Guest memory for a front end without a VM: a sealed memfd whose pages are allocated to regions
//! and queues.

use crate::error::TransportError;
use crate::ranges::FreeRanges;
use protocol::uapi::Segment;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;

/// The size of guest-physical pages, which is also the device's page size.
pub const PAGE: usize = protocol::windows::PAGE_BYTES as usize;

/// Guest memory in a sparse memfd of fixed size. Offsets in the memfd are guest-physical addresses.
pub struct GuestMemory {
    file: File,
    len: u64,
    free: parking_lot::Mutex<FreeRanges>,
    used: parking_lot::Mutex<Used>,
}

/// The maximum number of bytes in [`Used`].
const USED_MAX: u64 = 64 << 20;

/// Free pages that still contain data of memory that is no longer registered. The next registered
/// memory reuses them, so that the kernel doesn't have to allocate and clear pages.
#[derive(Default)]
struct Used {
    ranges: FreeRanges,
    bytes: u64,
}

impl GuestMemory {
    /// Creates guest memory with `len` bytes, all of them free. The kernel allocates pages on first
    /// use.
    pub fn new(len: u64) -> Result<Self, TransportError> {
        // SAFETY: the only pointer argument is a C string.
        let fd = unsafe {
            libc::memfd_create(c"virtio-cuda".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(TransportError::last("memfd_create"));
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(len)
            .map_err(|source| TransportError::System { what: "sizing the memfd", source })?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the descriptor is open, and this fcntl takes an integer argument.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } < 0 {
            return Err(TransportError::last("sealing the memfd"));
        }
        let mut free = FreeRanges::default();
        free.give(0, len);
        Ok(Self { file, len, free: parking_lot::Mutex::new(free), used: Default::default() })
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the memfd's descriptor.
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Returns the memfd's inode.
    pub fn inode(&self) -> Result<u64, TransportError> {
        let found = self.file.metadata().map(|found| found.ino());
        found.map_err(|source| TransportError::System { what: "querying the memfd", source })
    }

    /// Allocates zeroed, contiguous pages; `len` is rounded up to whole pages.
    pub fn allocate(&self, len: usize) -> Result<Pages<'_>, TransportError> {
        let len = len.next_multiple_of(PAGE);
        let at = self.free.lock().take(len as u64);
        let at = at.or_else(|| {
            self.clear_used();
            self.free.lock().take(len as u64)
        });
        let offset = at.ok_or(TransportError::OutOfMemory { bytes: len })?;
        Ok(Pages { memory: self, offset, len })
    }

    /// Allocates contiguous pages for a caller that overwrites all of them. The pages contain
    /// zeros, or old data from pages passed to [`free_used`](Self::free_used).
    pub fn allocate_to_overwrite(&self, len: usize) -> Result<Pages<'_>, TransportError> {
        let len = len.next_multiple_of(PAGE);
        let mut used = self.used.lock();
        if let Some(offset) = used.ranges.take(len as u64) {
            used.bytes -= len as u64;
            return Ok(Pages { memory: self, offset, len });
        }
        drop(used);
        self.allocate(len)
    }

    /// Frees pages in the same way as [`free`](Self::free), but keeps up to [`USED_MAX`] bytes of
    /// them, with their contents, for [`allocate_to_overwrite`](Self::allocate_to_overwrite).
    pub fn free_used(&self, offset: u64, len: usize) {
        let mut used = self.used.lock();
        if used.bytes + len as u64 <= USED_MAX {
            used.bytes += len as u64;
            return used.ranges.give(offset, len as u64);
        }
        drop(used);
        self.free(offset, len);
    }

    /// Makes the pages that [`free_used`](Self::free_used) kept available to all allocations.
    fn clear_used(&self) {
        let mut used = self.used.lock();
        while let Some((offset, len)) = used.ranges.take_first() {
            used.bytes -= len;
            self.free(offset, len as usize);
        }
    }

    /// Frees pages whose ownership was released with [`Pages::keep`]. They must no longer be in
    /// use.
    pub fn free(&self, offset: u64, len: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is open, and fallocate takes only integer arguments.
        let punched =
            unsafe { libc::fallocate(self.fd(), mode, offset as libc::off_t, len as libc::off_t) };
        // If the pages can't be zeroed, don't reuse them, because they would expose old data to the
        // next user.
        if punched == 0 {
            self.free.lock().give(offset, len as u64);
        }
    }
}

/// Allocated pages of guest memory, which are freed when dropped.
pub struct Pages<'a> {
    memory: &'a GuestMemory,
    /// Guest-physical address of the pages, which is their offset in the memfd.
    pub offset: u64,
    /// Length in bytes, a multiple of the page size.
    pub len: usize,
}

impl Pages<'_> {
    /// Returns the pages as a segment of a region.
    pub fn segment(&self) -> Segment {
        Segment { addr: self.offset, len: self.len as u64 }
    }

    /// Keeps the pages allocated until [`GuestMemory::free`] is called. Returns their offset and
    /// length.
    pub fn keep(self) -> (u64, usize) {
        let kept = (self.offset, self.len);
        std::mem::forget(self);
        kept
    }
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        self.memory.free(self.offset, self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_freed_pages_are_merged_and_reused() {
        let memory = GuestMemory::new(8 * PAGE as u64).unwrap();
        let a = memory.allocate(PAGE).unwrap();
        let b = memory.allocate(3 * PAGE).unwrap();
        let c = memory.allocate(4 * PAGE).unwrap();
        assert_eq!((a.offset, b.offset, c.offset), (0, 4096, 4 * 4096));
        assert!(memory.allocate(1).is_err());
        drop(a);
        drop(c);
        drop(b);
        assert_eq!(memory.allocate(8 * PAGE).unwrap().offset, 0);
        assert!(memory.allocate(8 * PAGE + 1).is_err());
    }

    #[test]
    fn freed_pages_are_zeroed() {
        use std::os::unix::fs::FileExt;
        let memory = GuestMemory::new(4 * PAGE as u64).unwrap();
        let (at, len) = memory.allocate(PAGE).unwrap().keep();
        memory.file.write_all_at(&[7; 64], at).unwrap();
        memory.free(at, len);
        let mut bytes = [1; 64];
        memory.file.read_exact_at(&mut bytes, at).unwrap();
        assert_eq!(bytes, [0; 64]);
    }

    #[test]
    fn used_pages_are_only_overwritten_unless_no_other_pages_are_left() {
        use std::os::unix::fs::FileExt;
        let memory = GuestMemory::new(4 * PAGE as u64).unwrap();
        let (at, len) = memory.allocate_to_overwrite(2 * PAGE).unwrap().keep();
        memory.file.write_all_at(&[7; 64], at).unwrap();
        memory.free_used(at, len);
        assert_ne!(memory.allocate(PAGE).unwrap().offset, at);
        assert_eq!(memory.allocate_to_overwrite(2 * PAGE).unwrap().keep(), (at, len));
        memory.free_used(at, len);
        assert_eq!(memory.allocate(4 * PAGE).unwrap().offset, 0);
        let mut bytes = [1; 64];
        memory.file.read_exact_at(&mut bytes, at).unwrap();
        assert_eq!(bytes, [0; 64]);
    }

    #[test]
    fn the_memory_is_sealed_against_shrinking() {
        let memory = GuestMemory::new(4 * PAGE as u64).unwrap();
        assert!(memory.file.set_len(PAGE as u64).is_err());
        assert!(memory.file.set_len(8 * PAGE as u64).is_err());
    }
}
