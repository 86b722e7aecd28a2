//! Child processes: each with a seqpacket socket to the broker, and a pidfd to reap it by.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::error::BrokerError;
use host_ipc::apart::Apart;
use host_ipc::{process, program, seqpacket};

/// Whether this process is root, and so can give its children users of their own.
pub fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

/// Our other programs.
pub(super) struct Programs {
    pub(super) folder: PathBuf,
    pub(super) device: PathBuf,
    pub(super) worker: PathBuf,
}

impl Programs {
    /// They lie next to this one.
    pub(super) fn find() -> Result<Self, BrokerError> {
        Ok(Self {
            device: program::find("vhost-device-cuda")?,
            worker: program::find("vhost-cuda-worker")?,
            folder: program::folder()?,
        })
    }
}

/// A running child.
pub(super) struct Running {
    child: Child,
    /// Readable once the child has ended.
    pub(super) pidfd: OwnedFd,
    /// Our end of its socket; non-blocking, and nothing that it sends there has descriptors.
    pub(super) socket: Apart,
}

impl Running {
    /// Starts `command` with `--broker-fd N`.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let (ours, theirs) = seqpacket::pair()?;
        process::set_nonblocking(&ours)?;
        seqpacket::refuse_descriptors(&ours)?;
        // The child inherits its end. The broker starts children on one thread only, so no other
        // is started between here and the drop of `theirs`.
        // SAFETY: F_SETFD takes an integer.
        if unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETFD, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        command.arg("--broker-fd").arg(theirs.as_raw_fd().to_string()).stdin(Stdio::null());
        let mut child = command.spawn()?;
        // SAFETY: pidfd_open takes integers; the child has not been reaped, so the id is its own.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        if pidfd < 0 {
            let error = io::Error::last_os_error();
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        // SAFETY: the descriptor is new and nobody else's.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as libc::c_int) };
        Ok(Self { child, pidfd, socket: ours.into() })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it. It is reaped later.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// How it ended, if it has; it is reaped then.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it and waits for its end.
    pub(super) fn end(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// How a process ended, in words.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(libc::SIGKILL)) => "was killed".into(),
        (None, Some(libc::SIGBUS)) => "died because the VMM took guest memory away (SIGBUS)".into(),
        (None, Some(signal)) => format!("died of signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Gives a child that loads the driver library what that takes of the host's environment, and
/// nothing else.
pub(super) fn clean_env(command: &mut Command) {
    let passed = |name: &str| {
        ["PATH", "LD_LIBRARY_PATH", "RUST_LOG", "RUST_BACKTRACE", "RAYON_NUM_THREADS"]
            .contains(&name)
            || name.starts_with("SOFTGPU_")
    };
    command.env_clear().envs(std::env::vars().filter(|(name, _)| passed(name)));
}

/// A worker's command line. It sees the GPUs that CUDA_VISIBLE_DEVICES is to name.
pub(super) fn worker(
    programs: &Programs,
    library: &Path,
    visible: &str,
    env: &[(String, String)],
) -> Command {
    let mut command = Command::new(&programs.worker);
    command.arg("--driver-library").arg(library);
    clean_env(&mut command);
    command.env("CUDA_VISIBLE_DEVICES", visible);
    command.env("CUDA_MPS_PIPE_DIRECTORY", super::mps::NOWHERE);
    // The driver's cache of compiled kernels would be shared between VMs.
    command.env("CUDA_CACHE_DISABLE", "1").env("HOME", "/nonexistent");
    command.envs(env.iter().map(|(name, value)| (name, value)));
    command
}

/// A device process's command line; the rest it is told on its socket.
pub(super) fn device(programs: &Programs) -> Command {
    let mut command = Command::new(&programs.device);
    command.arg("--serve");
    command
}
