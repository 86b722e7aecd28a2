//! The supervisor of workers, a process that performs their operations on the driver's objects. It
//! has a thread for each worker in the jail.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use crate::processes::launcher::Launcher;
use crate::processes::process::{ChildProcess, ChildRecord, describe};
use crate::processes::spawner::Processes;
use host_ipc::messages::{DriverObject, FromSupervisor, SessionOfVm, ToSupervisor};
use host_ipc::seqpacket;
use host_ipc::spawner::{End, ProcessId};

/// An action that the supervisor's handle asks the coordinator to carry out.
pub(crate) enum SupervisorEffect {
    /// Watch the socket of a new supervisor.
    Watch(RawFd),
    /// Stop watching the supervisor's socket, which has been closed or has failed.
    Unwatch(RawFd),
    /// The supervisor has exited. Stop watching its socket before dropping it.
    Ended(ChildProcess),
}

/// The supervisor, if workers have a jail.
#[derive(Default)]
pub(crate) struct Supervisor {
    process: Option<ChildProcess>,
    effects: Vec<SupervisorEffect>,
}

impl Supervisor {
    /// Starts the supervisor, if workers have a jail.
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut supervisor = Self::default();
        if launcher.has_jail() {
            supervisor.running(launcher)?;
        }
        Ok(supervisor)
    }

    /// Returns the record from which a broker that replaces this one continues.
    pub(crate) fn record(&self) -> Option<ChildRecord> {
        self.process.as_ref().map(ChildProcess::record)
    }

    /// Takes over the supervisor of the broker that this one replaces, if that broker had one.
    pub(crate) fn restore(
        record: Option<ChildRecord>,
        launcher: &Launcher,
        processes: &mut Processes,
    ) -> io::Result<Self> {
        let process = record.map(|record| launcher.restore(record, processes, "supervisor", None));
        let process = process.transpose()?.map(|(process, _)| process);
        let watch = process.as_ref().map(|process| SupervisorEffect::Watch(process.socket_fd()));
        Ok(Self { process, effects: watch.into_iter().collect() })
    }

    /// Makes the supervisor supervise the worker with the pidfd `worker`. Returns the socket on
    /// which the worker must send the listener of its system call filter. `label` names the session
    /// in the log. `objects` are the worker's objects of the driver so far.
    pub(crate) fn add(
        &mut self,
        launcher: &Launcher,
        label: &str,
        session: SessionOfVm,
        objects: Vec<DriverObject>,
        worker: BorrowedFd,
    ) -> io::Result<OwnedFd> {
        let process = self.running(launcher)?;
        let (ours, theirs) = seqpacket::pair()?;
        let message = ToSupervisor::Worker { label: label.to_owned(), session, objects };
        process.send(&message, &[theirs.as_fd(), worker])?;
        Ok(ours)
    }

    fn running(&mut self, launcher: &Launcher) -> io::Result<&ChildProcess> {
        match &mut self.process {
            Some(process) => Ok(process),
            none => {
                let process = none.insert(launcher.start_supervisor()?);
                self.effects.push(SupervisorEffect::Watch(process.socket_fd()));
                Ok(process)
            }
        }
    }

    /// Kills the supervisor. Its end is reported later.
    pub(crate) fn kill(&self) {
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Takes the effects since the last call, in order.
    pub(crate) fn take_effects(&mut self) -> Vec<SupervisorEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Reads one message, if there is one.
    pub(crate) fn receive(&mut self) -> Option<FromSupervisor> {
        let process = self.process.as_ref()?;
        match process.receive() {
            Ok(Some(message)) => return Some(message),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            ended => {
                // If the supervisor has exited, the spawner reports its end, so log only other
                // errors.
                if let Err(error) = ended {
                    tracing::error!("refused calls aren't counted any more: {error}");
                }
                self.effects.push(SupervisorEffect::Unwatch(process.socket_fd()));
            }
        }
        None
    }

    /// Handles that a process has started. Returns its pidfd if it isn't the supervisor.
    pub(crate) fn set_started(
        &mut self,
        id: ProcessId,
        pid: u32,
        pidfd: OwnedFd,
    ) -> Option<OwnedFd> {
        match self.process.as_mut().filter(|process| process.id() == id) {
            Some(process) => {
                process.set_started(pid, pidfd);
                None
            }
            None => Some(pidfd),
        }
    }

    /// Handles that a process has ended. The next worker starts another supervisor.
    pub(crate) fn set_ended(&mut self, id: ProcessId, how: &End) {
        if let Some(process) = self.process.take_if(|process| process.id() == id) {
            // The supervisor's workers can't perform any more operations on driver objects, and get
            // errors.
            tracing::error!("the supervisor of workers {}", describe(how));
            self.effects.push(SupervisorEffect::Ended(process));
        }
    }
}
