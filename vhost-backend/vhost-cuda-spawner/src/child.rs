//! Starting a child process without waiting until it has executed its program. That can take
//! seconds on a busy disk.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use host_ipc::process;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};

/// The exit status of a child that couldn't execute its program.
const NOT_EXECUTED: i32 = 127;

/// A child process that hasn't been reaped.
pub(crate) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Child {
    /// Creates a process that calls `prepare` and then executes `command`. If that fails, the
    /// process prints the reason on what `prepare` has made its standard error, and exits.
    pub(crate) fn start(
        mut command: Command,
        prepare: impl FnOnce() -> Result<(), String>,
    ) -> io::Result<Self> {
        // SAFETY: this process has a single thread, so the child can call any function.
        let pid = match unsafe { libc::fork() } {
            0 => {
                process::unblock_signals();
                let reason = match prepare() {
                    Ok(()) => {
                        let error = command.exec();
                        format!("{}: {error}", command.get_program().display())
                    }
                    Err(reason) => reason,
                };
                eprintln!("ERROR cannot start the program: {reason}");
                // SAFETY: _exit never returns. Nothing of the parent's is dropped.
                unsafe { libc::_exit(NOT_EXECUTED) }
            }
            pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)?,
        };
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

    /// Sends a signal to the process group that this process leads.
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
        // Signals are blocked, so none interrupts this.
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// The descriptor becomes readable when the process has exited.
impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
