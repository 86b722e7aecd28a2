//! Memory mappings that are unmapped when dropped.

use crate::error::TransportError;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// A memory mapping that this value owns.
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping isn't tied to a thread, and its users synchronize their accesses.
unsafe impl Send for Mapping {}
// SAFETY: threads may share the mapping, because its users synchronize their accesses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a file, shared and writable, at an address that the kernel chooses. A
    /// forked child doesn't inherit the mapping.
    pub fn shared(fd: RawFd, offset: u64, len: usize) -> Result<Self, TransportError> {
        // SAFETY: without MAP_FIXED, the new mapping can't overlap an existing one.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd,
                offset as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(TransportError::last("mmap"));
        }
        let Some(base) = NonNull::new(base.cast::<u8>()) else {
            return Err(TransportError::last("mmap returned address 0"));
        };
        // Don't let forked children inherit the mapping. The kernel driver sets this flag for its
        // own mappings, but for a vhost-user mapping, it must be set here.
        // SAFETY: the range is the mapping created above.
        unsafe { libc::madvise(base.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(Self { base, len })
    }

    /// Returns a pointer to the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns the length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "no mapping is empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping and is being dropped.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Maps `len` bytes of a file at `vaddr`, replacing any existing mapping there.
///
/// # Safety
/// The caller must own the range and allow its pages to be replaced.
pub unsafe fn map_fixed(
    vaddr: usize,
    fd: RawFd,
    offset: u64,
    len: usize,
) -> Result<(), TransportError> {
    // SAFETY: the caller owns the range.
    let at = unsafe {
        libc::mmap(
            vaddr as *mut libc::c_void,
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED,
            fd,
            offset as libc::off_t,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mmap at a fixed address"));
    }
    // SAFETY: the range is the mapping created above.
    unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) };
    Ok(())
}

/// Replaces the pages in a range with inaccessible, reserved addresses.
///
/// # Safety
/// The same as for [`map_fixed`].
pub unsafe fn reserve_fixed(vaddr: usize, len: usize) -> Result<(), TransportError> {
    // SAFETY: the caller owns the range.
    let at = unsafe {
        libc::mmap(
            vaddr as *mut libc::c_void,
            len,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(TransportError::last("mmap of a reservation"));
    }
    Ok(())
}
