//! Receives a worker's system calls (seccomp user notification, see seccomp_unotify(2)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A system call that waits for an answer.
pub struct Call {
    id: u64,
    /// The thread that makes the call.
    pub thread: libc::pid_t,
    /// The call's arguments.
    pub arguments: [u64; 6],
}

/// The supervisor's end of a worker's system call filter.
pub struct Listener(OwnedFd);

impl Listener {
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Waits for a call. Returns `None` if the worker has exited.
    pub fn next(&self) -> io::Result<Option<Call>> {
        loop {
            if !self.wait()? {
                return Ok(None);
            }
            // SAFETY: the structure contains only integers, and the kernel requires zeros.
            let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: `call` is writable and has the size that the request says.
            match unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut call).cast()) } {
                Ok(()) => {
                    return Ok(Some(Call {
                        id: call.id,
                        thread: call.pid as libc::pid_t,
                        arguments: call.data.args,
                    }));
                }
                // The thread was killed before this, or a signal came.
                Err(error) if is_one_of(&error, &[libc::ENOENT, libc::EINTR]) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns true if the thread still waits for an answer, so that its ID belongs to it.
    pub fn is_waiting(&self, call: &Call) -> bool {
        let mut id = call.id;
        // SAFETY: `id` is readable and has the size that the request says.
        unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()) }.is_ok()
    }

    /// Ends a call with a result.
    pub fn answer(&self, call: &Call, result: io::Result<()>) -> io::Result<()> {
        let error = match result {
            Ok(()) => 0,
            Err(error) => -error.raw_os_error().unwrap_or(libc::EPERM),
        };
        let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags: 0 };
        // SAFETY: `answer` is readable and has the size that the request says.
        match unsafe { self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut answer).cast()) } {
            // The thread was killed meanwhile.
            Err(error) if is_one_of(&error, &[libc::ENOENT]) => Ok(()),
            done => done,
        }
    }

    /// Waits until there may be a call. Returns false if the worker has exited.
    fn wait(&self) -> io::Result<bool> {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is one writable structure.
        if unsafe { libc::poll(&mut poll, 1, -1) } < 0 {
            let error = io::Error::last_os_error();
            return if is_one_of(&error, &[libc::EINTR]) { Ok(true) } else { Err(error) };
        }
        Ok(poll.revents & libc::POLLIN != 0)
    }

    /// # Safety
    /// `argument` must be as `request` requires.
    unsafe fn ioctl(&self, request: libc::Ioctl, argument: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: the caller vouches for the argument.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn is_one_of(error: &io::Error, codes: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
