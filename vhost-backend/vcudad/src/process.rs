//! Child processes. Each child has a seqpacket socket to the broker, and its output goes to the
//! broker's log. A pidfd tells the broker when the child has exited.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use super::output::{self, Output, Outputs};
use host_ipc::apart::Apart;
use host_ipc::{process, seqpacket};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns true if this process runs as root, so that it can run its children as other users.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes no arguments.
    unsafe { libc::geteuid() == 0 }
}

/// The nice value of the broker's threads. Otherwise, VMs that keep all CPUs busy would delay it, and
/// the start of each process, for which it waits.
const BROKER_NICE: libc::c_int = -10;

/// The nice value with which this program was started, which is that of its children.
static NICE: OnceLock<libc::c_int> = OnceLock::new();

/// Raises the priority of this thread, and of those that it starts, if that is allowed.
pub(crate) fn go_before_vms() {
    // SAFETY: neither call takes a pointer.
    unsafe {
        NICE.get_or_init(|| libc::getpriority(libc::PRIO_PROCESS, 0));
        libc::setpriority(libc::PRIO_PROCESS, 0, BROKER_NICE);
    }
}

/// Starts a child process, with the priority that this program was started with.
pub(crate) fn spawn(command: &mut Command) -> io::Result<Child> {
    let child = command.spawn()?;
    if let Some(nice) = NICE.get() {
        // The child has loaded its program, but hasn't started threads.
        // SAFETY: the call takes no pointer. The child hasn't been reaped, so its process ID can't
        // have been reused.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, child.id(), *nice) };
    }
    Ok(child)
}

/// A running child process.
pub(crate) struct ChildProcess {
    child: Child,
    /// A descriptor that becomes readable when the child has exited.
    pidfd: OwnedFd,
    /// The broker's end of the child's socket. It is non-blocking, and messages with descriptors
    /// are refused.
    socket: Apart,
    output: Output,
}

impl ChildProcess {
    /// Starts `command` with the additional arguments `--broker-fd N`, where `N` is the child's end
    /// of a new socket. `program` and `vm` mark the child's lines in the log.
    pub(crate) fn start(
        mut command: Command,
        outputs: &Outputs,
        program: &'static str,
        vm: Option<&str>,
    ) -> io::Result<Self> {
        let (ours, theirs) = seqpacket::pair()?;
        process::set_nonblocking(&ours)?;
        seqpacket::refuse_descriptors(&ours)?;
        // The child inherits `theirs`. Only this thread starts children, so no other child can
        // inherit it before it is dropped.
        // SAFETY: F_SETFD takes only an integer.
        if unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETFD, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let (output, stderr) = output::pair()?;
        command.arg("--broker-fd").arg(theirs.as_raw_fd().to_string()).stdin(Stdio::null());
        command.stdout(stderr.try_clone()?).stderr(stderr);
        let mut child = spawn(&mut command)?;
        // SAFETY: pidfd_open takes only integers. The child hasn't been reaped, so its process ID
        // can't have been reused.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        if pidfd < 0 {
            let error = io::Error::last_os_error();
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        // SAFETY: the descriptor is new, so nothing else owns it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as libc::c_int) };
        let output = outputs.read(output, program, child.id(), vm);
        Ok(Self { child, pidfd, socket: ours.into(), output })
    }

    /// Returns the descriptor of the broker's end of the child's socket.
    pub(crate) fn socket_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Returns the pidfd, which becomes readable when the child has exited.
    pub(crate) fn pidfd(&self) -> RawFd {
        self.pidfd.as_raw_fd()
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

    /// Returns the child's process ID.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the child, which is reaped later.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Reaps the child if it has exited, and returns its exit status.
    pub(crate) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills the child and waits until it has exited.
    pub(crate) fn kill_and_wait(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Describes how a process exited.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(libc::SIGKILL)) => "was killed".into(),
        (None, Some(libc::SIGBUS)) => "died because the VMM took guest memory away (SIGBUS)".into(),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
