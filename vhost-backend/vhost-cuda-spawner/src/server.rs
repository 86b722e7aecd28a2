//! Receives the broker's requests, and reports events to it.

use std::collections::VecDeque;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, ConnectionReset},
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use host_ipc::spawner::{Answer, Call, End, Event, Part, ProcessId, Program, Refusal, ToSpawner};
use host_ipc::systemd::Systemd;
use host_ipc::{process, seqpacket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::api_socket::BoundApiSocket;
use crate::cgroup::Cgroups;
use crate::jail::Jail;
use crate::link::{Broker, Due, Link};
use crate::mps::Mps;
use crate::policy::{MAX_PROCESSES, Policy};
use crate::processes::{Parts, Processes};
use crate::programs::Programs;
use crate::vms::{Vms, refused};

/// Maximum number of events that wait for the broker to receive them. If there are more, the
/// spawner stops receiving requests until the broker has received some events.
const MAX_EVENTS: usize = 2 * MAX_PROCESSES;
/// How often to check on MPS daemons that were asked to exit.
const TICK: Duration = Duration::from_millis(100);
/// Everything that this process has started and created for the broker. The fields are dropped in
/// the order of their declaration, so processes end before the things that they use are removed.
struct Server {
    processes: Processes,
    mps: Mps,
    vms: Vms,
    jail: Option<Jail>,
    control: BoundApiSocket,
    /// The control API's read socket, which accepts only requests that change nothing.
    read: BoundApiSocket,
    cgroups: Option<Cgroups>,
    policy: Policy,
    programs: Programs,
    nice: i32,
    is_root: bool,
    /// The process ID that is part of the names of directories: the broker's if the broker has
    /// started this process, or else this process's.
    owner: u32,
    /// Events that the broker hasn't received, with the pidfd that they carry.
    events: VecDeque<(Event, Option<OwnedFd>)>,
    /// The broker's record, from which another broker can continue.
    record: Option<OwnedFd>,
}

/// The events that the server must handle.
#[derive(Default)]
struct Ready {
    /// A process that has exited and must be reaped, if there is one.
    exited: Option<ProcessId>,
    /// Whether a broker is connecting.
    has_caller: bool,
    /// Whether a signal asks this process to exit.
    is_told_to_end: bool,
    /// Whether a client of the control API waits for an answer while there is no broker.
    has_client: bool,
}

/// Serves the broker that has started this process until it closes its socket, and then ends all
/// processes and removes everything that was created. `calls` and `events` are this process's ends
/// of the two sockets.
pub fn run(calls: OwnedFd, events: OwnedFd) -> io::Result<()> {
    let mut link = Link::to_parent(calls, events)?;
    Server::new(process::parent().unsigned_abs())?.run(&mut link)
}

/// Serves brokers that connect to the socket at `path`, one after another, until SIGTERM, and then
/// ends all processes and removes everything that was created. Also does this if there is no broker
/// for `limit`.
pub fn listen(path: &Path, limit: Duration) -> io::Result<()> {
    let link = Link::listen(path, limit);
    let fail = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
    let mut link = link.map_err(fail)?;
    let server = Server::new(std::process::id())?;
    Systemd::from_env().ready("serving");
    server.run(&mut link)
}

impl Server {
    fn new(owner: u32) -> io::Result<Self> {
        let nice = process::go_before_vms();
        process::raise_descriptor_limit();
        let programs = Programs::find().map_err(io::Error::other)?;
        Ok(Self {
            processes: Processes::default(),
            mps: Mps::new(),
            vms: Vms::default(),
            jail: None,
            control: BoundApiSocket::default(),
            read: BoundApiSocket::default(),
            cgroups: None,
            policy: Policy::default(),
            programs,
            nice,
            is_root: process::is_root(),
            owner,
            events: VecDeque::new(),
            record: None,
        })
    }

    fn run(mut self, link: &mut Link) -> io::Result<()> {
        let served = self.serve(link);
        self.vms.unbind_all();
        self.processes.end();
        match served {
            // The broker has exited without closing the connection properly, for example because it
            // was killed.
            Err(error) if [BrokenPipe, ConnectionReset].contains(&error.kind()) => Ok(()),
            served => served,
        }
    }

    fn serve(&mut self, link: &mut Link) -> io::Result<()> {
        loop {
            let ready = self.wait(link)?;
            if ready.is_told_to_end {
                return Ok(());
            }
            self.mps.check_ending();
            if let (true, Some(ends_in)) = (ready.has_client, link.ends_in()) {
                self.control.stand_in(ends_in)?;
                self.read.stand_in(ends_in)?;
            }
            if ready.has_caller {
                self.accept(link);
                continue;
            }
            match self.serve_broker(link.broker.as_ref(), ready.exited) {
                Ok(true) => {}
                served if link.callers.is_none() => return served.map(drop),
                served => {
                    // Drop the events that the broker hasn't received. They aren't lost, because
                    // the next broker requests the state of all processes, which contains the same
                    // information.
                    self.events.clear();
                    link.leave();
                    let how = served.err().map(|error| format!(": {error}")).unwrap_or_default();
                    tracing::info!("vcudad has left{how}");
                }
            }
            match link.take_due() {
                Some(Due::CloseGates) => self.processes.close_gates(),
                Some(Due::EndAll) if !self.processes.is_empty() => {
                    tracing::error!("there is no vcudad any more; ending all sessions");
                    self.end_all();
                }
                Some(Due::EndAll) => self.end_all(),
                None => {}
            }
        }
    }

    /// Receives one of the broker's requests, or reaps a process, and sends events. Returns false
    /// if the broker has closed its socket.
    fn serve_broker(
        &mut self,
        broker: Option<&Broker>,
        exited: Option<ProcessId>,
    ) -> io::Result<bool> {
        match broker {
            Some(Broker { calls, .. }) if self.events.len() < MAX_EVENTS && is_readable(calls)? => {
                if !self.receive(calls)? {
                    return Ok(false);
                }
            }
            _ => {
                let ended = exited.and_then(|id| self.reap(id));
                self.events.extend(ended.filter(|_| broker.is_some()).map(|event| (event, None)));
            }
        }
        broker.map_or(Ok(()), |broker| self.send_events(&broker.events))?;
        Ok(true)
    }

    /// Accepts a broker that runs as this process's user. Unseals the policy, because the broker
    /// first sends the permissions from its configuration file again.
    fn accept(&mut self, link: &mut Link) {
        let library = self.record.as_ref().and(self.policy.library().ok());
        if link.accept(self.is_root, library.map(Path::to_owned)) {
            self.policy = Policy::default();
            self.events.clear();
            self.control.leave_to_broker();
            self.read.leave_to_broker();
        }
    }

    /// Ends all processes, and removes what was created for the VMs.
    fn end_all(&mut self) {
        self.record = None;
        self.vms.unbind_all();
        self.processes.end();
        self.mps.retain(&[]);
        self.vms = Vms::default();
        self.jail = None;
        self.control.close();
        self.read.close();
        self.events.clear();
    }

    /// Reaps a process that has exited.
    ///
    /// Reaping can take long: the kernel removes the process from `/proc`, and while another thread
    /// is removing a part of that entry, the kernel polls instead of sleeping. The other thread may
    /// need this CPU, so this thread gives up its priority while it reaps. For the same reason, the
    /// server handles requests first, and reaps only one process between requests.
    fn reap(&mut self, id: ProcessId) -> Option<Event> {
        process::set_nice(self.nice);
        let event = self.processes.reap(id);
        process::go_before_vms();
        event
    }

    /// Waits until there is an event to handle, and returns all current events.
    fn wait(&self, link: &Link) -> io::Result<Ready> {
        let is_full = self.events.len() >= MAX_EVENTS;
        let mut fds = Vec::new();
        if let Some(Broker { calls, events }) = &link.broker {
            fds.extend((!is_full).then(|| PollFd::new(calls, PollFlags::IN)));
            let is_waiting = !self.events.is_empty();
            // Even with empty flags, poll reports that the broker has closed its end.
            let flags = if is_waiting { PollFlags::OUT } else { PollFlags::empty() };
            fds.push(PollFd::new(events, flags));
        }
        let at_callers = fds.len();
        if let Some(callers) = &link.callers {
            let (listener, signals) = callers.fds();
            fds.push(PollFd::new(listener, PollFlags::IN));
            fds.push(PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN));
        }
        let at_clients = fds.len();
        if link.ends_in().is_some() {
            let clients = self.control.fds().chain(self.read.fds());
            fds.extend(clients.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        let at_processes = fds.len();
        let (ids, pidfds): (Vec<_>, Vec<_>) = self.processes.pidfds().unzip();
        let daemons: Vec<BorrowedFd<'_>> = self.mps.ending().collect();
        fds.extend(pidfds.iter().chain(&daemons).map(|fd| PollFd::new(fd, PollFlags::IN)));
        let tick = (!daemons.is_empty()).then_some(TICK);
        let limit = tick.into_iter().chain(link.due_in()).min();
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        poll(&mut fds, limit.as_ref())?;
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let exited = ids.iter().zip(&fds[at_processes..]).find(|(_, fd)| is_ready(fd));
        let callers = fds[at_callers..at_clients].iter().map(is_ready);
        let [has_caller, is_told_to_end] = match callers.collect::<Vec<_>>()[..] {
            [connects, signal] => [connects, signal],
            _ => [false; 2],
        };
        let has_client = fds[at_clients..at_processes].iter().any(is_ready);
        Ok(Ready { exited: exited.map(|(id, _)| *id), has_caller, is_told_to_end, has_client })
    }

    /// Sends as many events as the broker has room for.
    fn send_events(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while let Some((event, pidfd)) = self.events.front() {
            let pidfd = pidfd.as_ref().map(OwnedFd::as_fd);
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
            ToSpawner::Keep { id, what } => self.processes.keep(id, what, fds),
            ToSpawner::Drop { id, what } => self.processes.close(id, what),
            ToSpawner::Forget { id } => self.processes.forget(id),
            ToSpawner::ClearShared { vm } => self.vms.clear_shared(&vm),
            ToSpawner::Call(Call::NextProcess { after }) => self.send_process(calls, after)?,
            ToSpawner::Call(call) => {
                let (answer, fd) = match self.call(call, fds) {
                    Ok(answered) => answered,
                    Err(refusal) => (Answer::Refused(refusal), None),
                };
                let fd = fd.as_ref().map(OwnedFd::as_fd);
                seqpacket::send(calls, &answer, fd.as_slice())?;
            }
        }
        Ok(true)
    }

    fn start(&mut self, id: ProcessId, program: &Program, fds: Vec<OwnedFd>) {
        let mut parts = Parts {
            policy: &self.policy,
            programs: &self.programs,
            vms: &mut self.vms,
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

    /// Sends the answer to NextProcess: the process with the lowest number above `after`.
    fn send_process(&self, calls: &OwnedFd, after: ProcessId) -> io::Result<()> {
        let Some((id, process)) = self.processes.after(after) else {
            return seqpacket::send(calls, &Answer::Done, &[]);
        };
        let (kept, mut fds) = process.kept.all();
        fds.insert(0, process.as_fd());
        let answer = Answer::Process { id, pid: process.pid(), end: process.end.clone(), kept };
        seqpacket::send(calls, &answer, &fds)
    }

    /// Carries out a call. `fds` are the descriptors that it carried. Returns the answer, with a
    /// descriptor if it carries one.
    fn call(
        &mut self,
        call: Call,
        fds: Vec<OwnedFd>,
    ) -> Result<(Answer, Option<OwnedFd>), Refusal> {
        let request = || refused(Part::Request);
        match call {
            Call::Permit(permit) => self.policy.permit(permit).map_err(request())?,
            Call::SetJail(wanted) => self.set_jail(wanted)?,
            Call::Seal { library } => {
                self.policy.seal(library).map_err(request())?;
                self.control.close_unless(self.policy.control.as_ref());
                self.read.close_unless(self.policy.read.as_ref());
            }
            Call::SetUpCgroups => {
                let owner = self.owner;
                let cgroups = self.cgroups.get_or_insert_with(|| Cgroups::set_up(owner));
                let controllers = cgroups.controllers.iter().map(|name| (*name).into()).collect();
                return Ok((Answer::Cgroups { controllers, why: cgroups.why.clone() }, None));
            }
            Call::BindControl => {
                let listener = self.control.bind(self.policy.control.as_ref());
                return Ok((Answer::Done, Some(listener.map_err(refused(Part::Socket))?)));
            }
            Call::BindRead => {
                let listener = self.read.bind(self.policy.read.as_ref());
                return Ok((Answer::Done, Some(listener.map_err(refused(Part::Socket))?)));
            }
            Call::UnbindControl => self.control.close(),
            Call::UnbindRead => self.read.close(),
            Call::AddVm(vm) => {
                self.policy.check_vm(&vm, self.is_root).map_err(request())?;
                let uid = vm.uid.filter(|_| self.is_root);
                let added = self.vms.add(vm, uid, self.cgroups.as_ref(), self.jail.as_ref());
                return Ok((Answer::Done, Some(added?)));
            }
            Call::Listener { vm } => {
                let listener = self.vms.listener(&vm).map_err(refused(Part::Socket))?;
                return Ok((Answer::Done, Some(listener)));
            }
            Call::SetLimits { vm, limits } => self.vms.set_limits(&vm, &limits)?,
            Call::Join { vm, process } => {
                let pid = self.processes.pid(process).map_err(request())?;
                let places = self.processes.take_places(process);
                self.vms.join(&vm, pid, places)?;
            }
            Call::Unbind { vm } => self.vms.unbind(&vm).map_err(request())?,
            Call::RemoveVm { vm } => self.vms.remove(&vm).map_err(request())?,
            Call::RetainVms { names } => self.vms.retain(&names),
            Call::RetainMps { visible } => self.mps.retain(&visible),
            Call::NextProcess { .. } => return Err(request()("it is answered elsewhere".into())),
            Call::KeepRecord => self.record = fds.into_iter().next(),
            Call::TakeRecord => return Ok((Answer::Done, self.record.take())),
            Call::EndAll => self.end_all(),
        }
        Ok((Answer::Done, None))
    }

    fn set_jail(&mut self, wanted: bool) -> Result<(), Refusal> {
        self.policy.check_open().map_err(refused(Part::Request))?;
        self.jail = wanted.then(Jail::create).transpose()?;
        Ok(())
    }
}

/// Returns true if the broker has sent a request, or has closed its end.
fn is_readable(socket: &impl AsFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&now))? > 0)
}
