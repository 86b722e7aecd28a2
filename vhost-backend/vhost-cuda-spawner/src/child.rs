//! A child process, and its pidfd.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};

/// A child process that hasn't been reaped.
pub(crate) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Child {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        // The standard library's `Child` can be dropped, because dropping it neither kills nor
        // reaps the process.
        let pid = command.spawn()?.id();
        let pid = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::InvalidData)?;
        // The child hasn't been reaped, so its process ID can't have been reused.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd }),
            Err(error) => {
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(error.into())
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Duplicates the pidfd.
    pub(crate) fn pidfd(&self) -> io::Result<OwnedFd> {
        self.pidfd.try_clone()
    }

    pub(crate) fn kill(&self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Sends a signal to the child's process group, of which the child must be the leader.
    pub(crate) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    /// Reaps the process if it has exited, and returns its exit status. Must not be called again
    /// after that.
    pub(crate) fn reap(&self) -> Option<i32> {
        let reaped = waitpid(Some(self.pid), WaitOptions::NOHANG).ok()??;
        Some(reaped.1.as_raw())
    }

    /// Waits until the process has exited, and reaps it.
    pub(crate) fn wait(self) {
        // This process blocks signals, so no signal interrupts the wait.
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Returns the pidfd, which becomes readable when the process has exited.
impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
