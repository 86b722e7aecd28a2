//! The supervisor of workers, a process that performs their control operations of the driver. It has
//! a thread for each worker in the jail.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::jail::Jail;
use super::launcher::Launcher;
use super::process::{ChildProcess, describe};
use host_ipc::messages::ToSupervisor;
use host_ipc::seqpacket;

/// The supervisor. `None` if workers have no jail.
#[derive(Default)]
pub(crate) struct Supervisor(Option<ChildProcess>);

impl Supervisor {
    /// Starts the supervisor, if workers have a jail.
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut supervisor = Self::default();
        if let Some(jail) = launcher.jail() {
            supervisor.running(launcher, jail)?;
        }
        Ok(supervisor)
    }

    /// Makes the supervisor supervise a worker with this pidfd. Returns the socket on which that
    /// worker must send its listener. `label` names the session in the log.
    pub(crate) fn add(
        &mut self,
        launcher: &Launcher,
        jail: &Jail,
        label: &str,
        worker: RawFd,
    ) -> io::Result<OwnedFd> {
        let process = self.running(launcher, jail)?;
        let (ours, theirs) = seqpacket::pair()?;
        let message = ToSupervisor::Worker { label: label.to_owned() };
        process.send(&message, &[theirs.as_raw_fd(), worker])?;
        Ok(ours)
    }

    fn running(&mut self, launcher: &Launcher, jail: &Jail) -> io::Result<&ChildProcess> {
        if let Some(status) = self.0.as_mut().and_then(ChildProcess::reap) {
            // Its workers can't perform any more operations, and get errors from the driver.
            tracing::error!("the supervisor of workers {}; starting another", describe(status));
            self.0 = None;
        }
        match &mut self.0 {
            Some(process) => Ok(process),
            none => Ok(none.insert(launcher.start_supervisor(jail)?)),
        }
    }

    /// Ends the process.
    pub(crate) fn end(&mut self) {
        if let Some(mut process) = self.0.take() {
            process.kill_and_wait();
        }
    }
}
