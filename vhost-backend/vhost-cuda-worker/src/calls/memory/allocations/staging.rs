//! Host memory for contents that are away from the GPUs.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;

/// Memory of this process alone. It is freed when this is dropped.
pub(super) struct Staging {
    address: *mut c_void,
    len: usize,
    /// Whether the memory must not be freed.
    stays: Cell<bool>,
}

// SAFETY: the memory belongs to this value, and threads access it only through pointers that they
// get from `at`, whose users say why that is sound.
unsafe impl Send for Staging {}

impl Staging {
    /// Reserves `len` bytes, in huge pages if there are any.
    pub(super) fn new(len: usize) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self { address: std::ptr::dangling_mut(), len, stays: Cell::default() });
        }
        // SAFETY: no existing mapping is replaced.
        let address = unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0)
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the memory was just mapped. The advice doesn't change its contents.
        unsafe { libc::madvise(address, len, libc::MADV_HUGEPAGE) };
        Ok(Self { address, len, stays: Cell::default() })
    }

    /// Keeps the memory for as long as the process exists.
    pub(super) fn leak(&self) {
        self.stays.set(true);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the address of the byte at `offset`.
    ///
    /// # Panics
    /// If the offset is beyond the end.
    pub(super) fn at(&self, offset: usize) -> *mut c_void {
        assert!(offset <= self.len, "{offset} is beyond {}", self.len);
        self.address.wrapping_byte_add(offset)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.len > 0 && !self.stays.get() {
            // SAFETY: `new` has mapped the memory, and nothing uses it after this value.
            unsafe { libc::munmap(self.address, self.len) };
        }
    }
}
