//! Memory mappings that unmap themselves.

use crate::TransportError;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// A mapping of this process, owned.
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is memory, not tied to a thread; who reads and writes it synchronises.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of a file, shared, for reading and writing, anywhere. A child after fork
    /// does not get them.
    pub fn shared(fd: RawFd, offset: u64, len: usize) -> Result<Self, TransportError> {
        // SAFETY: a new mapping at an address that the kernel chooses touches no other.
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
            return Err(TransportError::last("mmap gave address 0"));
        };
        // SAFETY: the range is the mapping just made. The driver's mappings have the flag already.
        unsafe { libc::madvise(base.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(Self { base, len })
    }

    /// Where the mapping begins.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "no mapping is empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody uses it after its owner.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Maps `len` bytes of a file at `vaddr`, in place of what is there.
///
/// # Safety
/// The range must be the caller's to replace: a reservation, or pages that it means to exchange.
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
    // SAFETY: the range is the mapping just made.
    unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) };
    Ok(())
}

/// Puts a reservation without access where pages were.
///
/// # Safety
/// As for [`map_fixed`].
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
