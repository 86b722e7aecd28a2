//! Sealed files that processes share as memory: each worker's gate page, and the page of each VM's
//! spending.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};

/// Contents of a shared file.
///
/// # Safety
/// Other processes can write any bytes at any time, so the type must consist of atomics, for which
/// any bit pattern is valid. Its alignment must not exceed a page's.
pub unsafe trait Shareable: Sized {
    /// The file's name, which /proc shows.
    const NAME: &str;
}

/// A mapped file. Dropping it unmaps the file.
pub struct SharedMap<T: Shareable> {
    at: NonNull<T>,
}

// SAFETY: a `Shareable` consists of atomics, and stays mapped for the lifetime of the `SharedMap`.
unsafe impl<T: Shareable> Send for SharedMap<T> {}
// SAFETY: a `Shareable` consists of atomics, which threads may access at the same time.
unsafe impl<T: Shareable> Sync for SharedMap<T> {}

impl<T: Shareable> SharedMap<T> {
    /// Creates a sealed file of zeros, as large as the contents.
    pub fn create() -> io::Result<OwnedFd> {
        let file = memfd_create(T::NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, size_of::<T>() as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(file)
    }

    /// Maps a file created by [`Self::create`].
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        // If another process could shrink the file, accessing the mapping would kill this process
        // with SIGBUS.
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a sealed file"));
        }
        if fstat(&file)?.st_size != size_of::<T>() as i64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a file of this size"));
        }
        Self::mmap(libc::MAP_SHARED, file.as_fd().as_raw_fd())
    }

    /// Maps zeros that aren't shared with any other process.
    pub fn anonymous() -> io::Result<Self> {
        Self::mmap(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    fn mmap(flags: i32, fd: i32) -> io::Result<Self> {
        // SAFETY: the kernel chooses the address, so the mapping doesn't replace another.
        let at = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, flags, fd, 0)
        };
        match NonNull::new(at.cast()) {
            Some(mapped) if at != libc::MAP_FAILED => Ok(Self { at: mapped }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl<T: Shareable> Deref for SharedMap<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: until `drop`, the mapping exists, and is page-aligned and as large as the type.
        // Any bit pattern is valid for a `Shareable`.
        unsafe { self.at.as_ref() }
    }
}

impl<T: Shareable> Drop for SharedMap<T> {
    fn drop(&mut self) {
        // SAFETY: `mmap` made the mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.at.as_ptr().cast(), size_of::<T>()) };
    }
}
