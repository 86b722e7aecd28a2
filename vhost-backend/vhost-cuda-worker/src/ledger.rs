//! The worker's access to the VM's accounts of device memory, which the broker keeps.
//!
//! One thread sends requests to the broker and receives the replies, so no lock is held meanwhile.
//! Most reservations need no request: the worker takes them from its credit. The ring reader's thread
//! never waits for a reply. If it needs one, its command is set aside, and runs again with the reply.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use host_ipc::gate::{GateMap, MAX_GPUS, MemoryUsage};
use host_ipc::messages::{CREDIT, Charge, Credit, ShareId, ToBroker, ToWorker, most_kept};
use host_ipc::seqpacket;
use host_ipc::spending::Spending;

use super::waker::Waker;

/// The error when memory isn't reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReserved {
    /// The reservation doesn't fit into the VM's quota.
    #[error("{bytes} more bytes would exceed the VM's memory.max or memory.session_max")]
    OutOfMemory {
        /// The number of bytes that didn't fit.
        bytes: u64,
    },
    /// The broker must decide, and this is the ring reader's thread, which doesn't wait. The command
    /// must end without a reply, and run again once the [`Question`] is answered.
    #[error("the broker must decide about the reservation")]
    Undecided,
}

/// The first and the longest pause before the worker sends a request again for which other workers are
/// freeing memory.
const PAUSES: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));

/// Whether the worker may keep memory that the program has freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// The memory counts as kept.
    Kept,
    /// The worker must first free this many bytes that it keeps.
    Full(u64),
    /// The worker must free the memory.
    Never,
}

/// A reservation that the broker must decide about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    device: i32,
    bytes: u64,
    kind: Charge,
}

/// A question that was sent to the broker.
#[derive(Debug)]
pub struct Asked {
    question: Question,
    granted: Arc<OnceLock<bool>>,
}

/// The broker's answer to a question.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    question: Question,
    granted: bool,
}

impl Asked {
    /// Returns the broker's answer, if there is one.
    pub fn decision(&self) -> Option<Decision> {
        let granted = *self.granted.get()?;
        Some(Decision { question: self.question, granted })
    }
}

thread_local! {
    /// Whether this is the ring reader's thread.
    static IS_READER: Cell<bool> = const { Cell::new(false) };
    /// The last question of a command on this thread.
    static QUESTION: Cell<Option<Question>> = const { Cell::new(None) };
    /// The answer to the question of the command that now runs again on this thread.
    static DECISION: Cell<Option<Decision>> = const { Cell::new(None) };
}

/// Makes this thread the ring reader's, which never waits for the broker.
pub fn be_reader() {
    IS_READER.set(true);
}

/// Takes the question of the command that has just run on this thread, if it has one.
#[inline]
pub fn take_question() -> Option<Question> {
    QUESTION.take()
}

/// The reason why a worker can't hold shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The memory doesn't fit into the session's limit.
    #[error("the shared memory would exceed the VM's memory.session_max")]
    OutOfMemory,
    /// No session holds the memory any more, or it is on another GPU.
    #[error("no session of the VM holds this memory on this GPU")]
    Gone,
}

type Answered = Box<dyn FnOnce(ToWorker) + Send>;

/// A request to the broker.
enum Request {
    Ask(ToBroker, Answered),
    /// The broker should check the credit on this device.
    Check(u32),
}

/// The VM's accounts of device memory, one per GPU. GPUs are identified by the worker's device
/// ordinals.
///
/// Reserve memory before the driver allocates it, and release it after the driver has freed it.
/// Pass the number of bytes that the driver actually allocates, after its rounding. When a worker
/// dies, the broker releases its reservations once it has reaped the process.
#[derive(Clone)]
pub struct LedgerClient {
    requests: mpsc::Sender<Request>,
    /// The page in which the broker publishes the state of the accounts.
    page: Arc<GateMap>,
    /// Where the session shows what it spends of its credit. Without it, the session uses none: the
    /// VM's other sessions wouldn't see its allocations at once.
    spending: Option<Spending>,
    /// Whether a request to check the credit on each device is waiting.
    checks: Arc<[AtomicBool; MAX_GPUS]>,
    #[cfg(test)]
    asked: Arc<std::sync::atomic::AtomicUsize>,
}

impl LedgerClient {
    /// Reserves memory from the broker at the other end of this socket.
    pub fn new(
        socket: OwnedFd,
        page: Arc<GateMap>,
        spending: Option<Spending>,
    ) -> io::Result<Self> {
        let (requests, incoming) = mpsc::channel();
        let checks: Arc<[AtomicBool; MAX_GPUS]> = Arc::default();
        let checked = checks.clone();
        std::thread::Builder::new().name("ledger".into()).spawn(move || {
            for request in incoming {
                match request {
                    Request::Ask(question, answered) => answered(ask(&socket, &question)),
                    Request::Check(device) => {
                        // The broker checks the credit after this.
                        if let Some(checked) = checked.get(device as usize) {
                            checked.store(false, Ordering::SeqCst);
                        }
                        let (bytes, kind) = (0, Charge::Memory);
                        ask(&socket, &ToBroker::Release { device, bytes, kind });
                    }
                }
            }
        })?;
        if spending.is_some() {
            page.gpus.iter().for_each(|gpu| gpu.credit.take_offers());
            page.kept.iter().for_each(Credit::take_offers);
        }
        Ok(Self {
            requests,
            page,
            spending,
            checks,
            #[cfg(test)]
            asked: Arc::default(),
        })
    }

    /// Reserves `bytes` on a device, or fails and reserves nothing. Threads other than the ring
    /// reader's wait for the broker if the credit is too small.
    pub fn reserve(&self, device: i32, bytes: u64, kind: Charge) -> Result<(), NotReserved> {
        if bytes == 0 || self.spend(device, bytes, kind) {
            return Ok(());
        }
        let question = Question { device, bytes, kind };
        if IS_READER.get() {
            return self.decided(question);
        }
        match self.ask(question.request()) {
            ToWorker::Granted => Ok(()),
            _ => Err(NotReserved::OutOfMemory { bytes }),
        }
    }

    /// Returns the credit on a device, if the worker may use it, and where to show what it spends.
    fn credit(&self, device: i32) -> Option<(&Credit, &Spending, usize)> {
        let device = usize::try_from(device).ok()?;
        let credit = &self.page.gpus.get(device)?.credit;
        let spending = self.spending.as_ref()?;
        credit.is_taken().then_some((credit, spending, device))
    }

    /// Takes memory from the credit, if it has enough.
    fn spend(&self, device: i32, bytes: u64, kind: Charge) -> bool {
        let Some((credit, spending, index)) =
            self.credit(device).filter(|(credit, ..)| credit.spend(bytes))
        else {
            return false;
        };
        spending.spent(index, bytes);
        let device = device as u32;
        if kind != Charge::Memory {
            // The bytes stay charged, so nothing depends on when the broker learns of the kind.
            self.post(ToBroker::Convert { device, bytes, kind });
        }
        if credit.bytes() < CREDIT / 2 {
            self.check(device);
        }
        true
    }

    /// Reserves memory about which the broker may have decided already.
    fn decided(&self, question: Question) -> Result<(), NotReserved> {
        match DECISION.take() {
            Some(Decision { question: decided, granted }) if decided == question => match granted {
                true => Ok(()),
                false => Err(NotReserved::OutOfMemory { bytes: question.bytes }),
            },
            other => {
                // Something has changed since the command asked.
                other.into_iter().for_each(|decision| self.unused(decision));
                QUESTION.set(Some(question));
                Err(NotReserved::Undecided)
            }
        }
    }

    /// Releases what the broker has granted to a command that doesn't need it any more.
    fn unused(&self, decision: Decision) {
        let Decision { question: Question { device, bytes, kind }, granted } = decision;
        if granted {
            self.release(device, bytes, kind);
        }
    }

    /// Sends a question to the broker, and wakes the ring reader when it's answered.
    pub fn ask_later(&self, question: Question, waker: &Waker) -> Asked {
        #[cfg(test)]
        self.asked.fetch_add(1, Ordering::SeqCst);
        let granted = Arc::new(OnceLock::new());
        let (answer, waker) = (granted.clone(), waker.clone());
        self.send(Request::Ask(
            question.request(),
            Box::new(move |reply| {
                let _ = answer.set(matches!(reply, ToWorker::Granted));
                waker.wake();
            }),
        ));
        Asked { question, granted }
    }

    /// Returns how many questions were sent for the ring reader.
    #[cfg(test)]
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Runs a command again, with the broker's answer to its question.
    pub fn with_decision<T>(&self, decision: Option<Decision>, run: impl FnOnce() -> T) -> T {
        // A command may make earlier ones run again.
        let outer = DECISION.replace(decision);
        let result = run();
        if let Some(decision) = DECISION.replace(outer) {
            self.unused(decision);
        }
        result
    }

    /// Releases `bytes` that this worker has reserved on the same device for the same kind of
    /// charge. The broker ends a worker that releases more than it has reserved.
    ///
    /// Memory for allocations becomes credit, which the broker withdraws before it refuses a request
    /// of another session, so all sessions can use the memory at once.
    pub fn release(&self, device: i32, bytes: u64, kind: Charge) {
        if kind == Charge::Memory
            && let Some((credit, spending, index)) =
                self.credit(device).filter(|(credit, ..)| credit.add(bytes))
        {
            spending.saved(index, bytes);
            if credit.bytes() > CREDIT {
                self.check(device as u32);
            }
            return;
        }
        let request = ToBroker::Release { device: device as u32, bytes, kind };
        match IS_READER.get() {
            true => self.post(request),
            false => {
                self.ask(request);
            }
        }
    }

    /// Returns the memory that the worker keeps on a device, and where to show what it spends. Kept
    /// memory counts as credit in that: the VM's other sessions see it as free.
    fn kept(&self, device: i32) -> Option<(&Credit, &Spending, usize)> {
        let device = usize::try_from(device).ok()?;
        Some((self.page.kept.get(device)?, self.spending.as_ref()?, device))
    }

    /// Returns the bytes that the worker keeps on a device.
    pub fn kept_bytes(&self, device: i32) -> u64 {
        self.kept(device).map_or(0, |(kept, ..)| kept.bytes())
    }

    /// Returns whether the worker may keep memory that the program has freed, and use it again.
    pub fn may_keep(&self, device: i32) -> bool {
        self.kept(device).is_some_and(|(kept, ..)| kept.is_taken())
    }

    /// Counts `bytes` that the program has freed, and that the worker has reserved for
    /// `Charge::Memory`, as kept, if the worker may keep them.
    pub fn keep(&self, device: i32, bytes: u64) -> Keeps {
        let Some((kept, spending, index)) = self.kept(device).filter(|(kept, ..)| kept.is_taken())
        else {
            return Keeps::Never;
        };
        let most = self.published(device).map_or(0, |usage| most_kept(usage.max));
        let more = kept.bytes().saturating_add(bytes);
        match more.saturating_sub(most) {
            _ if bytes > most => Keeps::Never,
            0 if kept.add(bytes) => {
                spending.saved(index, bytes);
                Keeps::Kept
            }
            0 => Keeps::Never,
            excess => Keeps::Full(excess),
        }
    }

    /// Counts `bytes` of kept memory as used again.
    pub fn use_kept(&self, device: i32, bytes: u64) {
        if let Some((kept, spending, index)) = self.kept(device) {
            kept.spend(bytes);
            spending.spent(index, bytes);
        }
    }

    /// Turns `bytes` of kept memory, which the driver has freed, into credit.
    pub fn release_kept(&self, device: i32, bytes: u64) {
        let Some((kept, _, index)) = self.kept(device) else { return };
        // The credit is added even if the worker may not use it, and before the memory is subtracted:
        // once nothing is kept, the broker decides about requests that wait for it.
        if let Some(gpu) = self.page.gpus.get(index) {
            gpu.credit.add(bytes);
        }
        kept.spend(bytes);
        self.check(device as u32);
    }

    /// Turns `bytes` that this worker has reserved on a device for `Charge::Memory` into shared
    /// memory. Fails if the VM shares too many pieces of memory.
    pub fn share(&self, device: i32, bytes: u64) -> Option<ShareId> {
        match self.ask(ToBroker::Share { device: device as u32, bytes }) {
            ToWorker::Shared { share } => Some(share),
            _ => None,
        }
    }

    /// Makes this worker hold shared memory on a device. Returns the number of bytes.
    pub fn join(&self, device: i32, share: ShareId) -> Result<u64, JoinError> {
        match self.ask(ToBroker::Join { device: device as u32, share }) {
            ToWorker::Joined { bytes } => Ok(bytes),
            ToWorker::NoShare => Err(JoinError::Gone),
            _ => Err(JoinError::OutOfMemory),
        }
    }

    /// Makes this worker hold shared memory once less, after the driver has freed it. The broker
    /// ends a worker that leaves memory that it doesn't hold.
    pub fn leave(&self, device: i32, share: ShareId) {
        self.ask(ToBroker::Leave { device: device as u32, share });
    }

    /// Returns the current state of the VM's account for a device. The guest sees it in the results
    /// of cuMemGetInfo and cuDeviceTotalMem.
    ///
    /// Normally reads the state that the broker and the VM's other workers have published, because
    /// programs call cuMemGetInfo often.
    pub fn usage(&self, device: i32) -> MemoryUsage {
        if let Some(usage) = self.published(device) {
            return usage;
        }
        match self.ask(ToBroker::Query { device: device as u32 }) {
            ToWorker::Usage { used, max } => MemoryUsage { used, max },
            _ => MemoryUsage { used: 0, max: 0 },
        }
    }

    /// Returns the state of the VM's account for a device that the broker and the VM's other workers
    /// have published.
    fn published(&self, device: i32) -> Option<MemoryUsage> {
        let device = usize::try_from(device).ok()?;
        match &self.spending {
            Some(spending) => spending.memory(device),
            None => self.page.gpus.get(device)?.memory(|| (0, 0)),
        }
    }

    /// Sends a request to the broker, and waits for the reply.
    fn ask(&self, question: ToBroker) -> ToWorker {
        let (reply, answer) = mpsc::channel();
        let answered = move |answer| {
            // The thread waits, so sending can't fail.
            let _ = reply.send(answer);
        };
        self.send(Request::Ask(question, Box::new(answered)));
        answer.recv().unwrap_or_else(|_| super::end::end("the ledger's thread ended"))
    }

    /// Sends a request to the broker, and doesn't wait for the reply.
    fn post(&self, request: ToBroker) {
        self.send(Request::Ask(request, Box::new(|_| {})));
    }

    /// Has the broker check the credit.
    fn check(&self, device: u32) {
        let checks = self.checks.get(device as usize);
        if checks.is_some_and(|checks| !checks.swap(true, Ordering::SeqCst)) {
            self.send(Request::Check(device));
        }
    }

    fn send(&self, request: Request) {
        if self.requests.send(request).is_err() {
            super::end::end("the ledger's thread ended");
        }
    }
}

impl Question {
    fn request(self) -> ToBroker {
        let Self { device, bytes, kind } = self;
        ToBroker::Reserve { device: device as u32, bytes, kind }
    }
}

/// Sends a request to the broker and waits for the reply, which isn't `Later`. If the broker is gone or
/// its reply is invalid, ends the worker, because it can't account for memory any more.
fn ask(socket: &OwnedFd, question: &ToBroker) -> ToWorker {
    let (mut pause, longest) = PAUSES;
    loop {
        let answer = seqpacket::send(socket, question, &[])
            .and_then(|()| seqpacket::receive::<ToWorker>(socket));
        match answer {
            // Other sessions, or this one, are freeing memory that the request needs.
            Ok(Some((ToWorker::Later, _))) => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(longest);
            }
            Ok(Some((answer, _))) => return answer,
            Ok(None) => super::end::end("the broker exited"),
            Err(error) => super::end::end(&format!("the broker does not answer: {error}")),
        }
    }
}
