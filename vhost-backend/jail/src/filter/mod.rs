//! System call filters for the processes that serve a VM, and for the supervisor. Each process may
//! make only the calls on its list.
//!
//! | module | contents |
//! |---|---|
//! | `lists` | the lists of permitted calls |
//! | `driver` | the permitted ioctls of NVIDIA's devices |
//! | `program` | translating a list to a program for the kernel |

mod driver;
mod lists;
mod program;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_long, c_ulong, sock_filter};
use rustix::thread::set_no_new_privs;

pub use lists::Unlisted;

/// A filter: a BPF program that the kernel runs for each system call.
pub struct Filter(Vec<sock_filter>);

impl Filter {
    /// Returns the filter of a worker. With [`Unlisted::AskSupervisor`], the filter must be
    /// installed with [`Self::install_with_listener`].
    pub fn of_worker(unlisted: Unlisted) -> Self {
        Self(lists::worker(unlisted).program())
    }

    /// Returns the filter of a device process.
    pub fn of_device() -> Self {
        Self(lists::device().program())
    }

    /// Returns the filter of the supervisor.
    pub fn of_supervisor() -> Self {
        Self(lists::supervisor().program())
    }

    /// Installs the filter permanently on all threads of this process. The process can't gain
    /// privileges afterwards. If this fails, the process must not serve a VM.
    pub fn install(&self) -> io::Result<()> {
        // Without no_new_privs, only root could install a filter.
        set_no_new_privs(true)?;
        match self.set(libc::SECCOMP_FILTER_FLAG_TSYNC)? {
            0 => Ok(()),
            thread => Err(io::Error::other(format!("thread {thread} has another filter"))),
        }
    }

    /// Does the same as [`Self::install`]. Unlisted calls wait until a process answers them through
    /// the returned listener.
    pub fn install_with_listener(&self) -> io::Result<OwnedFd> {
        set_no_new_privs(true)?;
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
            | libc::SECCOMP_FILTER_FLAG_TSYNC
            | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
        // Once the supervisor has received a call, only a signal that kills the process should
        // interrupt the call. Linux before 5.19 doesn't support this flag. There, a call that
        // another signal interrupts is sent to the supervisor again.
        let fd = match self.set(flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.set(flags)?,
            done => done?,
        };
        // SAFETY: the descriptor is new, so nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
    }

    fn set(&self, flags: c_ulong) -> io::Result<c_long> {
        let len = self.0.len().try_into().map_err(io::Error::other)?;
        let program = libc::sock_fprog { len, filter: self.0.as_ptr().cast_mut() };
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: `program` points to as many instructions as `len` says. Both live until the call
        // returns, and the kernel only reads them.
        let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
    }
}

#[cfg(test)]
mod tests;
