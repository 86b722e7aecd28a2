//! The spawner, the process that keeps the broker's privileges. It starts the VMs' processes, and
//! does everything else that needs privileges. The broker starts it, or connects to one that runs
//! already.
//!
//! The event loop doesn't wait for a process to start: it sends a request and continues. The
//! process is reported later, as an [`Event`]. A [`Call`] is answered at once, because the spawner
//! waits for nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::continuity::kept_fd::KeptFd;
use crate::error::BrokerError;
use crate::processes::output::{self, Output, Outputs};
use host_ipc::apart::Apart;
use host_ipc::spawner::{
    Answer, Call, End, Event, Kept, PROTOCOL, Part, ProcessId, Program, Refusal, ToSpawner, Welcome,
};
use host_ipc::{logging, process, program, seqpacket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};

/// The spawner's program.
const PROGRAM: &str = "vhost-cuda-spawner";
/// The programs that the spawner starts.
const STARTED: [&str; 3] = ["vhost-device-cuda", "vhost-cuda-worker", "vhost-cuda-supervisor"];

/// The connection to the spawner.
#[derive(Clone)]
pub(crate) struct Spawner(Arc<Inner>);

struct Inner {
    /// The socket for requests and their answers.
    calls: OwnedFd,
    /// The socket for events. It's non-blocking.
    events: OwnedFd,
    /// The number of the process that was started last.
    last: AtomicU64,
    is_root: bool,
    /// The spawner's process. `None` if the broker has connected to a spawner that was already
    /// running.
    child: Option<Child>,
    /// Events of the previous broker's processes that [`Self::event`] returns before the events in
    /// the socket.
    missed: Mutex<VecDeque<(Event, Option<OwnedFd>)>>,
}

/// A spawner that the broker has started.
struct Child {
    pid: u32,
    /// The descriptor of the spawner's output.
    output_fd: RawFd,
    /// The spawner's output. `None` once it was given to the thread that reads it.
    output: Mutex<Option<Apart>>,
}

impl Child {
    fn new(pid: u32, output: Apart) -> Self {
        Self { pid, output_fd: output.as_raw_fd(), output: Mutex::new(Some(output)) }
    }
}

/// The record of the connection to the spawner, for a program that this process executes.
#[derive(Serialize, Deserialize)]
pub(crate) struct SpawnerRecord {
    calls: KeptFd,
    events: KeptFd,
    is_root: bool,
    /// The spawner's process ID and its output, if the broker has started it.
    child: Option<(u32, KeptFd)>,
}

impl SpawnerRecord {
    pub(crate) fn is_root(&self) -> bool {
        self.is_root
    }
}

/// Ends the spawner when dropped, if the broker has started it. A spawner to which the broker has
/// connected continues.
pub(crate) struct Ending(Spawner);

impl Spawner {
    /// Starts the spawner, which has this process's privileges.
    pub(crate) fn start() -> Result<Self, BrokerError> {
        let path = program::find(PROGRAM)?;
        // Check here that the programs exist, because a message from the spawner wouldn't reach the
        // operator.
        STARTED.iter().try_for_each(|name| program::find(name).map(drop))?;
        let start = || -> io::Result<Self> {
            let (calls, their_calls) = seqpacket::pair()?;
            let (events, their_events) = seqpacket::pair()?;
            let (output, stderr) = output::pair()?;
            let mut command = Command::new(path);
            for (name, fd) in [("--calls-fd", &their_calls), ("--events-fd", &their_events)] {
                // Let the spawner inherit the descriptors. No other process could inherit them,
                // because this one starts only the spawner.
                fcntl_setfd(fd, FdFlags::empty())?;
                command.arg(name).arg(fd.as_raw_fd().to_string());
            }
            command.stdin(Stdio::null()).stdout(stderr.try_clone()?).stderr(stderr);
            command.envs(logging::child_environment());
            let child = Child::new(command.spawn()?.id(), output);
            Self::with([calls, events], process::is_root(), Some(child))
        };
        start().map_err(BrokerError::os("cannot start the spawner"))
    }

    /// Connects to a spawner that listens on this socket. If an earlier broker has left a record
    /// with which this one can continue, also returns that broker's driver library.
    pub(crate) fn connect(path: &Path) -> Result<(Self, Option<PathBuf>), BrokerError> {
        let connect = || {
            let stream = UnixStream::connect(path)?;
            let (welcome, fds) = seqpacket::receive(&stream)?
                .ok_or_else(|| io::Error::other("it refuses this user"))?;
            let Welcome { protocol, is_root, library } = welcome;
            if protocol != PROTOCOL {
                return Err(io::Error::other(format!(
                    "it has version {protocol} of the messages, and vcudad version {PROTOCOL}: \
                     restart it"
                )));
            }
            let fds = <[OwnedFd; 2]>::try_from(fds)
                .map_err(|_| io::Error::other("it sends no sockets"))?;
            Ok((Self::with(fds, is_root, None)?, library))
        };
        connect().map_err(|error| {
            BrokerError::Spawner(format!("cannot connect to {}: {error}", path.display()))
        })
    }

    fn with(fds: [OwnedFd; 2], is_root: bool, child: Option<Child>) -> io::Result<Self> {
        let [calls, events] = fds;
        process::set_nonblocking(&events)?;
        let (last, missed) = (AtomicU64::new(0), Mutex::default());
        Ok(Self(Arc::new(Inner { calls, events, last, is_root, child, missed })))
    }

    /// Returns the record from which a program that this process executes continues.
    pub(crate) fn record(&self) -> io::Result<SpawnerRecord> {
        let inner = &self.0;
        let child = inner.child.as_ref();
        let child = child.map(|child| io::Result::Ok((child.pid, KeptFd::keep(&child.output_fd)?)));
        Ok(SpawnerRecord {
            calls: KeptFd::keep(&inner.calls)?,
            events: KeptFd::keep(&inner.events)?,
            is_root: inner.is_root,
            child: child.transpose()?,
        })
    }

    /// Takes over the spawner of the program that this process executed before.
    pub(crate) fn restore(record: &SpawnerRecord) -> io::Result<Self> {
        let child = record.child.as_ref();
        let child = child.map(|(pid, fd)| io::Result::Ok(Child::new(*pid, fd.take()?.into())));
        Self::with(
            [record.calls.take()?, record.events.take()?],
            record.is_root,
            child.transpose()?,
        )
    }

    /// Returns a value that ends the spawner when it's dropped.
    pub(crate) fn ending(&self) -> Ending {
        Ending(self.clone())
    }

    /// Returns true if the spawner, and all processes, outlive the broker.
    pub(crate) fn outlives_broker(&self) -> bool {
        self.0.child.is_none()
    }

    /// Returns the number of the process that was started last.
    pub(crate) fn last_process(&self) -> ProcessId {
        self.0.last.load(Ordering::Relaxed)
    }

    /// Takes over the processes of the broker that this one replaces. `last` is the number of the
    /// process that that broker started last.
    pub(crate) fn processes(&self, last: ProcessId) -> io::Result<Processes> {
        let mut processes = Processes(BTreeMap::new());
        let mut after = 0;
        while let Some((id, process)) = self.next_process(after)? {
            processes.0.insert(id, process);
            after = id;
        }
        self.0.last.store(last.max(after), Ordering::Relaxed);
        Ok(processes)
    }

    fn next_process(&self, after: ProcessId) -> io::Result<Option<(ProcessId, KeptProcess)>> {
        let failed = |refusal: Refusal| io::Error::other(refusal.reason);
        let (answer, fds) = self.call(Call::NextProcess { after }, &[]).map_err(failed)?;
        let Answer::Process { id, pid, end, kept } = answer else { return Ok(None) };
        let mut fds = fds.into_iter();
        let pidfd = fds.next().ok_or_else(|| io::Error::other("a process has no pidfd"))?;
        let kept = kept.into_iter().map(|what| (what, fds.by_ref().take(what.count()).collect()));
        Ok(Some((id, KeptProcess { pid, pidfd, end, kept: kept.collect() })))
    }

    /// Has the spawner keep the file with which another broker can continue.
    pub(crate) fn keep_record(&self, file: &OwnedFd) -> Result<(), String> {
        let kept = self.call(Call::KeepRecord, &[file.as_fd()]);
        kept.map(drop).map_err(|refusal| refusal.reason)
    }

    /// Takes the file that an earlier broker had the spawner keep with [`Self::keep_record`].
    pub(crate) fn take_record(&self) -> io::Result<File> {
        let (_, fds) =
            self.call(Call::TakeRecord, &[]).map_err(|refusal| io::Error::other(refusal.reason))?;
        let fd = fds.into_iter().next().ok_or_else(|| io::Error::other("there is no record"))?;
        Ok(fd.into())
    }

    /// Adds an event that [`Self::event`] returns before the events in the socket.
    pub(crate) fn add_missed(&self, event: Event, pidfd: Option<OwnedFd>) {
        let mut missed = self.0.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.push_back((event, pidfd));
    }

    /// Has the spawner keep copies of descriptors with a process.
    pub(crate) fn keep(&self, id: ProcessId, what: Kept, fds: &[BorrowedFd]) -> io::Result<()> {
        seqpacket::send(&self.0.calls, &ToSpawner::Keep { id, what }, fds)
    }

    /// Has the spawner close its copies of descriptors.
    pub(crate) fn drop_kept(&self, id: ProcessId, what: Kept) {
        self.send(&ToSpawner::Drop { id, what });
    }

    /// Has the spawner forget a process that has ended.
    pub(crate) fn forget(&self, id: ProcessId) {
        self.send(&ToSpawner::Forget { id });
    }

    /// Returns true if the spawner runs as root, so that each VM's processes get a user.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_root
    }

    /// Adds the spawner's output to the log.
    pub(crate) fn log(&self, outputs: &Outputs) -> Option<Output> {
        let child = self.0.child.as_ref()?;
        let output = child.output.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let output = outputs.read(output, "spawner", None);
        output.set_pid(child.pid);
        Some(output)
    }

    /// Returns the descriptor that is readable when there is an event.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.0.events.as_raw_fd()
    }

    /// Takes the next event, with the pidfd that it carries. Returns `None` if there is none now.
    pub(crate) fn event(&self) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
        let mut missed = self.0.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = missed.pop_front() {
            return Ok(Some(event));
        }
        match seqpacket::receive(&self.0.events) {
            Ok(Some((event, fds))) => Ok(Some((event, fds.into_iter().next()))),
            Ok(None) => Err(io::Error::other("the spawner has ended")),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Starts a program with these descriptors. Returns the number that its events will have.
    pub(crate) fn start_program(
        &self,
        program: Program,
        fds: [BorrowedFd; 2],
    ) -> io::Result<ProcessId> {
        let id = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        seqpacket::send(&self.0.calls, &ToSpawner::Start { id, program }, &fds)?;
        Ok(id)
    }

    /// Kills a process, unless it has exited.
    pub(crate) fn kill(&self, id: ProcessId) {
        self.send(&ToSpawner::Kill { id });
    }

    /// Has the spawner remove all files in a VM's shared memory.
    pub(crate) fn clear_shared(&self, vm: &str) {
        self.send(&ToSpawner::ClearShared { vm: vm.to_owned() });
    }

    fn send(&self, message: &ToSpawner) {
        // Sending fails only if the spawner has ended, which the event loop reports.
        let _ = seqpacket::send(&self.0.calls, message, &[]);
    }

    /// Makes a call that carries these descriptors, and waits for the answer.
    pub(crate) fn call(
        &self,
        call: Call,
        fds: &[BorrowedFd],
    ) -> Result<(Answer, Vec<OwnedFd>), Refusal> {
        let failed = |error: io::Error| Refusal {
            part: Part::Request,
            reason: format!("cannot reach the spawner: {error}"),
        };
        seqpacket::send(&self.0.calls, &ToSpawner::Call(call), fds).map_err(failed)?;
        match seqpacket::receive(&self.0.calls).map_err(failed)? {
            Some((Answer::Refused(refusal), _)) => Err(refusal),
            Some(answer) => Ok(answer),
            None => Err(failed(io::Error::other("it has ended"))),
        }
    }

    /// Does the same as [`Self::call`], for a call whose answer contains nothing. An error says why
    /// it failed.
    pub(crate) fn request(&self, call: Call) -> Result<(), String> {
        self.call(call, &[]).map(drop).map_err(|refusal| refusal.reason)
    }

    /// Makes a call whose answer carries a listening socket.
    pub(crate) fn bind(&self, call: Call) -> Result<UnixListener, Refusal> {
        let (_, fds) = self.call(call, &[])?;
        let missing = || Refusal { part: Part::Socket, reason: "there is no socket".into() };
        fds.into_iter().next().map(UnixListener::from).ok_or_else(missing)
    }

    /// Waits until a process has ended, and ignores all other events. Used at startup, when there
    /// is only one process.
    pub(crate) fn wait_for(&self, process: ProcessId) -> io::Result<End> {
        loop {
            match self.event()? {
                Some((Event::Ended { id, how }, _)) if id == process => {
                    self.forget(id);
                    return Ok(how);
                }
                Some(_) => {}
                None => {
                    let _ = poll(&mut [PollFd::new(&self.0.events, PollFlags::IN)], None);
                }
            }
        }
    }
}

impl Drop for Ending {
    /// Makes the spawner end all processes and remove what it has created, and waits for that.
    fn drop(&mut self) {
        let inner = &self.0.0;
        let Some(Child { pid, .. }) = inner.child else { return };
        let _ = shutdown(&inner.calls, Shutdown::Write);
        if let Some(status) = wait(pid)
            && !status.success()
        {
            tracing::error!("the spawner failed: {status}");
        }
    }
}

/// A process of the broker that this one replaces.
pub(crate) struct KeptProcess {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
    /// How it ended, if it has.
    pub(crate) end: Option<End>,
    kept: BTreeMap<Kept, Vec<OwnedFd>>,
}

impl KeptProcess {
    /// Takes a set of descriptors, if the spawner has kept it.
    pub(crate) fn take<const N: usize>(&mut self, what: Kept) -> Option<[OwnedFd; N]> {
        self.kept.remove(&what)?.try_into().ok()
    }
}

/// The processes of the broker that this one replaces.
pub(crate) struct Processes(BTreeMap<ProcessId, KeptProcess>);

impl Processes {
    /// Takes a process out of this table.
    pub(crate) fn take(&mut self, id: ProcessId) -> Option<KeptProcess> {
        self.0.remove(&id)
    }

    /// Ends the processes that haven't been taken out of this table.
    pub(crate) fn end(self, spawner: &Spawner) {
        for id in self.0.into_keys() {
            spawner.kill(id);
            spawner.forget(id);
        }
    }
}

/// Waits until the child with this process ID has exited. (A broker that has replaced another one
/// has no `std::process::Child` for the spawner.)
fn wait(pid: u32) -> Option<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a local variable, which the call may write, and which outlives the
        // call.
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
        let child = Child { pid: process.id(), output_fd: -1, output: Mutex::new(None) };
        let spawner = Self::with([calls, events], false, Some(child)).unwrap();
        (spawner, [their_calls, their_events])
    }
}
