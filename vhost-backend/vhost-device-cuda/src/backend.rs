//! Implements the trait from vhost-user-backend, with one object per front end. One thread handles
//! all of a front end's events.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use protocol::plain::Plain;
use protocol::uapi::{self, Config};
use vhost::vhost_user::VhostUserProtocolFeatures;
use vhost::vhost_user::message::VhostUserVirtioFeatures;
use vhost_user_backend::{VhostUserBackend, VringEpollHandler};
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::{
    VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC,
};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use super::exports::{Client, Counter, Exports};
use super::facts;
use super::link::{Link, Mailbox};
use super::machine::{Effect, Machine, RequestId};
use super::memory::{Slots, accessed, can_shrink, exceeds_file};
use super::place::Place;
use super::queues::Queues;
use super::request::{max_command, max_control};
use super::vring::Vring;
use super::worker::WorkerLink;
use host_ipc::apart::Apart;
use host_ipc::eventfd::{drain, eventfd, notify};
use host_ipc::messages::{
    Abort, BrokerToDevice, DeviceSetup, DeviceToBroker, DeviceToWorker, Limits, Refusal,
    WorkerToDevice,
};
use host_ipc::printable::printable;

const CONTROL: usize = uapi::QUEUE_CONTROL as usize;
const EVENT: usize = uapi::QUEUE_EVENT as usize;
const COMMAND: usize = uapi::QUEUE_COMMAND as usize;

// The event number of the broker's messages. `handle_event` gets these numbers; they start above
// those that the library uses for the queues and for its own exit event.
const MAILBOX: u16 = 8;
/// The number of the event that a queue still had chains after the device had taken [`BATCH`] of
/// them.
const MORE: u16 = 10;
const COUNTER: u16 = 11;
/// The number of the event that a queue may have been started or stopped.
const QUEUES: u16 = 12;
/// The first event number for workers. Each worker has two numbers: one for its stream and one for
/// its wake eventfd.
const FIRST_WORKER: u16 = 16;

/// Maximum number of chains taken from one queue before other events get a turn.
const BATCH: usize = 128;

/// Events watched on a worker's wake eventfd. They are edge-triggered, so the eventfd doesn't have
/// to be read. Reading it could block, because the worker shares its file description and can clear
/// O_NONBLOCK.
const WAKE: EventSet = EventSet::IN.union(EventSet::EDGE_TRIGGERED);

type Handler = VringEpollHandler<Arc<Backend>>;

/// The device as one front end sees it.
pub(super) struct Backend {
    name: String,
    limits: Limits,
    link: Arc<Link>,
    place: Arc<Place>,
    exports: Arc<Exports>,
    counter: Arc<Counter>,
    mailbox: Arc<Mailbox>,
    /// Writing to this eventfd makes the event thread exit.
    exit: OwnedFd,
    exit_notifier: Mutex<Option<EventNotifier>>,
    more: OwnedFd,
    queues: Arc<OwnedFd>,
    handler: OnceLock<Weak<Handler>>,
    state: Mutex<DeviceState>,
}

struct DeviceState {
    machine: Machine,
    queues: Queues,
    slots: Slots,
    workers: HashMap<RequestId, WorkerLink>,
    /// The worker to which each pair of event numbers belongs.
    places: Vec<Option<RequestId>>,
    closed: bool,
    /// Whether the front end has stopped the VM. `None` if it has no sessions.
    stopped: Option<bool>,
}

impl Backend {
    pub(super) fn new(
        setup: &DeviceSetup,
        link: &Arc<Link>,
        place: &Arc<Place>,
        exports: &Arc<Exports>,
    ) -> io::Result<Self> {
        let (exit, notifier) =
            new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC)?;
        // SAFETY: `into_raw_fd` has given up ownership of the descriptor, so nothing else owns it.
        let exit = unsafe { OwnedFd::from_raw_fd(exit.into_raw_fd()) };
        let numbers = link.clone();
        let state = DeviceState {
            machine: Machine::new(setup.limits, Box::new(move || numbers.next_request())),
            queues: Queues::new(&setup.name),
            slots: Slots::default(),
            workers: HashMap::new(),
            places: Vec::new(),
            closed: false,
            stopped: None,
        };
        Ok(Self {
            name: setup.name.clone(),
            limits: setup.limits,
            link: link.clone(),
            place: place.clone(),
            exports: exports.clone(),
            counter: Counter::new()?,
            mailbox: Mailbox::new()?,
            exit,
            exit_notifier: Mutex::new(Some(notifier)),
            more: eventfd()?,
            queues: Arc::new(eventfd()?),
            handler: OnceLock::new(),
            state: Mutex::new(state),
        })
    }

    /// Registers all events except the queues with the event thread.
    pub(super) fn watch_from(&self, handler: &Arc<Handler>) -> io::Result<()> {
        let _ = self.handler.set(Arc::downgrade(handler));
        let mailbox = self.mailbox.event.as_raw_fd();
        handler.register_listener(mailbox, EventSet::IN, MAILBOX.into())?;
        let counter = self.counter.event.as_raw_fd();
        handler.register_listener(counter, EventSet::IN, COUNTER.into())?;
        handler.register_listener(self.queues.as_raw_fd(), EventSet::IN, QUEUES.into())?;
        handler.register_listener(self.more.as_raw_fd(), EventSet::IN, MORE.into())
    }

    /// Ends all sessions after the front end has disconnected.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.machine.end_all(Abort::Disconnected);
        self.carry_out(&mut state);
    }

    fn lock(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock().unwrap_or_else(|error| error.into_inner())
    }

    fn config(&self) -> Config {
        Config {
            magic: uapi::MAGIC,
            version_major: uapi::VERSION_MAJOR,
            version_minor: uapi::VERSION_MINOR,
            capabilities: uapi::CAP_RING
                | uapi::CAP_PINNED
                | uapi::CAP_USER
                | uapi::CAP_QUERY
                | uapi::CAP_FILES,
            max_sessions: self.link.max_sessions(),
            max_regions: self.limits.max_regions,
            max_segments: self.limits.max_segments,
            pinned_max: self.limits.pinned_max,
            max_plain: self.limits.max_plain,
            reserved: [0; 7],
        }
    }

    // ---- Effects ----

    fn carry_out(&self, state: &mut DeviceState) {
        loop {
            let effects = state.machine.take_effects();
            if effects.is_empty() {
                return self.note_stop(state);
            }
            for effect in effects {
                self.carry_out_one(state, effect);
            }
        }
    }

    /// Reports whether the VMM has stopped the VM, that is, whether all queues are stopped while
    /// there are sessions. Unbinding the driver doesn't look like this, because the driver ends its
    /// sessions before it stops the queues.
    fn note_stop(&self, state: &mut DeviceState) {
        let stopped = state.machine.has_sessions().then(|| state.queues.are_stopped());
        if stopped != state.stopped {
            state.stopped = stopped;
            self.link.set_stopped(&self.mailbox, stopped);
        }
    }

    fn carry_out_one(&self, state: &mut DeviceState, effect: Effect) {
        match effect {
            Effect::Answer { chain, status, body } => state.queues.answer(chain, status, body),
            Effect::Query { request } => self.link.query(request, &self.mailbox),
            Effect::Start { request, session, pid, env } => {
                let DeviceState { queues, machine, .. } = &mut *state;
                queues.begin(session, |id| machine.knows(id));
                let start = DeviceToBroker::Start { request, session, pid, env };
                self.link.send(&start, &self.mailbox);
            }
            // Send the reason to the broker before closing the connection, because the worker exits
            // when its connection is closed.
            Effect::End { request } => {
                self.link.send(&DeviceToBroker::End { request }, &self.mailbox);
                self.drop_worker(state, request);
            }
            Effect::Abort { request, why } => {
                self.link.send(&DeviceToBroker::Abort { request, why }, &self.mailbox);
                self.drop_worker(state, request);
            }
            Effect::Refused => self.link.refused(Refusal::SessionsMax),
            Effect::Send { request, message, body } => {
                let DeviceState { workers, slots, .. } = &mut *state;
                let Some(worker) = workers.get_mut(&request) else { return };
                let sent = worker.send(&message, &body, slots);
                self.after_write(state, request, sent);
            }
            Effect::Ring { request } => {
                if let Some(worker) = state.workers.get(&request) {
                    worker.ring();
                }
            }
            Effect::Ended { session, request, value } => {
                tracing::warn!(
                    vm = self.name,
                    session = request,
                    "session ended: {}",
                    ended(value)
                );
                state.queues.ended(session, value);
            }
        }
    }

    // ---- Queues ----

    fn queue(&self, state: &mut DeviceState, queue: usize) -> io::Result<()> {
        if state.queues.look(queue) && queue == CONTROL {
            // The control queue was reset: it continues at a different index, which only happens if
            // a new driver has initialized it. So the sessions of the old driver must end.
            state.machine.reset();
            state.queues.forget_all();
        }
        state.queues.release(queue);
        if queue == EVENT {
            state.queues.deliver();
            return Ok(());
        }
        let max =
            if queue == CONTROL { max_control(&self.limits) } else { max_command(&self.limits) };
        let mut taken = 0;
        loop {
            state.queues.quiet(queue);
            while let Some(chain) = state.queues.take(queue, max) {
                // If the chain has no room for a status, don't carry out the request, because the
                // driver couldn't learn its result.
                let mute = queue == CONTROL && chain.room < size_of::<uapi::Resp>();
                match chain.request.filter(|_| !mute) {
                    None => state.queues.answer(chain.id, uapi::ERR_INVALID, Vec::new()),
                    Some(request) if queue == CONTROL => {
                        let room = chain.room;
                        state.machine.set_max_sessions(self.link.max_sessions());
                        state.machine.control(chain.id, &request, room, &state.slots);
                    }
                    Some(request) => state.machine.command(chain.id, &request, chain.room),
                }
                self.carry_out(state);
                taken += 1;
                if taken == BATCH {
                    notify(&self.more);
                    return Ok(());
                }
            }
            if !state.queues.listen(queue) {
                return Ok(());
            }
        }
    }

    // ---- Workers ----

    fn broker_spoke(&self, state: &mut DeviceState) {
        for (letter, fds) in self.mailbox.take() {
            match letter {
                BrokerToDevice::Setup(_)
                | BrokerToDevice::SessionsMax { .. }
                | BrokerToDevice::CountFrontEnds => {}
                BrokerToDevice::Started { request, pid } => {
                    let worker = WorkerLink::new(fds, self.limits.max_plain as usize);
                    let added = worker.and_then(|worker| self.add_worker(state, request, worker));
                    if let Err(error) = added {
                        tracing::error!(
                            vm = self.name,
                            "cannot set up the worker from the broker: {error}"
                        );
                        let abort = DeviceToBroker::Abort { request, why: Abort::Worker };
                        self.link.send(&abort, &self.mailbox);
                        continue;
                    }
                    if state.machine.worker_started(request, &state.slots) {
                        let session = request;
                        tracing::info!(vm = self.name, session, worker = pid, "session started");
                    } else {
                        self.drop_worker(state, request);
                    }
                }
                BrokerToDevice::Ended { request, how } => {
                    self.drop_worker(state, request);
                    state.machine.worker_ended(request, &how, &state.slots);
                }
                BrokerToDevice::Facts { request, facts } => {
                    state.machine.facts(request, facts::encode(&facts));
                }
            }
            self.carry_out(state);
        }
    }

    fn add_worker(
        &self,
        state: &mut DeviceState,
        request: RequestId,
        worker: WorkerLink,
    ) -> io::Result<()> {
        let free = state.places.iter().position(Option::is_none).unwrap_or(state.places.len());
        if free == state.places.len() {
            state.places.push(None);
        }
        let handler = self.handler.get().and_then(Weak::upgrade);
        let handler = handler.ok_or_else(|| io::Error::other("the event thread is missing"))?;
        let number = u64::from(FIRST_WORKER) + 2 * free as u64;
        handler.register_listener(worker.stream.as_raw_fd(), EventSet::IN, number)?;
        // The eventfd is watched edge-triggered, so each write to it causes an event although this
        // process never reads the eventfd.
        handler.register_listener(worker.wake.as_raw_fd(), WAKE, number + 1)?;
        state.places[free] = Some(request);
        state.workers.insert(request, worker);
        Ok(())
    }

    fn drop_worker(&self, state: &mut DeviceState, request: RequestId) {
        let Some(worker) = state.workers.remove(&request) else { return };
        self.exports.forget(request);
        let place = state.places.iter().position(|place| *place == Some(request));
        if let (Some(place), Some(handler)) = (place, self.handler.get().and_then(Weak::upgrade)) {
            let number = u64::from(FIRST_WORKER) + 2 * place as u64;
            let forget = |fd: RawFd, number| {
                let _ = handler.unregister_listener(fd, EventSet::IN, number);
            };
            forget(worker.stream.as_raw_fd(), number);
            forget(worker.wake.as_raw_fd(), number + 1);
            state.places[place] = None;
        }
    }

    /// Handles the result of a write to a worker's stream. If data is still waiting, watches the
    /// stream until it has room again. If the write failed, ends the worker.
    fn after_write(&self, state: &mut DeviceState, request: RequestId, written: io::Result<()>) {
        let Some(worker) = state.workers.get_mut(&request) else { return };
        if let Err(error) = written {
            tracing::warn!(vm = self.name, "cannot send to a worker: {error}");
            return state.machine.end(request, uapi::ENDED_WORKER);
        }
        if worker.wants_room() == worker.watched_for_room {
            return;
        }
        worker.watched_for_room = worker.wants_room();
        let events = if worker.wants_room() { EventSet::IN | EventSet::OUT } else { EventSet::IN };
        let fd = worker.stream.as_raw_fd();
        let place = state.places.iter().position(|place| *place == Some(request));
        if let (Some(place), Some(handler)) = (place, self.handler.get().and_then(Weak::upgrade)) {
            let number = u64::from(FIRST_WORKER) + 2 * place as u64;
            let _ = handler.unregister_listener(fd, events, number);
            if let Err(error) = handler.register_listener(fd, events, number) {
                tracing::error!(vm = self.name, "cannot watch a worker: {error}");
                state.machine.end(request, uapi::ENDED_WORKER);
            }
        }
    }

    fn worker_event(&self, state: &mut DeviceState, number: u16, events: EventSet) {
        let place = usize::from((number - FIRST_WORKER) / 2);
        let Some(request) = state.places.get(place).copied().flatten() else { return };
        let Some(worker) = state.workers.get_mut(&request) else { return };
        if (number - FIRST_WORKER) % 2 == 1 {
            if let Some(session) = state.machine.session_of(request) {
                state.queues.wake(session);
            }
            return;
        }
        if events.contains(EventSet::OUT) {
            let flushed = worker.flush();
            self.after_write(state, request, flushed);
        }
        if events.intersects(EventSet::IN | EventSet::HANG_UP | EventSet::ERROR) {
            self.worker_spoke(state, request);
        }
    }

    fn worker_spoke(&self, state: &mut DeviceState, request: RequestId) {
        let Some(worker) = state.workers.get_mut(&request) else { return };
        let messages = match worker.read() {
            Ok(Some(messages)) => messages,
            // The broker reports the worker's exit after reaping it.
            Ok(None) => return self.drop_worker(state, request),
            Err(error) => {
                tracing::warn!(vm = self.name, "cannot read a worker's message: {error}");
                return state.machine.end(request, uapi::ENDED_WORKER);
            }
        };
        for (message, body, file) in messages {
            let Some(message) = self.exchange(state, request, message, file) else { continue };
            if let WorkerToDevice::Broken { reason } = &message {
                tracing::warn!(
                    vm = self.name,
                    session = request,
                    "the guest violated the protocol: {}",
                    printable(reason)
                );
            }
            if let Err(how) = state.machine.worker_spoke(request, message, body) {
                tracing::warn!(vm = self.name, "a worker violated the protocol: {how}");
                state.machine.end(request, uapi::ENDED_WORKER);
            }
        }
    }

    /// Handles a worker's message about exports and imports. Returns any other message to the
    /// caller.
    fn exchange(
        &self,
        state: &mut DeviceState,
        request: RequestId,
        message: WorkerToDevice,
        file: Option<OwnedFd>,
    ) -> Option<WorkerToDevice> {
        let user = state.machine.user_of(request);
        let client = Client { worker: request, user, counter: self.counter.clone() };
        match message {
            WorkerToDevice::Export { request: number, token, thing } => {
                let added = self.exports.add(client, token, thing);
                if let Err(Some(why)) = &added {
                    tracing::warn!(vm = self.name, session = request, "{why}");
                }
                let done = added.is_ok();
                let reply = DeviceToWorker::Exported { request: number, done };
                self.reply(state, request, &reply, None);
            }
            WorkerToDevice::Import { request: number, token } => {
                let thing = self.exports.find(&token);
                let reply = DeviceToWorker::Imported { request: number, thing };
                self.reply(state, request, &reply, None);
            }
            WorkerToDevice::Withdraw { token } => self.exports.withdraw(request, &token),
            WorkerToDevice::Fetch { request: number, token } => {
                self.exports.fetch(client, number, token);
            }
            WorkerToDevice::Fetched { request: number, .. } => {
                if let Err(how) = self.exports.fetched(request, number, file) {
                    tracing::warn!(vm = self.name, "a worker violated the protocol: {how}");
                    state.machine.end(request, uapi::ENDED_WORKER);
                }
            }
            other => return Some(other),
        }
        None
    }

    fn reply(
        &self,
        state: &mut DeviceState,
        request: RequestId,
        reply: &DeviceToWorker,
        file: Option<Arc<Apart>>,
    ) {
        let Some(worker) = state.workers.get_mut(&request) else { return };
        let sent = worker.reply(reply, file);
        self.after_write(state, request, sent);
    }
}

fn ended(value: u32) -> &'static str {
    match value {
        uapi::ENDED_PROTOCOL => "the guest process violated the protocol",
        uapi::ENDED_WORKER => "its worker died",
        uapi::ENDED_HOST => "the host ended it",
        _ => "the guest closed it",
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Vring;

    fn num_queues(&self) -> usize {
        uapi::NUM_QUEUES
    }

    fn max_queue_size(&self) -> usize {
        1024
    }

    fn features(&self) -> u64 {
        1 << VIRTIO_F_VERSION_1
            | 1 << VIRTIO_RING_F_INDIRECT_DESC
            | 1 << VIRTIO_RING_F_EVENT_IDX
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    fn reset_device(&self) {
        let mut state = self.lock();
        state.machine.reset();
        state.queues.forget_all();
        self.carry_out(&mut state);
    }

    fn set_event_idx(&self, _enabled: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        // A front end may read past the end of the config space, where it gets zeros.
        let config = self.config();
        let bytes = config.as_bytes().iter().copied().chain(std::iter::repeat(0));
        bytes.skip(offset as usize).take(size as usize).collect()
    }

    fn set_config(&self, _offset: u32, _buf: &[u8]) -> io::Result<()> {
        tracing::debug!(vm = self.name, "ignoring a write to the read-only config space");
        Ok(())
    }

    fn update_memory(&self, memory: GuestMemoryAtomic<GuestMemoryMmap>) -> io::Result<()> {
        let mut state = self.lock();
        let memory = memory.memory();
        let refuse = |why| {
            tracing::error!(vm = self.name, "refusing a front end's memory: {why}");
            Err(io::Error::other(why))
        };
        let accessed = match accessed(&memory) {
            Ok(accessed) => accessed,
            Err(why) => return refuse(why),
        };
        if exceeds_file(&accessed) {
            return refuse("a region of its memory table ends beyond the end of its file");
        }
        if can_shrink(&accessed)
            && let Err(why) = self.place.be_alone()
        {
            let explained = why.explain(&self.limits);
            tracing::error!(vm = self.name, "refusing a front end: {explained}");
            self.link.refused(why);
            return Err(io::Error::other(explained));
        }
        state.queues.set_memory(&accessed);
        let gone = state.slots.update(&memory);
        let requests: Vec<RequestId> = state.workers.keys().copied().collect();
        for request in requests {
            for slot in &gone {
                let Some(worker) = state.workers.get_mut(&request) else { break };
                let sent = worker.forget(*slot);
                self.after_write(&mut state, request, sent);
            }
        }
        self.carry_out(&mut state);
        Ok(())
    }

    /// The library registers this event before it starts the event thread, so that the thread exits
    /// even if another event can't be registered.
    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        let notifier =
            self.exit_notifier.lock().unwrap_or_else(|error| error.into_inner()).take()?;
        // SAFETY: the descriptor is open as long as this object, which lives as long as the event
        // thread. The library registers the descriptor with `into_raw_fd`, so it doesn't close it.
        let exit = unsafe { EventConsumer::from_raw_fd(self.exit.as_raw_fd()) };
        Some((exit, notifier))
    }

    fn stop_vring(&self, queue: u32) -> io::Result<()> {
        // The library has already marked the ring as stopped. Writes to the queue hold the state's
        // lock, so once this thread has acquired it, none is in progress, and later ones see that
        // the ring is stopped.
        self.lock().queues.stopped(queue as usize);
        Ok(())
    }

    fn handle_event(
        &self,
        event: u16,
        events: EventSet,
        vrings: &[Vring],
        _thread: usize,
    ) -> io::Result<()> {
        let mut state = self.lock();
        if state.closed {
            return Err(io::Error::other("the front end disconnected"));
        }
        state.queues.set_vrings(vrings, &self.queues);
        match event {
            queue if usize::from(queue) < uapi::NUM_QUEUES => {
                self.queue(&mut state, queue.into())?
            }
            // `carry_out` checks the queues after each event.
            QUEUES => drain(&self.queues),
            MAILBOX => self.broker_spoke(&mut state),
            COUNTER => {
                for parcel in self.counter.take() {
                    self.reply(&mut state, parcel.worker, &parcel.message, parcel.file);
                }
            }
            MORE => {
                drain(&self.more);
                self.queue(&mut state, CONTROL)?;
                self.queue(&mut state, COMMAND)?;
            }
            number if number >= FIRST_WORKER => self.worker_event(&mut state, number, events),
            _ => {}
        }
        self.carry_out(&mut state);
        Ok(())
    }
}
