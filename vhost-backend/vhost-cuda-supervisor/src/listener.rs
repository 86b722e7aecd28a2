//! Receives a worker's system calls (seccomp user notification, see seccomp_unotify(2)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A system call that waits for an answer.
pub struct Call {
    id: u64,
    /// The call's number.
    pub number: libc::c_long,
    /// The thread that makes the call.
    pub thread: libc::pid_t,
    /// The call's arguments.
    pub arguments: [u64; 6],
}

/// The next event of a listener.
pub enum Next {
    /// The worker makes a system call.
    Call(Call),
    /// The timeout has expired.
    Timeout,
    /// The worker has exited.
    Exited,
}

/// The supervisor's end of a worker's system call filter.
pub struct Listener(OwnedFd);

impl Listener {
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Waits for a call, for at most `timeout` if it's given.
    pub fn next(&self, timeout: Option<Duration>) -> io::Result<Next> {
        loop {
            let events = self.wait(timeout)?;
            if events.is_empty() {
                return Ok(Next::Timeout);
            } else if events != PollFlags::IN {
                return Ok(Next::Exited);
            }
            // SAFETY: the structure contains only integers, and the kernel requires zeros.
            let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: `call` is writable and has the size that the request specifies.
            match unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut call).cast()) } {
                Ok(()) => {
                    return Ok(Next::Call(Call {
                        id: call.id,
                        number: call.data.nr.into(),
                        thread: call.pid as libc::pid_t,
                        arguments: call.data.args,
                    }));
                }
                // The thread was killed before its call was received, or a signal interrupted the
                // ioctl.
                Err(error) if is_one_of(&error, &[libc::ENOENT, libc::EINTR]) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns true if the thread still waits for an answer, so that its ID can't belong to another
    /// thread.
    pub fn is_waiting(&self, call: &Call) -> bool {
        let mut id = call.id;
        // SAFETY: `id` is readable and has the size that the request specifies.
        unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()) }.is_ok()
    }

    /// Answers a call: it returns 0 or an error in the worker.
    pub fn answer(&self, call: &Call, result: io::Result<()>) -> io::Result<()> {
        let error = match result {
            Ok(()) => 0,
            Err(error) => -error.raw_os_error().unwrap_or(libc::EPERM),
        };
        let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags: 0 };
        // SAFETY: `answer` is readable and has the size that the request specifies.
        match unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut answer).cast()) } {
            // The thread was killed before the answer.
            Err(error) if is_one_of(&error, &[libc::ENOENT]) => Ok(()),
            done => done,
        }
    }

    /// Waits until there may be a call, and returns the events of poll: IN if there may be one,
    /// none if time has run out, and others if the worker has exited.
    fn wait(&self, timeout: Option<Duration>) -> io::Result<PollFlags> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Err(Errno::INTR) => Ok(PollFlags::empty()),
            Err(error) => Err(error.into()),
            Ok(_) if fds[0].revents().contains(PollFlags::IN) => Ok(PollFlags::IN),
            Ok(_) => Ok(fds[0].revents()),
        }
    }

    /// # Safety
    /// `argument` must point to the structure that `request` requires.
    unsafe fn ioctl(&self, request: libc::Ioctl, argument: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: the caller guarantees that the argument is valid for the request.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn is_one_of(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
