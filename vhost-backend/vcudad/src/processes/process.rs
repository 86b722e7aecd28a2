//! Child processes. Each child has a seqpacket socket to the broker, and its output goes to the
//! broker's log. The spawner starts them, and reports when they have exited.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::processes::output::{self, Output, Outputs};
use crate::processes::spawner::{KeptProcess, Processes, Spawner};
use host_ipc::apart::Apart;
use host_ipc::spawner::{End, Event, Kept, ProcessId, Program};
use host_ipc::{process, seqpacket};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A child process that may not have started.
pub(crate) struct ChildProcess {
    id: ProcessId,
    spawner: Spawner,
    /// The child's process ID and its pidfd, once it has started.
    started: Option<(u32, OwnedFd)>,
    /// How the child ended, once it has ended.
    end: Option<End>,
    /// The broker's end of the child's socket. It is non-blocking, and messages with descriptors
    /// are refused.
    socket: Apart,
    output: Output,
}

/// The record of a child process that hasn't been reaped, for a broker that replaces this one.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChildRecord {
    id: ProcessId,
    /// Whether the broker knows that the child has started.
    has_started: bool,
}

impl ChildProcess {
    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> ChildRecord {
        ChildRecord { id: self.id, has_started: self.started.is_some() }
    }

    /// Takes over a child of the broker that this one replaces. `name` and `vm` mark the child's
    /// lines in the log. Adds events for what has happened to the child since that broker ended.
    /// Also returns the other descriptors that the spawner keeps with the process.
    pub(crate) fn restore(
        record: ChildRecord,
        spawner: &Spawner,
        processes: &mut Processes,
        outputs: &Outputs,
        name: &'static str,
        vm: Option<&str>,
    ) -> io::Result<(Self, Option<KeptProcess>)> {
        let ChildRecord { id, has_started } = record;
        let mut kept = processes.take(id);
        let ends = kept.as_mut().and_then(|process| process.take(Kept::Process));
        let (socket, output) = match ends {
            Some([socket, output]) => (Apart::from(socket), Apart::from(output)),
            None => {
                // The spawner has no descriptors of the child: the child couldn't be started, or
                // the previous broker ended before it had the spawner keep them. Kill the child.
                spawner.kill(id);
                (seqpacket::pair()?.0.into(), output::pair()?.0)
            }
        };
        let output = outputs.read(output, name, vm);
        let mut started = None;
        if let Some(process) = &kept {
            let pidfd = process.pidfd.try_clone()?;
            if has_started {
                output.set_pid(process.pid);
                started = Some((process.pid, pidfd));
            } else {
                spawner.add_missed(Event::Started { id, pid: process.pid }, Some(pidfd));
            }
        }
        let end = match &kept {
            Some(process) => process.end.clone(),
            None => Some(End::NotStarted("vcudad was restarted meanwhile".into())),
        };
        if let Some(how) = end {
            spawner.add_missed(Event::Ended { id, how }, None);
        }
        Ok((Self { id, spawner: spawner.clone(), started, end: None, socket, output }, kept))
    }

    /// Starts a program. `name` and `vm` mark its lines in the log. Messages can be sent to the
    /// program before it has started.
    pub(crate) fn start(
        program: Program,
        spawner: &Spawner,
        outputs: &Outputs,
        name: &'static str,
        vm: Option<&str>,
    ) -> io::Result<Self> {
        let (ours, theirs) = seqpacket::pair()?;
        process::set_nonblocking(&ours)?;
        seqpacket::refuse_descriptors(&ours)?;
        let (output, stderr) = output::pair()?;
        let id = spawner.start_program(program, [theirs.as_fd(), stderr.as_fd()])?;
        spawner.keep(id, Kept::Process, &[ours.as_fd(), output.as_fd()])?;
        Ok(Self {
            id,
            spawner: spawner.clone(),
            started: None,
            end: None,
            socket: ours.into(),
            output: outputs.read(output, name, vm),
        })
    }

    /// Returns the spawner's number for the process.
    pub(crate) fn id(&self) -> ProcessId {
        self.id
    }

    /// Has the spawner keep copies of descriptors with the process. A broker that replaces this one
    /// gets them.
    pub(crate) fn keep(&self, what: Kept, fds: &[BorrowedFd]) -> io::Result<()> {
        self.spawner.keep(self.id, what, fds)
    }

    /// Has the spawner close its copies of the process's descriptors.
    pub(crate) fn drop_kept(&self, what: Kept) {
        self.spawner.drop_kept(self.id, what);
    }

    /// Records that the process has started.
    pub(crate) fn set_started(&mut self, pid: u32, pidfd: OwnedFd) {
        self.output.set_pid(pid);
        self.started = Some((pid, pidfd));
    }

    /// Records that the process has ended.
    pub(crate) fn set_ended(&mut self, how: End) {
        self.end = Some(how);
    }

    /// Returns the descriptor of the broker's end of the child's socket.
    pub(crate) fn socket_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Returns the pidfd, if the process has started.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.started.as_ref().map(|(_, pidfd)| pidfd.as_fd())
    }

    /// Sends a message to the child.
    pub(crate) fn send(&self, message: &impl Serialize, fds: &[BorrowedFd]) -> io::Result<()> {
        seqpacket::send(&self.socket, message, fds)
    }

    /// Receives a message from the child. Returns `None` if the child has closed its socket.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        seqpacket::receive_plain(&self.socket)
    }

    /// Sets the VM of a process that was started without a VM, for the process's lines in the log.
    pub(crate) fn set_vm(&self, vm: &str) {
        self.output.set_vm(vm);
    }

    /// Returns the child's process ID, if the process has started.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.started.as_ref().map(|(pid, _)| *pid)
    }

    /// Kills the child. Its end is reported later.
    pub(crate) fn kill(&self) {
        if self.end.is_none() {
            self.spawner.kill(self.id);
        }
    }

    /// Returns how the child ended, if it has.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }
}

/// Describes how a process ended.
pub(crate) fn describe(how: &End) -> String {
    let status = match how {
        End::Exited(status) => ExitStatus::from_raw(*status),
        End::NotStarted(reason) => return format!("cannot be started: {reason}"),
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(libc::SIGKILL)) => "was killed".into(),
        (None, Some(libc::SIGBUS)) => "died because the VMM took guest memory away (SIGBUS)".into(),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
