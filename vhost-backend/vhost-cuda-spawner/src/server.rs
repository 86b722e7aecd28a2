//! Receives the broker's requests, and reports events to it.

use std::collections::VecDeque;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, ConnectionReset},
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

use host_ipc::listener::{Listener, SocketFile};
use host_ipc::spawner::{Answer, Call, End, Event, Part, ProcessId, Program, Refusal, ToSpawner};
use host_ipc::{process, seqpacket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cgroup::Cgroups;
use crate::jail::Jail;
use crate::mps::Mps;
use crate::policy::{MAX_PROCESSES, Policy};
use crate::processes::{Parts, Processes};
use crate::programs::Programs;
use crate::vms::{Vms, refused};

/// Maximum number of events that wait for the broker to receive them. If there are more, no
/// requests are received.
const MAX_EVENTS: usize = 2 * MAX_PROCESSES;
/// How often to check on MPS daemons that have been told to exit.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Permissions of the control API's socket.
const CONTROL_MODE: u32 = 0o660;

/// What this process has started and created for the broker. The fields are dropped in this order.
struct Server {
    processes: Processes,
    mps: Mps,
    vms: Vms,
    jail: Option<Jail>,
    control: Option<SocketFile>,
    cgroups: Option<Cgroups>,
    policy: Policy,
    programs: Programs,
    nice: i32,
    is_root: bool,
    /// Events that the broker hasn't received, with the pidfd that they carry.
    events: VecDeque<(Event, Option<OwnedFd>)>,
}

/// Serves the broker until it closes its socket, and then ends everything. `calls` and `events` are
/// this process's ends of the two sockets.
pub fn run(calls: OwnedFd, events: OwnedFd) -> io::Result<()> {
    // Only the broker ends this process.
    process::block_signals();
    let nice = process::go_before_vms();
    process::raise_descriptor_limit();
    process::set_nonblocking(&events)?;
    let programs = Programs::find().map_err(io::Error::other)?;
    let mut server = Server {
        processes: Processes::default(),
        mps: Mps::new(),
        vms: Vms::default(),
        jail: None,
        control: None,
        cgroups: None,
        policy: Policy::default(),
        programs,
        nice,
        is_root: process::is_root(),
        events: VecDeque::new(),
    };
    let served = server.serve(&calls, &events);
    server.processes.end();
    match served {
        // The broker was killed.
        Err(error) if [BrokenPipe, ConnectionReset].contains(&error.kind()) => Ok(()),
        served => served,
    }
}

impl Server {
    fn serve(&mut self, calls: &OwnedFd, events: &OwnedFd) -> io::Result<()> {
        loop {
            let exited = self.wait(calls, events)?;
            self.mps.check_ending();
            if self.events.len() < MAX_EVENTS && is_readable(calls)? {
                if !self.receive(calls)? {
                    return Ok(());
                }
            } else if let Some(id) = exited {
                self.reap(id);
            }
            self.send_events(events)?;
        }
    }

    /// Reaps a process that has exited.
    ///
    /// This can take long: the kernel removes the process from `/proc`, and while another thread is
    /// in the middle of removing a part of it, the kernel polls instead of sleeping. That thread
    /// may need this CPU, so this one gives up its priority meanwhile. This is also why requests
    /// are served first, and only one process is reaped before the next request.
    fn reap(&mut self, id: ProcessId) {
        process::set_nice(self.nice);
        let event = self.processes.reap(id);
        process::go_before_vms();
        self.events.extend(event.map(|event| (event, None)));
    }

    /// Waits until there is something to do. Returns a process that has exited, if there is one.
    fn wait(&self, calls: &OwnedFd, events: &OwnedFd) -> io::Result<Option<ProcessId>> {
        let mut fds = Vec::new();
        let is_full = self.events.len() >= MAX_EVENTS;
        fds.extend((!is_full).then(|| PollFd::new(calls, PollFlags::IN)));
        let is_waiting = !self.events.is_empty();
        // Even without flags, the kernel reports that the broker has closed its end.
        let flags = if is_waiting { PollFlags::OUT } else { PollFlags::empty() };
        fds.push(PollFd::new(events, flags));
        let sockets = fds.len();
        let (ids, pidfds): (Vec<_>, Vec<_>) = self.processes.pidfds().unzip();
        let daemons: Vec<_> = self.mps.ending().collect();
        fds.extend(pidfds.iter().chain(&daemons).map(|fd| PollFd::new(fd, PollFlags::IN)));
        let tick = (!daemons.is_empty()).then_some(&TICK);
        poll(&mut fds, tick)?;
        let exited = ids.iter().zip(&fds[sockets..]).find(|(_, fd)| !fd.revents().is_empty());
        Ok(exited.map(|(id, _)| *id))
    }

    /// Sends as many events as the broker has room for.
    fn send_events(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while let Some((event, pidfd)) = self.events.front() {
            let pidfd = pidfd.as_ref().map(AsRawFd::as_raw_fd);
            match seqpacket::send(socket, event, pidfd.as_slice()) {
                Ok(()) => drop(self.events.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives a request and carries it out. Returns false if the broker has closed its socket.
    fn receive(&mut self, calls: &OwnedFd) -> io::Result<bool> {
        let (message, fds) = match seqpacket::receive(calls) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let refusal = refused(Part::Request)(error.to_string());
                seqpacket::send(calls, &Answer::Refused(refusal), &[])?;
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        match message {
            ToSpawner::Start { id, program } => self.start(id, &program, fds),
            ToSpawner::Kill { id } => self.processes.kill(id),
            ToSpawner::ClearShared { vm } => self.vms.clear_shared(&vm),
            ToSpawner::Call(call) => {
                let (answer, listener) = match self.call(call) {
                    Ok(answered) => answered,
                    Err(refusal) => (Answer::Refused(refusal), None),
                };
                let fds: Vec<RawFd> = listener.iter().map(AsRawFd::as_raw_fd).collect();
                seqpacket::send(calls, &answer, &fds)?;
            }
        }
        Ok(true)
    }

    fn start(&mut self, id: ProcessId, program: &Program, fds: Vec<OwnedFd>) {
        let mut parts = Parts {
            policy: &self.policy,
            programs: &self.programs,
            vms: &self.vms,
            jail: self.jail.as_mut(),
            mps: &mut self.mps,
            nice: self.nice,
            is_root: self.is_root,
        };
        let event = match self.processes.start(id, program, fds, &mut parts) {
            Ok((pid, pidfd)) => (Event::Started { id, pid }, Some(pidfd)),
            Err(reason) => (Event::Ended { id, how: End::NotStarted(reason) }, None),
        };
        self.events.push_back(event);
    }

    fn call(&mut self, call: Call) -> Result<(Answer, Option<UnixListener>), Refusal> {
        let request = || refused(Part::Request);
        match call {
            Call::Permit(permit) => self.policy.permit(permit).map_err(request())?,
            Call::SetJail(wanted) => self.set_jail(wanted).map_err(request())?,
            Call::Seal { library } => self.policy.seal(library).map_err(request())?,
            Call::SetUpCgroups => {
                let cgroups = self.cgroups.get_or_insert_with(Cgroups::set_up);
                let controllers = cgroups.controllers.iter().map(|name| (*name).into()).collect();
                return Ok((Answer::Cgroups { controllers, why: cgroups.why.clone() }, None));
            }
            Call::BindControl => {
                let listener = self.bind_control().map_err(refused(Part::Socket))?;
                return Ok((Answer::Done, Some(listener)));
            }
            Call::UnbindControl => self.control = None,
            Call::AddVm(vm) => {
                self.policy.check_vm(&vm, self.is_root).map_err(request())?;
                let uid = vm.uid.filter(|_| self.is_root);
                let added = self.vms.add(vm, uid, self.cgroups.as_ref(), self.jail.as_ref());
                return Ok((Answer::Done, Some(added?)));
            }
            Call::SetLimits { vm, limits } => self.vms.set_limits(&vm, &limits)?,
            Call::Join { vm, process } => {
                let pid = self.processes.pid(process).map_err(request())?;
                self.vms.join(&vm, pid).map_err(refused(Part::Cgroup))?;
            }
            Call::Unbind { vm } => self.vms.unbind(&vm).map_err(request())?,
            Call::RemoveVm { vm } => self.vms.remove(&vm).map_err(request())?,
            Call::RetainMps { visible } => self.mps.retain(&visible),
        }
        Ok((Answer::Done, None))
    }

    fn set_jail(&mut self, wanted: bool) -> Result<(), String> {
        self.policy.check_open()?;
        self.jail = wanted
            .then(Jail::create)
            .transpose()
            .map_err(|error| format!("cannot create a PID namespace and shared memory: {error}"))?;
        Ok(())
    }

    fn bind_control(&mut self) -> Result<UnixListener, String> {
        let control = self.policy.control.clone().ok_or("there is no control socket")?;
        if let Some(folder) = control.path.parent().filter(|path| !path.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot create its directory: {error}"))?;
        }
        let listener = Listener::bind(&control.path, CONTROL_MODE, control.group)?;
        let (listener, file) = listener.into_parts();
        self.control = Some(file);
        Ok(listener)
    }
}

/// Returns true if the broker has sent a request, or has closed its end.
fn is_readable(socket: &impl AsFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&now))? > 0)
}
