//! Descriptors that stay open when this process executes another program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};

/// A descriptor that stays open when another program is executed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct KeptFd(RawFd);

impl KeptFd {
    /// Returns the descriptor with this number, which the program that this process executed before
    /// has kept open.
    pub(crate) fn inherited(number: RawFd) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> RawFd {
        self.0
    }

    /// Keeps a descriptor open when this process executes another program.
    pub(crate) fn keep(fd: &impl AsRawFd) -> io::Result<Self> {
        let fd = fd.as_raw_fd();
        // SAFETY: F_SETFD takes only integers, and only clears the close-on-exec flag.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(fd))
    }

    /// Takes over a descriptor from the program that this process executed before.
    pub(crate) fn take(self) -> io::Result<OwnedFd> {
        // SAFETY: the call takes only integers, and fails if the descriptor isn't open.
        if unsafe { libc::fcntl(self.0, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open, and has been since before this program began, so it isn't
        // one that this program has opened. The previous program lists each of its descriptors
        // once, so nothing else takes it.
        Ok(unsafe { OwnedFd::from_raw_fd(self.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    #[test]
    fn a_kept_descriptor_is_taken_once_and_closed_in_other_programs() {
        let file = memfd_create("kept", MemfdFlags::CLOEXEC).unwrap();
        // SAFETY: the call takes only integers.
        let flags = |fd: &OwnedFd| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags(&file), libc::FD_CLOEXEC);
        let kept = KeptFd::keep(&file).unwrap();
        assert_eq!(flags(&file), 0);
        std::mem::forget(file);
        assert_eq!(flags(&kept.take().unwrap()), libc::FD_CLOEXEC);
        assert!(KeptFd(-1).take().is_err() && KeptFd(1 << 30).take().is_err());
    }
}
