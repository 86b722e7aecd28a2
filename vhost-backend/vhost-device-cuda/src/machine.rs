//! The state machine for one front end's sessions. It is independent of the transport and does no
//! I/O: the caller passes in requests and events from workers, and carries out the [`Effect`]s that
//! the machine emits.

use std::collections::{BTreeMap, HashMap, VecDeque};

use protocol::uapi;

use super::request::{Attach, Control, Status, Submitted};
use host_ipc::messages::{Abort, DeviceToWorker, Ending, Limits, WorkerToDevice, user};

/// The transport's number for a descriptor chain that is waiting for its response.
pub type ChainId = u64;
/// The number of a request to the broker, for a session's worker or for facts about GPUs. Numbers
/// are unique in this process and never reused. The number of the request that started a worker
/// also identifies the worker.
pub type RequestId = u64;

/// Maximum number of GPU queries that one front end may have in progress.
const MAX_QUERIES: usize = 8;

/// Maximum number of HELLOs that can wait for earlier sessions to end. A well-behaved driver sends
/// one HELLO and waits for the response.
const MAX_HELLOS: usize = 8;

/// Maximum total size of requests waiting for sessions to start or end, in bytes. Enough for
/// several of the longest requests, or for one short request per descriptor in the control queue.
const MAX_BACKLOG: usize = 1 << 20;

/// Maximum number of pieces in a session's regions. The worker maps each one, and the kernel allows
/// a process 65530 mappings by default. The remaining mappings are for the driver library.
const MAX_PIECES: usize = 48 * 1024;

/// An action for the caller to carry out.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write the response to a chain.
    Answer {
        /// The chain to answer.
        chain: ChainId,
        /// The status in the response header.
        status: Status,
        /// The bytes that follow the response header.
        body: Vec<u8>,
    },
    /// Query the broker about the VM's GPUs.
    Query {
        /// The query's number, which the caller passes to [`Machine::facts`] with the reply.
        request: RequestId,
    },
    /// Ask the broker for a worker.
    Start {
        /// The number of this request, which also identifies the worker that the broker starts.
        request: RequestId,
        /// The guest's session ID, for logs.
        session: u32,
        /// ID of the guest process, for logs.
        pid: u32,
        /// The guest process's environment variables.
        env: Vec<(String, String)>,
    },
    /// Ask the broker to end a worker whose session the guest process has closed.
    End {
        /// Number of the worker to end.
        request: RequestId,
    },
    /// Ask the broker to end a worker for another reason.
    Abort {
        /// Number of the worker to end.
        request: RequestId,
        /// The reason for ending the worker.
        why: Abort,
    },
    /// Report to the broker that a session was refused because of sessions.max.
    Refused,
    /// Send a message to a worker.
    Send {
        /// Number of the worker that gets the message.
        request: RequestId,
        /// The message to send.
        message: DeviceToWorker,
        /// The bytes that follow the message.
        body: Vec<u8>,
    },
    /// Ring a worker's doorbell.
    Ring {
        /// Number of the worker whose doorbell to ring.
        request: RequestId,
    },
    /// Put an ENDED event into the event queue.
    Ended {
        /// The session's ID in the guest.
        session: u32,
        /// Number of the session's worker, for logs.
        request: RequestId,
        /// The reason, one of the uAPI's `ENDED_` constants.
        value: u32,
    },
}

/// Translates guest memory addresses to the files that workers map.
pub trait GuestPages {
    /// Returns the slot, offset and length of each piece of the segments, or `None` if any part of
    /// a segment isn't guest memory.
    fn pieces(&self, segments: &[uapi::Segment]) -> Option<Vec<(u32, u64, u64)>>;

    /// Returns the size of all guest memory in bytes.
    fn bytes(&self) -> u64;
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Waiting for the broker to provide a worker.
    Creating { chain: ChainId },
    /// The session has a worker, and accepts all requests.
    Live,
    /// Waiting for the worker to be reaped. After that, if the driver requested the end of the
    /// session, its request (`destroy`) is answered. If it didn't, the driver gets an ENDED event
    /// with `value`.
    Ending { value: u32, destroy: Option<ChainId> },
    /// The worker has been reaped, but the driver hasn't acknowledged the session's end with a
    /// DESTROY yet.
    Ended,
}

#[derive(Debug)]
enum InFlight {
    Attach { region: u32, chain: ChainId },
    Detach { region: u32, chain: ChainId },
    Submit { room: u32, bytes: usize, chain: ChainId },
}

/// The size of an attached region, and the number of its mappings in the worker.
struct Attached {
    bytes: u64,
    /// The number of mappings, one for each piece.
    pieces: usize,
}

struct Session {
    request: RequestId,
    /// The ID of the guest's user, if the sessions of that user have limits.
    user: Option<u32>,
    state: Stage,
    /// The regions that are attached, being attached, or being detached.
    regions: BTreeMap<u32, Attached>,
    had_ring: bool,
    in_flight: HashMap<u64, InFlight>,
    /// Total size of the commands in flight on the command queue, plus the room for their replies,
    /// in bytes.
    submitted: usize,
    /// Requests waiting until the session has started or ended.
    backlog: VecDeque<(ChainId, Control)>,
}

impl Session {
    /// Takes a request in flight whose reply has arrived. If the reply is of the wrong kind for the
    /// request, returns `None`, and the request stays in flight, so that its chain is answered when
    /// the worker has ended.
    fn answered(&mut self, number: u64, suits: impl Fn(&InFlight) -> bool) -> Option<InFlight> {
        self.in_flight.get(&number).filter(|waiting| suits(waiting))?;
        self.in_flight.remove(&number)
    }
}

/// The sessions of one front end.
pub struct Machine {
    limits: Limits,
    epoch: Option<u64>,
    sessions: BTreeMap<u32, Session>,
    /// Workers that haven't been reaped yet and whose sessions were ended by a HELLO or a reset.
    dying: HashMap<RequestId, ()>,
    /// HELLOs waiting until `dying` is empty.
    hellos: Vec<ChainId>,
    /// GPU queries in progress, by request number: the chain, and its room for a response in bytes.
    queries: HashMap<RequestId, (ChainId, usize)>,
    next: u64,
    effects: Vec<Effect>,
    /// Generates request numbers that are unique among all front ends in this process.
    requests: Box<dyn FnMut() -> RequestId + Send>,
}

impl Machine {
    /// Creates the state machine for a device whose driver hasn't sent a HELLO yet.
    pub fn new(limits: Limits, requests: Box<dyn FnMut() -> RequestId + Send>) -> Self {
        Self {
            limits,
            epoch: None,
            sessions: BTreeMap::new(),
            dying: HashMap::new(),
            hellos: Vec::new(),
            queries: HashMap::new(),
            next: 0,
            effects: Vec::new(),
            requests,
        }
    }

    /// Changes sessions.max. Existing sessions aren't affected.
    pub fn set_max_sessions(&mut self, max: u32) {
        self.limits.max_sessions = max;
    }

    /// Takes the effects emitted since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn answer(&mut self, chain: ChainId, status: Status) {
        self.effects.push(Effect::Answer { chain, status, body: Vec::new() });
    }

    // ---- The control queue ----

    /// Handles a request from the control queue. Its chain has room for a response of `room` bytes.
    pub fn control(&mut self, chain: ChainId, bytes: &[u8], room: usize, pages: &dyn GuestPages) {
        match Control::parse(bytes, &self.limits) {
            Ok(Control::Query) => self.query(chain, room),
            Ok(request) => self.request(chain, request, pages),
            Err(status) => self.answer(chain, status),
        }
    }

    fn request(&mut self, chain: ChainId, request: Control, pages: &dyn GuestPages) {
        let Some(id) = request.session() else {
            if let Control::Hello { epoch } = request {
                self.hello(chain, epoch);
            }
            return;
        };
        if self.epoch.is_none() {
            return self.answer(chain, uapi::ERR_INVALID);
        }
        let waiting = self.sessions.values().flat_map(|session| &session.backlog);
        let backlog: usize = waiting.map(|(_, request)| request.weight()).sum();
        // Requests for one session take effect in order, so they wait while the session is starting
        // or ending.
        if let Some(session) = self.sessions.get_mut(&id)
            && matches!(session.state, Stage::Creating { .. } | Stage::Ending { .. })
        {
            if let (Control::Destroy { .. }, Stage::Ending { destroy: destroy @ None, .. }) =
                (&request, &mut session.state)
            {
                *destroy = Some(chain);
            } else if backlog + request.weight() > MAX_BACKLOG {
                self.answer(chain, uapi::ERR_BUSY);
            } else {
                session.backlog.push_back((chain, request));
            }
            return;
        }
        match request {
            Control::Hello { .. } | Control::Query => {}
            Control::Create { session, pid, env } => self.create(chain, session, pid, env),
            Control::Destroy { session } => self.destroy(chain, session),
            Control::Attach { session, region } => self.attach(chain, session, region, pages),
            Control::Detach { session, region } => self.detach(chain, session, region),
        }
    }

    fn hello(&mut self, chain: ChainId, epoch: u64) {
        if self.epoch != Some(epoch) {
            self.end_all(Abort::GuestReset);
            self.epoch = Some(epoch);
        }
        if self.hellos.len() >= MAX_HELLOS {
            return self.answer(chain, uapi::ERR_BUSY);
        }
        self.hellos.push(chain);
        self.answer_hellos();
    }

    fn answer_hellos(&mut self) {
        if self.dying.is_empty() {
            for chain in std::mem::take(&mut self.hellos) {
                self.answer(chain, uapi::OK);
            }
        }
    }

    fn query(&mut self, chain: ChainId, room: usize) {
        if self.epoch.is_none() {
            return self.answer(chain, uapi::ERR_INVALID);
        }
        if self.queries.len() >= MAX_QUERIES {
            return self.answer(chain, uapi::ERR_BUSY);
        }
        let request = (self.requests)();
        self.queries.insert(request, (chain, room));
        self.effects.push(Effect::Query { request });
    }

    /// Answers a GPU query with encoded facts.
    pub fn facts(&mut self, request: RequestId, body: Vec<u8>) {
        let Some((chain, room)) = self.queries.remove(&request) else { return };
        if size_of::<uapi::Resp>() + body.len() > room {
            return self.answer(chain, uapi::ERR_LIMIT);
        }
        self.effects.push(Effect::Answer { chain, status: uapi::OK, body });
    }

    fn create(&mut self, chain: ChainId, id: u32, pid: u32, env: Vec<(String, String)>) {
        if self.sessions.contains_key(&id) {
            return self.answer(chain, uapi::ERR_EXISTS);
        }
        if self.sessions.len() >= self.limits.max_sessions as usize {
            self.effects.push(Effect::Refused);
            return self.answer(chain, uapi::ERR_LIMIT);
        }
        let request = (self.requests)();
        let session = Session {
            request,
            user: user(&env),
            state: Stage::Creating { chain },
            regions: BTreeMap::new(),
            had_ring: false,
            in_flight: HashMap::new(),
            submitted: 0,
            backlog: VecDeque::new(),
        };
        self.sessions.insert(id, session);
        self.effects.push(Effect::Start { request, session: id, pid, env });
    }

    fn destroy(&mut self, chain: ChainId, id: u32) {
        match self.sessions.get_mut(&id) {
            None => self.answer(chain, uapi::ERR_NO_SESSION),
            Some(session) if session.state == Stage::Ended => {
                self.sessions.remove(&id);
                self.answer(chain, uapi::OK);
            }
            Some(session) => {
                let value = uapi::ENDED_DESTROYED;
                session.state = Stage::Ending { value, destroy: Some(chain) };
                let request = session.request;
                self.effects.push(Effect::End { request });
            }
        }
    }

    fn attach(&mut self, chain: ChainId, id: u32, region: Attach, pages: &dyn GuestPages) {
        let number = self.number();
        let limits = self.limits;
        let Some(session) = self.live(id) else {
            return self.answer(chain, uapi::ERR_NO_SESSION);
        };
        let bytes: u64 = session.regions.values().map(|region| region.bytes).sum();
        let used: usize = session.regions.values().map(|region| region.pieces).sum();
        let second_ring = region.kind == uapi::REGION_RING && session.had_ring;
        let refusal = if second_ring || session.regions.contains_key(&region.id) {
            Some(uapi::ERR_EXISTS)
        } else if session.regions.len() >= limits.max_regions as usize
            || bytes.saturating_add(region.len) > limits.pinned_max.min(pages.bytes())
        {
            Some(uapi::ERR_LIMIT)
        } else {
            None
        };
        if let Some(status) = refusal {
            return self.answer(chain, status);
        }
        let Some(pieces) = pages.pieces(&region.segments) else {
            return self.answer(chain, uapi::ERR_MEMORY);
        };
        if used + pieces.len() > MAX_PIECES {
            return self.answer(chain, uapi::ERR_LIMIT);
        }
        session.had_ring |= region.kind == uapi::REGION_RING;
        let attached = Attached { bytes: region.len, pieces: pieces.len() };
        session.regions.insert(region.id, attached);
        session.in_flight.insert(number, InFlight::Attach { region: region.id, chain });
        let message = DeviceToWorker::Attach {
            request: number,
            region: region.id,
            kind: region.kind,
            vaddr: region.vaddr,
            ring_bytes: region.ring_bytes,
            pieces,
        };
        let request = session.request;
        self.effects.push(Effect::Send { request, message, body: Vec::new() });
    }

    fn detach(&mut self, chain: ChainId, id: u32, region: u32) {
        let number = self.number();
        let Some(session) = self.live(id) else {
            return self.answer(chain, uapi::ERR_NO_SESSION);
        };
        let leaving = |in_flight: &InFlight| matches!(in_flight, InFlight::Detach { region: r, .. } if *r == region);
        if !session.regions.contains_key(&region) || session.in_flight.values().any(leaving) {
            return self.answer(chain, uapi::ERR_INVALID);
        }
        session.in_flight.insert(number, InFlight::Detach { region, chain });
        let request = session.request;
        let message = DeviceToWorker::Detach { request: number, region };
        self.effects.push(Effect::Send { request, message, body: Vec::new() });
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn live(&mut self, id: u32) -> Option<&mut Session> {
        self.sessions.get_mut(&id).filter(|session| session.state == Stage::Live)
    }

    // ---- The command queue ----

    /// Handles a request from the command queue. Its chain has room for a response of `room` bytes.
    pub fn command(&mut self, chain: ChainId, bytes: &[u8], room: usize) {
        let number = self.number();
        let max_plain = self.limits.max_plain;
        let max_in_flight = 2 * max_plain as usize;
        match Submitted::parse(bytes, room, &self.limits) {
            Err(status) => self.answer(chain, status),
            Ok(Submitted::Doorbell { session }) => {
                let status = match self.live(session).map(|session| session.request) {
                    Some(request) => {
                        self.effects.push(Effect::Ring { request });
                        uapi::OK
                    }
                    None => uapi::ERR_NO_SESSION,
                };
                self.answer(chain, status);
            }
            Ok(Submitted::Submit { session, command, room }) => {
                let Some(session) = self.live(session) else {
                    return self.answer(chain, uapi::ERR_NO_SESSION);
                };
                // A worker's message can hold at most `max_plain` bytes, so don't offer the worker
                // more room. The worker refuses a command whose reply would be longer.
                let room = room.min(max_plain);
                let bytes = command.len() + room as usize;
                if session.submitted > 0 && session.submitted + bytes > max_in_flight {
                    return self.answer(chain, uapi::ERR_BUSY);
                }
                session.submitted += bytes;
                session.in_flight.insert(number, InFlight::Submit { room, bytes, chain });
                let request = session.request;
                let message = DeviceToWorker::Submit { request: number, room };
                let body = command.to_vec();
                self.effects.push(Effect::Send { request, message, body });
            }
        }
    }

    // ---- Workers ----

    fn find(&mut self, request: RequestId) -> Option<u32> {
        self.sessions.iter().find(|(_, s)| s.request == request).map(|(id, _)| *id)
    }

    /// Handles the broker's notice that a worker has started. Returns `false` if the session for
    /// which the worker was started has ended or is ending.
    pub fn worker_started(&mut self, request: RequestId, pages: &dyn GuestPages) -> bool {
        let Some(id) = self.find(request) else { return false };
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        let Stage::Creating { chain } = session.state else { return false };
        session.state = Stage::Live;
        let backlog = std::mem::take(&mut session.backlog);
        self.answer(chain, uapi::OK);
        for (chain, waiting) in backlog {
            self.request(chain, waiting, pages);
        }
        true
    }

    /// Handles the broker's notice that a worker has been reaped or couldn't be started.
    pub fn worker_ended(&mut self, request: RequestId, how: &Ending, pages: &dyn GuestPages) {
        if self.dying.remove(&request).is_some() {
            return self.answer_hellos();
        }
        let Some(id) = self.find(request) else { return };
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let backlog = std::mem::take(&mut session.backlog);
        let in_flight = std::mem::take(&mut session.in_flight);
        let state = std::mem::replace(&mut session.state, Stage::Ended);
        for waiting in in_flight.into_values() {
            let (InFlight::Attach { chain, .. }
            | InFlight::Detach { chain, .. }
            | InFlight::Submit { chain, .. }) = waiting;
            self.answer(chain, uapi::ERR_NO_SESSION);
        }
        match state {
            Stage::Creating { chain } => {
                self.sessions.remove(&id);
                let limit = *how == Ending::Limit;
                self.answer(chain, if limit { uapi::ERR_LIMIT } else { uapi::ERR_NO_WORKER });
            }
            Stage::Ending { destroy: Some(chain), .. } => {
                self.sessions.remove(&id);
                self.answer(chain, uapi::OK);
            }
            Stage::Ending { value, destroy: None } => {
                self.effects.push(Effect::Ended { session: id, request, value });
            }
            Stage::Live | Stage::Ended => {
                let value = uapi::ENDED_WORKER;
                self.effects.push(Effect::Ended { session: id, request, value });
            }
        }
        for (chain, waiting) in backlog {
            self.request(chain, waiting, pages);
        }
    }

    /// Handles a worker's message. Returns an error that describes the violation if the worker
    /// violated the protocol. The caller must then end the worker.
    pub fn worker_spoke(
        &mut self,
        request: RequestId,
        message: WorkerToDevice,
        body: Vec<u8>,
    ) -> Result<(), &'static str> {
        let Some(id) = self.find(request) else { return Ok(()) };
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        match message {
            WorkerToDevice::Done { request: number, status } => {
                let suits = |waiting: &InFlight| !matches!(waiting, InFlight::Submit { .. });
                let (chain, status) = match session.answered(number, suits) {
                    Some(InFlight::Attach { region, chain }) => {
                        if status != uapi::OK {
                            session.regions.remove(&region);
                        }
                        (chain, status)
                    }
                    Some(InFlight::Detach { region, chain }) => {
                        session.regions.remove(&region);
                        (chain, status)
                    }
                    _ => return Err("it replied to a request that was not sent"),
                };
                let known = [uapi::OK, uapi::ERR_INVALID, uapi::ERR_EXISTS, uapi::ERR_MEMORY];
                let status = if known.contains(&status) { status } else { uapi::ERR_MEMORY };
                self.answer(chain, status);
            }
            WorkerToDevice::Answer { request: number } => {
                let suits = |waiting: &InFlight| matches!(waiting, InFlight::Submit { room, .. } if body.len() <= *room as usize);
                let Some(InFlight::Submit { bytes, chain, .. }) = session.answered(number, suits)
                else {
                    return Err(
                        "it replied to a request that was not sent, or its reply is too long",
                    );
                };
                session.submitted -= bytes;
                self.effects.push(Effect::Answer { chain, status: uapi::OK, body });
            }
            // The caller handles messages about exports before it calls this function, because all
            // front ends of the VM share the exports.
            WorkerToDevice::Export { .. }
            | WorkerToDevice::Import { .. }
            | WorkerToDevice::Withdraw { .. }
            | WorkerToDevice::Fetch { .. }
            | WorkerToDevice::Fetched { .. } => {}
            WorkerToDevice::Broken { .. } => self.end(request, uapi::ENDED_PROTOCOL),
        }
        Ok(())
    }

    /// Ends the session of worker `request` without a request from the driver. `value` is the
    /// reason that the driver gets in the ENDED event.
    pub fn end(&mut self, request: RequestId, value: u32) {
        let Some(id) = self.find(request) else { return };
        if let Some(session) = self.sessions.get_mut(&id)
            && session.state == Stage::Live
        {
            session.state = Stage::Ending { value, destroy: None };
            let why = match value {
                uapi::ENDED_PROTOCOL => Abort::Violation,
                _ => Abort::Worker,
            };
            self.effects.push(Effect::Abort { request, why });
        }
    }

    /// Ends all sessions without ENDED events, after a new epoch, a reset, or the disconnection of
    /// the front end.
    pub fn end_all(&mut self, why: Abort) {
        for (_, session) in std::mem::take(&mut self.sessions) {
            let request = session.request;
            if session.state != Stage::Ended {
                self.dying.insert(request, ());
                self.effects.push(Effect::Abort { request, why });
            }
            let waiting = session.in_flight.into_values().map(|waiting| match waiting {
                InFlight::Attach { chain, .. }
                | InFlight::Detach { chain, .. }
                | InFlight::Submit { chain, .. } => chain,
            });
            let mut chains: Vec<ChainId> = waiting.collect();
            chains.extend(session.backlog.into_iter().map(|(chain, _)| chain));
            match session.state {
                Stage::Creating { chain } | Stage::Ending { destroy: Some(chain), .. } => {
                    chains.push(chain);
                }
                _ => {}
            }
            for chain in chains {
                self.answer(chain, uapi::ERR_NO_SESSION);
            }
        }
    }

    /// Handles a reset of the queues. Later requests come from a new driver.
    pub fn reset(&mut self) {
        self.end_all(Abort::GuestReset);
        self.epoch = None;
        self.hellos.clear();
        self.queries.clear();
    }

    /// Returns true if any session has a worker, or is waiting for one.
    pub fn has_sessions(&self) -> bool {
        self.sessions.values().any(|session| session.state != Stage::Ended)
    }

    /// Returns true if the session exists, or has ended but the driver hasn't acknowledged its end
    /// yet.
    pub fn knows(&self, session: u32) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Returns the ID of the session that a worker serves, or `None` if the driver's HELLO, a
    /// reset, or a disconnection has already ended that session.
    pub fn session_of(&self, request: RequestId) -> Option<u32> {
        self.sessions.iter().find(|(_, s)| s.request == request).map(|(id, _)| *id)
    }

    /// Returns the ID of the guest's user to whom a worker's session belongs.
    pub fn user_of(&self, request: RequestId) -> Option<u32> {
        self.sessions.values().find(|session| session.request == request)?.user
    }
}

#[cfg(test)]
mod tests;
