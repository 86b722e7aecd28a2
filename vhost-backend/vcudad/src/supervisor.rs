//! The supervisor of workers, a process that performs their control operations of the driver. It has
//! a thread for each worker in the jail.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::launcher::Launcher;
use super::process::{ChildProcess, describe};
use host_ipc::messages::ToSupervisor;
use host_ipc::seqpacket;
use host_ipc::spawner::{End, ProcessId};

/// The supervisor. `None` if workers have no jail.
#[derive(Default)]
pub(crate) struct Supervisor(Option<ChildProcess>);

impl Supervisor {
    /// Starts the supervisor, if workers have a jail.
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut supervisor = Self::default();
        if launcher.has_jail() {
            supervisor.running(launcher)?;
        }
        Ok(supervisor)
    }

    /// Makes the supervisor supervise a worker with this pidfd. Returns the socket on which that
    /// worker must send its listener. `label` names the session in the log.
    pub(crate) fn add(
        &mut self,
        launcher: &Launcher,
        label: &str,
        worker: RawFd,
    ) -> io::Result<OwnedFd> {
        let process = self.running(launcher)?;
        let (ours, theirs) = seqpacket::pair()?;
        let message = ToSupervisor::Worker { label: label.to_owned() };
        process.send(&message, &[theirs.as_raw_fd(), worker])?;
        Ok(ours)
    }

    fn running(&mut self, launcher: &Launcher) -> io::Result<&ChildProcess> {
        match &mut self.0 {
            Some(process) => Ok(process),
            none => Ok(none.insert(launcher.start_supervisor()?)),
        }
    }

    /// Handles that a process has started. Returns its pidfd if it isn't the supervisor.
    pub(crate) fn set_started(
        &mut self,
        id: ProcessId,
        pid: u32,
        pidfd: OwnedFd,
    ) -> Option<OwnedFd> {
        match self.0.as_mut().filter(|process| process.id() == id) {
            Some(process) => {
                process.set_started(pid, pidfd);
                None
            }
            None => Some(pidfd),
        }
    }

    /// Handles that a process has ended. The next worker starts another supervisor.
    pub(crate) fn set_ended(&mut self, id: ProcessId, how: &End) {
        if self.0.as_ref().is_some_and(|process| process.id() == id) {
            // Its workers can't perform any more operations, and get errors from the driver.
            tracing::error!("the supervisor of workers {}", describe(how));
            self.0 = None;
        }
    }
}
