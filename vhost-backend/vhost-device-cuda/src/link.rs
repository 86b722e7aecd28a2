//! The connection to the broker, shared by all front ends of the device process.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use super::error::end;
use super::facts::{Questions, Verdict};
use super::machine::RequestId;
use host_ipc::eventfd::{drain, eventfd, notify};
use host_ipc::messages::{BrokerToDevice, DeviceToBroker, Refusal, VmFacts};
use host_ipc::seqpacket;

/// The connection to the broker, and the mailboxes of the front ends that wait for its replies.
pub(super) struct Link {
    broker: OwnedFd,
    last: AtomicU64,
    routes: Mutex<HashMap<RequestId, Arc<Mailbox>>>,
    questions: Mutex<Questions<Asker>>,
    /// The VM's current sessions.max.
    max_sessions: AtomicU32,
    stops: Mutex<Stops>,
    front_ends: Mutex<FrontEnds>,
}

/// The number of connected front ends.
#[derive(Default)]
struct FrontEnds {
    count: u32,
    /// Whether the broker has requested reports of the number.
    is_wanted: bool,
}

/// Which front ends the VMM has stopped.
#[derive(Default)]
struct Stops {
    /// For each front end that has sessions: whether the VMM has stopped it. The key is the address
    /// of the front end's mailbox.
    fronts: HashMap<usize, bool>,
    /// The last state sent to the broker.
    told: bool,
}

/// The sender of a GPU query: the query's number, and the mailbox of the connection that sent it.
type Asker = (RequestId, Arc<Mailbox>);

/// The broker's messages for one front end, and a descriptor that is readable while there are any.
pub(super) struct Mailbox {
    pub(super) event: OwnedFd,
    letters: Mutex<VecDeque<(BrokerToDevice, Vec<OwnedFd>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { event: eventfd()?, letters: Mutex::default() }))
    }

    pub(super) fn take(&self) -> VecDeque<(BrokerToDevice, Vec<OwnedFd>)> {
        drain(&self.event);
        std::mem::take(&mut *lock(&self.letters))
    }

    fn put(&self, message: BrokerToDevice, fds: Vec<OwnedFd>) {
        lock(&self.letters).push_back((message, fds));
        notify(&self.event);
    }

    fn put_facts(&self, request: RequestId, facts: &VmFacts) {
        self.put(BrokerToDevice::Facts { request, facts: facts.clone() }, Vec::new());
    }
}

impl Link {
    /// Starts the thread that receives the broker's messages. When the broker exits, the thread
    /// terminates this process.
    pub(super) fn start(broker: OwnedFd, max_sessions: u32) -> io::Result<Arc<Self>> {
        let routes = Mutex::default();
        let questions = Mutex::new(Questions::new(Instant::now()));
        let (last, max_sessions) = (AtomicU64::new(0), AtomicU32::new(max_sessions));
        let (stops, front_ends) = (Mutex::default(), Mutex::default());
        let link =
            Arc::new(Self { broker, last, routes, questions, max_sessions, stops, front_ends });
        let reader = link.clone();
        std::thread::Builder::new().name("broker".into()).spawn(move || {
            loop {
                match seqpacket::receive(&reader.broker) {
                    Ok(Some((message, fds))) => reader.deliver(message, fds),
                    Ok(None) => end("the broker exited"),
                    Err(error) => end(&format!("cannot receive from the broker: {error}")),
                }
            }
        })?;
        Ok(link)
    }

    fn deliver(&self, message: BrokerToDevice, fds: Vec<OwnedFd>) {
        if let BrokerToDevice::Facts { facts, .. } = message {
            return self.deliver_facts(Arc::new(facts));
        }
        if let BrokerToDevice::SessionsMax { max } = message {
            return self.max_sessions.store(max, Ordering::Relaxed);
        }
        if let BrokerToDevice::CountFrontEnds = message {
            let mut front_ends = lock(&self.front_ends);
            front_ends.is_wanted = true;
            return self.tell(&DeviceToBroker::FrontEnds(front_ends.count));
        }
        let mut routes = lock(&self.routes);
        let mailbox = match &message {
            BrokerToDevice::Setup(_)
            | BrokerToDevice::Facts { .. }
            | BrokerToDevice::CountFrontEnds
            | BrokerToDevice::SessionsMax { .. } => None,
            BrokerToDevice::Started { request, .. } => routes.get(request).cloned(),
            BrokerToDevice::Ended { request, .. } => routes.remove(request),
        };
        drop(routes);
        if let Some(mailbox) = mailbox {
            mailbox.put(message, fds);
        }
    }

    /// Queries the VM's GPUs. The reply goes to `mailbox`.
    pub(super) fn query(&self, request: RequestId, mailbox: &Arc<Mailbox>) {
        let verdict = lock(&self.questions).ask((request, mailbox.clone()), Instant::now());
        match verdict {
            Verdict::Ask => self.send(&DeviceToBroker::Query { request }, mailbox),
            Verdict::Wait => {}
            Verdict::Known((request, mailbox), facts) => mailbox.put_facts(request, &facts),
        }
    }

    fn deliver_facts(&self, facts: Arc<VmFacts>) {
        let (askers, next) = lock(&self.questions).answered(&facts);
        for (request, mailbox) in askers {
            mailbox.put_facts(request, &facts);
        }
        if let Some((request, mailbox)) = next {
            self.send(&DeviceToBroker::Query { request }, &mailbox);
        }
    }

    /// Returns the VM's current sessions.max.
    pub(super) fn max_sessions(&self) -> u32 {
        self.max_sessions.load(Ordering::Relaxed)
    }

    /// Records whether a front end is stopped (`None` if it has no sessions). The VM counts as
    /// stopped if all front ends that have sessions are stopped. Sends the VM's state to the broker
    /// if it has changed.
    pub(super) fn set_stopped(&self, mailbox: &Arc<Mailbox>, stopped: Option<bool>) {
        let mut stops = lock(&self.stops);
        let front = Arc::as_ptr(mailbox).addr();
        match stopped {
            Some(stopped) => stops.fronts.insert(front, stopped),
            None => stops.fronts.remove(&front),
        };
        let is_stopped = !stops.fronts.is_empty() && stops.fronts.values().all(|stopped| *stopped);
        if is_stopped != stops.told {
            stops.told = is_stopped;
            // Send while holding the lock, so that the broker receives the messages in the order of
            // the changes.
            self.send(&DeviceToBroker::Stopped(is_stopped), mailbox);
        }
    }

    /// Records the number of connected front ends, and sends it to the broker if the broker has
    /// requested it.
    pub(super) fn set_front_ends(&self, count: u32) {
        let mut front_ends = lock(&self.front_ends);
        front_ends.count = count;
        if front_ends.is_wanted {
            // Send while holding the lock, so that the broker receives the messages in the order of
            // the changes.
            self.tell(&DeviceToBroker::FrontEnds(count));
        }
    }

    /// Reports to the broker that a session or a front end was refused.
    pub(super) fn refused(&self, why: Refusal) {
        self.tell(&DeviceToBroker::Refused(why));
    }

    /// Returns a request number that hasn't been used in this process.
    pub(super) fn next_request(&self) -> RequestId {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends a message to the broker. If it's a `Start`, replies to it go to `mailbox`.
    pub(super) fn send(&self, message: &DeviceToBroker, mailbox: &Arc<Mailbox>) {
        if let DeviceToBroker::Start { request, .. } = message {
            lock(&self.routes).insert(*request, mailbox.clone());
        }
        self.tell(message);
    }

    fn tell(&self, message: &DeviceToBroker) {
        if let Err(error) = seqpacket::send(&self.broker, message, &[]) {
            end(&format!("cannot send to the broker: {error}"));
        }
    }
}
