//! Child processes. Each child has a seqpacket socket to the broker, and its output goes to the
//! broker's log. The spawner starts them, and reports when they have exited.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::kept_fd::KeptFd;
use super::output::{self, Output, Outputs};
use super::spawner::Spawner;
use host_ipc::apart::Apart;
use host_ipc::spawner::{End, ProcessId, Program};
use host_ipc::{process, seqpacket};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A child process that may not have started.
pub(crate) struct ChildProcess {
    id: ProcessId,
    spawner: Spawner,
    /// Its process ID and its pidfd, once it has started.
    started: Option<(u32, OwnedFd)>,
    /// How it ended, once it has.
    end: Option<End>,
    /// The broker's end of the child's socket. It is non-blocking, and messages with descriptors
    /// are refused.
    socket: Apart,
    output: Output,
}

/// A child process that hasn't been reaped, for a broker that replaces this one.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChildRecord {
    id: ProcessId,
    started: Option<(u32, KeptFd)>,
    socket: KeptFd,
    output: KeptFd,
}

impl ChildProcess {
    /// Returns what a broker that replaces this one needs.
    pub(crate) fn record(&self) -> io::Result<ChildRecord> {
        let started = self.started.as_ref();
        let started = started.map(|(pid, pidfd)| io::Result::Ok((*pid, KeptFd::keep(pidfd)?)));
        Ok(ChildRecord {
            id: self.id,
            started: started.transpose()?,
            socket: KeptFd::keep(&self.socket)?,
            output: KeptFd::keep(&self.output)?,
        })
    }

    /// Continues with a child of the broker that this one replaces. `name` and `vm` mark its lines
    /// in the log.
    pub(crate) fn restore(
        record: &ChildRecord,
        spawner: &Spawner,
        outputs: &Outputs,
        name: &'static str,
        vm: Option<&str>,
    ) -> io::Result<Self> {
        let started = record.started.map(|(pid, pidfd)| io::Result::Ok((pid, pidfd.take()?)));
        let started = started.transpose()?;
        let output = outputs.read(record.output.take()?.into(), name, vm);
        if let Some((pid, _)) = &started {
            output.set_pid(*pid);
        }
        Ok(Self {
            id: record.id,
            spawner: spawner.clone(),
            started,
            end: None,
            socket: record.socket.take()?.into(),
            output,
        })
    }

    /// Starts a program. `name` and `vm` mark its lines in the log. Messages can be sent before it
    /// has started.
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
        let id = spawner.start_program(program, [theirs.as_raw_fd(), stderr.as_raw_fd()])?;
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
    pub(crate) fn pidfd(&self) -> Option<RawFd> {
        self.started.as_ref().map(|(_, pidfd)| pidfd.as_raw_fd())
    }

    /// Sends a message to the child.
    pub(crate) fn send(&self, message: &impl Serialize, fds: &[RawFd]) -> io::Result<()> {
        seqpacket::send(&self.socket, message, fds)
    }

    /// Receives a message from the child. Returns `None` if the child has closed its socket.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        seqpacket::receive_plain(&self.socket)
    }

    /// Sets the VM of a process that was started without one, for its lines in the log.
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
