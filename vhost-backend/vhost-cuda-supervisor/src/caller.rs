//! Access to the memory and descriptors of a worker that waits in a system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::{c_int, pid_t};
use rustix::fs::{FileType, fstat, major};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

/// The major number of NVIDIA's character devices.
const NVIDIA: u32 = 195;

/// Access to the memory and the descriptors to which a system call refers. A trait, so that tests
/// don't need a second process.
pub trait Caller {
    /// Reads memory. Fails unless all of it can be read.
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Writes memory. Fails unless all of it can be written.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;
    /// Duplicates a descriptor, which must be one of NVIDIA's devices.
    fn device(&self, fd: c_int) -> io::Result<OwnedFd>;
}

/// A thread of a worker that waits for the supervisor's answer.
pub struct Thread<'a> {
    process: BorrowedFd<'a>,
    id: pid_t,
    /// Returns true as long as the thread waits in its call. After that, its ID may belong to
    /// another thread.
    waits: &'a dyn Fn() -> bool,
}

impl<'a> Thread<'a> {
    /// `process` is the worker's pidfd, and `id` is the thread's ID.
    pub fn new(process: &'a impl AsFd, id: pid_t, waits: &'a dyn Fn() -> bool) -> Self {
        Self { process: process.as_fd(), id, waits }
    }

    /// Fails if the thread no longer waits. In that case, data that was read before may come from
    /// another thread, and nothing may be written.
    fn check(&self) -> io::Result<()> {
        if (self.waits)() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINTR)) }
    }
}

fn whole(done: libc::ssize_t, length: usize) -> io::Result<()> {
    match usize::try_from(done) {
        Ok(done) if done == length => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn other(address: u64, length: usize) -> libc::iovec {
    libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length }
}

impl Caller for Thread<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let there = other(address, bytes.len());
        // SAFETY: `here` describes `bytes`, which is writable. `there` is an address in the other
        // process, so the call accesses no other memory of this one.
        let done = unsafe { libc::process_vm_readv(self.id, &here, 1, &there, 1, 0) };
        whole(done, bytes.len())?;
        self.check()
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        let here = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let there = other(address, bytes.len());
        // SAFETY: `here` describes `bytes`, which the call only reads. `there` is an address in the
        // other process, so the call accesses no other memory of this one.
        let done = unsafe { libc::process_vm_writev(self.id, &here, 1, &there, 1, 0) };
        whole(done, bytes.len())
    }

    fn device(&self, fd: c_int) -> io::Result<OwnedFd> {
        let copy = pidfd_getfd(self.process, fd, PidfdGetfdFlags::empty())?;
        if is_nvidia(&copy)? { Ok(copy) } else { Err(io::Error::from_raw_os_error(libc::ENOTTY)) }
    }
}

fn is_nvidia(file: &OwnedFd) -> io::Result<bool> {
    let stat = fstat(file)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    Ok(kind == FileType::CharacterDevice && major(stat.st_rdev) == NVIDIA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn other_devices_and_files_are_refused() {
        for path in ["/dev/null", "/proc/self/maps"] {
            assert!(!is_nvidia(&File::open(path).unwrap().into()).unwrap(), "{path}");
        }
    }

    #[test]
    fn memory_is_copied_whole_or_not_at_all() {
        let pidfd = File::open("/dev/null").unwrap();
        // SAFETY: getpid takes no arguments.
        let own = Thread::new(&pidfd, unsafe { libc::getpid() }, &|| true);
        let (from, mut to) = ([1u8, 2, 3], [0u8; 3]);
        own.read(from.as_ptr() as u64, &mut to).unwrap();
        assert_eq!(to, from);
        own.write(to.as_mut_ptr() as u64, &[4, 5, 6]).unwrap();
        assert_eq!(std::hint::black_box(&to), &[4, 5, 6]);
        assert_eq!(own.read(8, &mut to).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        let gone = Thread { waits: &|| false, ..own };
        assert!(gone.read(from.as_ptr() as u64, &mut to).is_err());
        assert!(gone.write(to.as_mut_ptr() as u64, &[7, 8, 9]).is_err());
        assert_ne!(std::hint::black_box(&to), &[7, 8, 9]);
    }
}
