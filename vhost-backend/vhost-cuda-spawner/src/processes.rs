//! The processes that this process has started for the broker.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use host_ipc::gate::GateMap;
use host_ipc::spawner::{End, Event, Kept, NewSession, ProcessId, Program};
use host_ipc::{apart, doorbell};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::child::Child;
use crate::files::{Each, Places};
use crate::jail::{Jail, add_arguments};
use crate::kept::KeptFds;
use crate::mps::Mps;
use crate::mps_client::client_env;
use crate::pid_namespace::start_in_new;
use crate::policy::{MAX_PROCESSES, Policy, check_devices, check_env, check_visible};
use crate::programs::{Programs, add_users};
use crate::start::{Preparation, THIS_PROGRAM};
use crate::vms::Vms;

/// The PID namespace of a new process.
enum Namespace {
    Host,
    New,
    Workers,
}

/// A program that is about to be started.
struct Start<'a> {
    command: Command,
    namespace: Namespace,
    /// The VM in whose cgroup the process starts.
    vm: Option<&'a str>,
    /// The pipe directory of the MPS daemon that must be ready before the process executes its
    /// program.
    pipe: Option<PathBuf>,
    /// The file systems that a worker mounts in its jail.
    mounts: Option<Each<OwnedFd>>,
    /// If the worker has no VM yet, descriptors of the same mounts. When the worker gets a VM, the
    /// VM's file systems are mounted over these mounts.
    places: Option<Places>,
}

/// The parts of the server that starting a program needs.
pub(crate) struct Parts<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) programs: &'a Programs,
    pub(crate) vms: &'a mut Vms,
    pub(crate) jail: Option<&'a mut Jail>,
    pub(crate) mps: &'a mut Mps,
    /// The nice value of started processes.
    pub(crate) nice: i32,
    /// Whether the spawner runs as root, so that processes of a VM run as the VM's user.
    pub(crate) is_root: bool,
}

/// A process that the broker hasn't forgotten.
pub(crate) struct Process {
    child: Child,
    /// How the process ended, if it has been reaped.
    pub(crate) end: Option<End>,
    pub(crate) kept: KeptFds,
    /// If it's a worker that has no VM yet, the mounts over which the VM's file systems are mounted
    /// when the worker gets a VM.
    places: Option<Places>,
}

impl Process {
    fn new(child: Child, places: Option<Places>) -> Self {
        Self { child, end: None, kept: KeptFds::default(), places }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }
}

/// Returns the pidfd, which becomes readable when the process has exited.
impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.child.as_fd()
    }
}

/// The processes that the broker hasn't forgotten.
#[derive(Default)]
pub(crate) struct Processes(BTreeMap<ProcessId, Process>);

impl Processes {
    /// Starts a program with the given descriptors. Returns its process ID and its pidfd.
    pub(crate) fn start(
        &mut self,
        id: ProcessId,
        program: &Program,
        fds: Vec<OwnedFd>,
        parts: &mut Parts<'_>,
    ) -> Result<(u32, OwnedFd), String> {
        let [first, second] = <[OwnedFd; 2]>::try_from(fds)
            .map_err(|fds| format!("a program gets two descriptors, not {}", fds.len()))?;
        self.check_new(id, MAX_PROCESSES)?;
        let is_probe = matches!(program, Program::Probe { .. });
        let Start { mut command, namespace, vm, pipe, mounts, places } = prepare(program, parts)?;
        if !is_probe {
            command.arg("--broker-fd").arg(first.as_raw_fd().to_string());
        }
        let cgroup = vm.map(|vm| parts.vms.get(vm)).transpose()?.and_then(|vm| vm.cgroup.as_ref());
        let preparation = Preparation {
            nice: Some(parts.nice),
            cgroup: cgroup.map(|cgroup| cgroup.path().to_owned()),
            pipe,
            ..Preparation::default()
        };
        let mut command = preparation.before(&command, THIS_PROGRAM);
        command.stdin(Stdio::null());
        // Clear close-on-exec, so that the child inherits these descriptors. No other process
        // inherits them, because only this thread starts programs, and it closes the descriptors
        // before it starts the next program.
        let connect = || -> io::Result<Option<OwnedFd>> {
            if let Some(Each { shared, cache }) = &mounts {
                fcntl_setfd(shared, FdFlags::empty())?;
                fcntl_setfd(cache, FdFlags::empty())?;
            }
            if is_probe {
                command.stdout(first).stderr(second);
                return Ok(None);
            }
            command.stdout(second.try_clone()?).stderr(second);
            fcntl_setfd(&first, FdFlags::empty())?;
            Ok(Some(first))
        };
        let _inherited =
            connect().map_err(|error| format!("cannot pass on its descriptors: {error}"))?;
        let mut start = || Child::start(&mut command);
        let child = match (namespace, &mut parts.jail) {
            (Namespace::Workers, Some(jail)) => jail.start(start),
            (Namespace::New, Some(_)) => start_in_new(start),
            _ => start(),
        };
        let child = child.map_err(|error| error.to_string())?;
        let started = child.pidfd().map(|pidfd| (child.pid(), pidfd));
        match started {
            Ok(started) => {
                self.0.insert(id, Process::new(child, places));
                Ok(started)
            }
            Err(error) => {
                child.kill();
                child.wait();
                Err(error.to_string())
            }
        }
    }

    /// Checks that the number `id` isn't in use, and that there are fewer than `max` processes.
    fn check_new(&self, id: ProcessId, max: usize) -> Result<(), String> {
        if self.0.contains_key(&id) {
            return Err(format!("there is a process {id} already"));
        }
        if self.0.len() >= max {
            return Err(format!("there are {max} processes already"));
        }
        Ok(())
    }

    /// Returns the process ID of a process that hasn't been reaped.
    pub(crate) fn pid(&self, id: ProcessId) -> Result<u32, String> {
        self.running(id).map(Child::pid).ok_or_else(|| format!("there is no process {id}"))
    }

    /// Takes the mounts of a worker that has no VM yet, over which the VM's file systems will be
    /// mounted.
    pub(crate) fn take_places(&mut self, id: ProcessId) -> Option<Places> {
        self.0.get_mut(&id).and_then(|process| process.places.take())
    }

    pub(crate) fn kill(&self, id: ProcessId) {
        self.running(id).inspect(|child| child.kill());
    }

    fn running(&self, id: ProcessId) -> Option<&Child> {
        self.0.get(&id).filter(|process| process.end.is_none()).map(|process| &process.child)
    }

    /// Returns the descriptors that become readable when a process exits.
    pub(crate) fn pidfds(&self) -> impl Iterator<Item = (ProcessId, BorrowedFd<'_>)> {
        let running = self.0.iter().filter(|(_, process)| process.end.is_none());
        running.map(|(id, process)| (*id, process.as_fd()))
    }

    /// Reaps a process if it has exited.
    pub(crate) fn reap(&mut self, id: ProcessId) -> Option<Event> {
        let process = self.0.get_mut(&id).filter(|process| process.end.is_none())?;
        let how = End::Exited(process.child.reap()?);
        process.end = Some(how.clone());
        process.places = None;
        Some(Event::Ended { id, how })
    }

    /// Forgets a process, if it has been reaped.
    pub(crate) fn forget(&mut self, id: ProcessId) {
        if self.0.get(&id).is_some_and(|process| process.end.is_some()) {
            self.0.remove(&id);
        }
    }

    /// Returns the process with the lowest number above `id`.
    pub(crate) fn after(&self, id: ProcessId) -> Option<(ProcessId, &Process)> {
        let mut above = self.0.range((Bound::Excluded(id), Bound::Unbounded));
        above.next().map(|(id, process)| (*id, process))
    }

    /// Keeps copies of the broker's descriptors with a process.
    pub(crate) fn keep(&mut self, id: ProcessId, what: Kept, fds: Vec<OwnedFd>) {
        match self.0.get_mut(&id) {
            Some(process) => process.kept.keep(what, fds),
            None => apart::close(fds),
        }
    }

    /// Closes copies of the broker's descriptors.
    pub(crate) fn close(&mut self, id: ProcessId, what: Kept) {
        if let Some(process) = self.0.get_mut(&id) {
            process.kept.close(what);
        }
    }

    /// Closes the gates of all workers, so that they start no more GPU work.
    pub(crate) fn close_gates(&self) {
        for process in self.0.values() {
            let Some([page, doorbell, _bell]) = process.kept.get(Kept::Scheduler) else { continue };
            if let Ok(page) = GateMap::map(page) {
                page.close_all();
                doorbell::ring(doorbell);
            }
        }
    }

    /// Returns true if there is no process.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Kills all processes, and waits until they have exited.
    pub(crate) fn end(&mut self) {
        let mut all = std::mem::take(&mut self.0);
        all.retain(|_, process| process.end.is_none());
        all.values().for_each(|process| process.child.kill());
        all.into_values().for_each(|process| process.child.wait());
    }
}

/// Checks a request to start a program, and prepares the command.
fn prepare<'a>(program: &'a Program, parts: &mut Parts<'_>) -> Result<Start<'a>, String> {
    let jail = parts.jail.as_deref();
    let start = |command, namespace| {
        let (vm, pipe, mounts, places) = (None, None, None, None);
        Start { command, namespace, vm, pipe, mounts, places }
    };
    let no_mounts = |error: io::Error| format!("cannot create file systems for it: {error}");
    // Starts a worker in the jail that has no VM yet.
    let start_without_vm = |mut command: Command, devices: &[PathBuf]| {
        let (places, mounts) = Places::create().map_err(no_mounts)?;
        add_arguments(&mut command, devices, &mounts);
        let (mounts, places) = (Some(mounts), Some(places));
        Ok(Start { mounts, places, ..start(command, Namespace::Workers) })
    };
    match program {
        Program::Device { vm } => {
            let command = parts.programs.device(parts.vms.get(vm)?.uid, jail.is_some());
            Ok(Start { vm: Some(vm), ..start(command, Namespace::New) })
        }
        Program::Supervisor => match jail {
            Some(_) => Ok(start(parts.programs.supervisor(), Namespace::Workers)),
            None => Err("workers have no jail".into()),
        },
        Program::Probe { library, allow_pageable_memory_access, visible, devices } => {
            parts.policy.check_probe(library)?;
            let mut command = parts.programs.worker(library);
            command.arg("--probe");
            command.args(allow_pageable_memory_access.then_some("--allow-pageable-memory-access"));
            if let Some(visible) = visible {
                check_visible(visible)?;
                command.env("CUDA_VISIBLE_DEVICES", visible);
            }
            let Some(devices) = devices else { return Ok(start(command, Namespace::Host)) };
            check_devices(devices)?;
            jail.ok_or("there is no jail")?;
            start_without_vm(command, devices)
        }
        Program::Worker { visible, devices, session } => {
            check_visible(visible)?;
            check_devices(devices)?;
            let mut command = parts.programs.serving_worker(parts.policy.library()?, visible);
            let NewSession { vm, env, mps, context } = match session {
                Some(session) => session,
                None => {
                    if parts.is_root {
                        add_users(&mut command, parts.policy.uids());
                    }
                    return match jail {
                        Some(_) => start_without_vm(command, devices),
                        None => Ok(start(command, Namespace::Host)),
                    };
                }
            };
            check_env(env)?;
            command.envs(env.iter().map(|(name, value)| (name, value)));
            command.args((!context).then_some("--no-context"));
            let uid = parts.vms.get(vm)?.uid;
            let pipe = match mps {
                Some(client) => {
                    let pipe = parts.mps.pipe(visible)?;
                    command.arg("--mps").envs(client_env(&pipe, *client));
                    // The worker connects to the daemon before it switches to the VM's user: only
                    // this process's user may connect to the daemon, and clients of different users
                    // can't share an MPS server.
                    if let Some(uid) = uid {
                        command.arg("--users").arg(format!("{uid}-{uid}"));
                    }
                    Some(pipe)
                }
                None => {
                    if let Some(uid) = uid {
                        command.arg("--uid").arg(uid.to_string());
                    }
                    None
                }
            };
            let of_vm = Some(vm.as_str());
            // Clients of an MPS daemon can't be in a jail, because they share memory with its
            // server.
            if jail.is_none() || pipe.is_some() {
                return Ok(Start { vm: of_vm, pipe, ..start(command, Namespace::Host) });
            }
            let mounts = parts.vms.files_of(vm)?.for_process().map_err(no_mounts)?;
            add_arguments(&mut command, devices, &mounts);
            Ok(Start { vm: of_vm, mounts: Some(mounts), ..start(command, Namespace::Workers) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ipc::gate::{Grant, Mode};

    #[test]
    fn gates_are_closed_and_workers_are_woken() {
        let mut processes = Processes::default();
        let child = Child::start(&mut Command::new("true")).unwrap();
        processes.0.insert(1, Process::new(child, None));
        let file = GateMap::create().unwrap();
        let (button, chime) = doorbell::doorbell().unwrap();
        let page = GateMap::map(&file).unwrap();
        page.gpus[2].open(Grant { epoch: 5, mode: Mode::Unlimited }, u64::MAX, u64::MAX);
        let bell = button.try_clone().unwrap();
        processes.keep(1, Kept::Scheduler, vec![file, button, bell]);
        processes.close_gates();
        assert_eq!(page.gpus[2].grant(), Grant { epoch: 6, mode: Mode::Closed });
        let is_rung = |chime: &OwnedFd| {
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            let flags = rustix::event::PollFlags::IN;
            let mut fds = [rustix::event::PollFd::new(chime, flags)];
            rustix::event::poll(&mut fds, Some(&now)).unwrap() > 0
        };
        assert!(is_rung(&chime));
        // The broker may pass a file that isn't a gate page. close_gates must ignore it.
        let null = || std::fs::File::open("/dev/null").unwrap().into();
        processes.keep(1, Kept::Scheduler, vec![null(), null(), null()]);
        processes.close_gates();
        processes.end();
    }

    #[test]
    fn the_number_of_processes_is_limited() {
        let mut processes = Processes::default();
        processes.check_new(1, 1).unwrap();
        let child = Child::start(&mut Command::new("true")).unwrap();
        processes.0.insert(1, Process::new(child, None));
        assert!(processes.check_new(2, 1).unwrap_err().contains("1 processes already"));
        assert!(processes.check_new(1, 9).unwrap_err().contains("process 1 already"));
        processes.check_new(2, 2).unwrap();
        processes.end();
        processes.check_new(1, 1).unwrap();
    }
}
