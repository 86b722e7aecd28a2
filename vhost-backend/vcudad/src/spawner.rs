//! The spawner, the process that keeps the broker's privileges. It starts the VMs' processes, and
//! creates what else needs privileges.
//!
//! The event loop doesn't wait for a process to start: it sends a request and continues. The
//! process is reported later, as an [`Event`]. A [`Call`] is answered at once, because the spawner
//! waits for nothing.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::BrokerError;
use super::kept_fd::KeptFd;
use super::output::{self, Output, Outputs};
use host_ipc::apart::Apart;
use host_ipc::spawner::{Answer, Call, End, Event, Part, ProcessId, Program, Refusal, ToSpawner};
use host_ipc::{logging, process, program, seqpacket};
use serde::{Deserialize, Serialize};

/// The spawner's program.
const PROGRAM: &str = "vhost-cuda-spawner";
/// The programs that it starts.
const STARTED: [&str; 3] = ["vhost-device-cuda", "vhost-cuda-worker", "vhost-cuda-supervisor"];

/// The connection to the spawner.
#[derive(Clone)]
pub(crate) struct Spawner(Arc<Inner>);

struct Inner {
    /// For requests and their answers.
    calls: OwnedFd,
    /// For events. Non-blocking.
    events: OwnedFd,
    /// The number of the last process.
    last: AtomicU64,
    is_root: bool,
    /// Its process ID.
    pid: u32,
    /// The descriptor of its output.
    output_fd: RawFd,
    /// The spawner's output, until the thread that reads it is started.
    output: Mutex<Option<Apart>>,
}

/// The spawner, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct SpawnerRecord {
    calls: KeptFd,
    events: KeptFd,
    last: u64,
    is_root: bool,
    pid: u32,
    output: KeptFd,
}

impl SpawnerRecord {
    pub(crate) fn is_root(&self) -> bool {
        self.is_root
    }
}

/// The spawner's process, which is ended when this is dropped.
pub(crate) struct Ending(Spawner);

impl Spawner {
    /// Starts the spawner, which has this process's privileges.
    pub(crate) fn start() -> Result<(Self, Ending), BrokerError> {
        let path = program::find(PROGRAM)?;
        // The spawner's own message wouldn't reach the operator.
        STARTED.iter().try_for_each(|name| program::find(name).map(drop))?;
        let start = || -> io::Result<Self> {
            let (calls, their_calls) = seqpacket::pair()?;
            let (events, their_events) = seqpacket::pair()?;
            process::set_nonblocking(&events)?;
            let (output, stderr) = output::pair()?;
            let mut command = Command::new(path);
            for (name, fd) in [("--calls-fd", &their_calls), ("--events-fd", &their_events)] {
                // The spawner inherits the descriptors. It's the only process that this one starts.
                // SAFETY: F_SETFD takes only an integer.
                if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) } < 0 {
                    return Err(io::Error::last_os_error());
                }
                command.arg(name).arg(fd.as_raw_fd().to_string());
            }
            command.stdin(Stdio::null()).stdout(stderr.try_clone()?).stderr(stderr);
            command.envs(logging::child_environment());
            let pid = command.spawn()?.id();
            Ok(Self(Arc::new(Inner {
                calls,
                events,
                last: AtomicU64::new(0),
                is_root: process::is_root(),
                pid,
                output_fd: output.as_raw_fd(),
                output: Mutex::new(Some(output)),
            })))
        };
        let spawner = start().map_err(BrokerError::os("cannot start the spawner"))?;
        Ok((spawner.clone(), Ending(spawner)))
    }

    /// Returns what a broker that replaces this one needs.
    pub(crate) fn record(&self) -> io::Result<SpawnerRecord> {
        let inner = &self.0;
        Ok(SpawnerRecord {
            calls: KeptFd::keep(&inner.calls)?,
            events: KeptFd::keep(&inner.events)?,
            last: inner.last.load(Ordering::Relaxed),
            is_root: inner.is_root,
            pid: inner.pid,
            output: KeptFd::keep(&inner.output_fd)?,
        })
    }

    /// Continues with the spawner of the broker that this one replaces.
    pub(crate) fn restore(record: &SpawnerRecord) -> io::Result<(Self, Ending)> {
        let output = Apart::from(record.output.take()?);
        let spawner = Self(Arc::new(Inner {
            calls: record.calls.take()?,
            events: record.events.take()?,
            last: AtomicU64::new(record.last),
            is_root: record.is_root,
            pid: record.pid,
            output_fd: output.as_raw_fd(),
            output: Mutex::new(Some(output)),
        }));
        Ok((spawner.clone(), Ending(spawner)))
    }

    /// Returns true if the spawner runs as root, so that each VM's processes get a user.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_root
    }

    /// Adds the spawner's output to the log.
    pub(crate) fn log(&self, outputs: &Outputs) -> Option<Output> {
        let output = self.0.output.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let output = outputs.read(output, "spawner", None);
        output.set_pid(self.0.pid);
        Some(output)
    }

    /// Returns the descriptor that is readable when there is an event.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.0.events.as_raw_fd()
    }

    /// Takes the next event, with the pidfd that it carries. Returns `None` if there is none now.
    pub(crate) fn event(&self) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
        match seqpacket::receive(&self.0.events) {
            Ok(Some((event, fds))) => Ok(Some((event, fds.into_iter().next()))),
            Ok(None) => Err(io::Error::other("the spawner has ended")),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Starts a program with these descriptors. Returns the number that its events will have.
    pub(crate) fn start_program(&self, program: Program, fds: [RawFd; 2]) -> io::Result<ProcessId> {
        let id = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        seqpacket::send(&self.0.calls, &ToSpawner::Start { id, program }, &fds)?;
        Ok(id)
    }

    /// Kills a process, unless it has exited.
    pub(crate) fn kill(&self, id: ProcessId) {
        self.send(&ToSpawner::Kill { id });
    }

    /// Removes all files from a VM's directory for shared memory.
    pub(crate) fn clear_shared(&self, vm: &str) {
        self.send(&ToSpawner::ClearShared { vm: vm.to_owned() });
    }

    fn send(&self, message: &ToSpawner) {
        // If the spawner has ended, the event loop reports it.
        let _ = seqpacket::send(&self.0.calls, message, &[]);
    }

    /// Makes a call and waits for the answer. An answer that carries a listening socket returns it.
    pub(crate) fn call(&self, call: Call) -> Result<(Answer, Option<UnixListener>), Refusal> {
        let failed = |error: io::Error| Refusal {
            part: Part::Request,
            reason: format!("cannot reach the spawner: {error}"),
        };
        seqpacket::send(&self.0.calls, &ToSpawner::Call(call), &[]).map_err(failed)?;
        match seqpacket::receive(&self.0.calls).map_err(failed)? {
            Some((Answer::Refused(refusal), _)) => Err(refusal),
            Some((answer, fds)) => Ok((answer, fds.into_iter().next().map(UnixListener::from))),
            None => Err(failed(io::Error::other("it has ended"))),
        }
    }

    /// Does the same as `call`, for a call whose answer contains nothing. Returns why it failed.
    pub(crate) fn request(&self, call: Call) -> Result<(), String> {
        self.call(call).map(drop).map_err(|refusal| refusal.reason)
    }

    /// Makes a call whose answer carries a listening socket.
    pub(crate) fn bind(&self, call: Call) -> Result<UnixListener, Refusal> {
        let (_, listener) = self.call(call)?;
        let missing = || Refusal { part: Part::Socket, reason: "there is no socket".into() };
        listener.ok_or_else(missing)
    }

    /// Waits until a process has ended that is the only one. Used at startup.
    pub(crate) fn wait_for(&self, process: ProcessId) -> io::Result<End> {
        loop {
            match self.event()? {
                Some((Event::Ended { id, how }, _)) if id == process => return Ok(how),
                Some(_) => {}
                None => {
                    let mut poll =
                        libc::pollfd { fd: self.events_fd(), events: libc::POLLIN, revents: 0 };
                    // SAFETY: `poll` is one writable structure.
                    unsafe { libc::poll(&mut poll, 1, -1) };
                }
            }
        }
    }
}

impl Drop for Ending {
    /// Makes the spawner end all processes and remove what it has created, and waits for that.
    fn drop(&mut self) {
        let inner = &self.0.0;
        // SAFETY: the descriptor is open, and the call takes only integers.
        unsafe { libc::shutdown(inner.calls.as_raw_fd(), libc::SHUT_WR) };
        if let Some(status) = wait(inner.pid)
            && !status.success()
        {
            tracing::error!("the spawner failed: {status}");
        }
    }
}

/// Waits until a child has exited. (A broker that has replaced another one has no `Child`.)
fn wait(pid: u32) -> Option<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let ended = unsafe { libc::waitpid(pid.cast_signed(), &mut status, 0) };
        if ended >= 0 {
            return Some(ExitStatus::from_raw(status));
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

#[cfg(test)]
impl Spawner {
    /// Returns the connection to a spawner that does nothing, and the spawner's ends of the sockets
    /// for calls and for events.
    pub(crate) fn idle() -> (Self, [OwnedFd; 2]) {
        let ((calls, their_calls), (events, their_events)) =
            (seqpacket::pair().unwrap(), seqpacket::pair().unwrap());
        let mut process = Command::new("true").spawn().unwrap();
        process.wait().unwrap();
        let spawner = Self(Arc::new(Inner {
            calls,
            events,
            last: AtomicU64::new(0),
            is_root: false,
            pid: process.id(),
            output_fd: -1,
            output: Mutex::new(None),
        }));
        (spawner, [their_calls, their_events])
    }
}
