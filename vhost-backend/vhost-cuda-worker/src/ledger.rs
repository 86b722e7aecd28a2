//! The worker's access to the VM's accounts of device memory, which the broker keeps.
//!
//! One thread of the worker sends all requests to the broker and receives the replies, so other
//! threads needn't hold a lock while they wait. Most reservations don't require a request, because
//! the worker takes the memory from its credit. The ring reader's thread never waits for a reply.
//! If a command on that thread needs a reply, the command is set aside, and runs again when the
//! reply has arrived.

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

/// The error of a reservation that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReserved {
    /// The reservation doesn't fit into the VM's quota.
    #[error("{bytes} more bytes would exceed the VM's memory.max or memory.session_max")]
    OutOfMemory {
        /// The number of bytes that didn't fit.
        bytes: u64,
    },
    /// The broker must decide about the reservation, and this thread is the ring reader's, which
    /// doesn't wait. The command must end without a reply. It must run again once the broker has
    /// answered the [`Question`].
    #[error("the broker must decide about the reservation")]
    Undecided,
}

/// The first and the longest pause before the worker repeats a request that needs memory which
/// other workers are freeing.
const PAUSES: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));

/// The result of an attempt to keep memory that the program has freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// The memory now counts as kept.
    Kept,
    /// The memory isn't kept. The worker must first free this many bytes of the memory that it
    /// keeps.
    Full(u64),
    /// The memory can't be kept, so the worker must free it.
    Never,
}

/// A reservation about which the broker must decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    device: i32,
    bytes: u64,
    kind: Charge,
}

/// A question that was sent to the broker, with a place for the answer.
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
    /// Returns the broker's answer, if it has arrived.
    pub fn decision(&self) -> Option<Decision> {
        let granted = *self.granted.get()?;
        Some(Decision { question: self.question, granted })
    }
}

thread_local! {
    /// Whether this thread is the ring reader's.
    static IS_READER: Cell<bool> = const { Cell::new(false) };
    /// The question of the last command on this thread, if the command had to ask the broker.
    static QUESTION: Cell<Option<Question>> = const { Cell::new(None) };
    /// The broker's answer for the command that is running again on this thread.
    static DECISION: Cell<Option<Decision>> = const { Cell::new(None) };
}

/// Takes the broker's answer for the command that is running again on this thread, if the broker has
/// granted this reservation. Returns whether it has.
fn use_grant(question: Question) -> bool {
    let granted = |of: Decision| of.granted && of.question == question;
    let is_granted = DECISION.get().is_some_and(granted);
    if is_granted {
        DECISION.set(None);
    }
    is_granted
}

/// Makes this thread the ring reader's, which never waits for the broker.
pub fn be_reader() {
    IS_READER.set(true);
}

/// Takes the question of the command that has just run on this thread, if it had to ask the broker.
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
    /// No session holds the memory any more, or the memory is on another GPU.
    #[error("no session of the VM holds this memory on this GPU")]
    Gone,
}

type Answered = Box<dyn FnOnce(ToWorker) + Send>;

/// A request to the broker.
enum Request {
    Ask(ToBroker, Answered),
    /// Makes the broker check the worker's credit on this device.
    Check(u32),
}

/// The VM's accounts of device memory, one per GPU. GPUs are identified by the worker's device
/// ordinals.
///
/// Memory must be reserved before the driver allocates it, and released after the driver has freed
/// it. Callers must pass the number of bytes that the driver really allocates, after rounding. When
/// a worker dies, the broker releases its reservations once it has reaped the process.
#[derive(Clone)]
pub struct LedgerClient {
    requests: mpsc::Sender<Request>,
    /// The page in which the broker publishes the state of the accounts.
    page: Arc<GateMap>,
    /// The page on which the session shows how much of its credit it has spent. Without the page,
    /// the session uses no credit, because the VM's other sessions wouldn't see its allocations at
    /// once.
    spending: Option<Spending>,
    /// Whether a request to check the credit is queued, by device.
    checks: Arc<[AtomicBool; MAX_GPUS]>,
    #[cfg(test)]
    asked: Arc<std::sync::atomic::AtomicUsize>,
}

impl LedgerClient {
    /// Creates a client that sends its requests to the broker through this socket.
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
                        // Clear the flag first. If the credit changes after that, another check is
                        // requested, because the broker might not see the change in this one.
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

    /// Tells the broker that the words about the session's residency have changed. Doesn't wait.
    pub fn report_residency(&self) {
        self.post(ToBroker::Residency);
    }

    /// Reserves `bytes` on a device. If this fails, nothing is reserved. If the credit is too
    /// small, threads other than the ring reader's wait for the broker.
    pub fn reserve(&self, device: i32, bytes: u64, kind: Charge) -> Result<(), NotReserved> {
        let question = Question { device, bytes, kind };
        // Use what the broker has granted for this before the credit. If the credit was used and the
        // grant released afterwards, other sessions would see the memory twice in between.
        if bytes == 0 || use_grant(question) || self.spend(device, bytes, kind) {
            return Ok(());
        }
        if IS_READER.get() {
            return self.decided(question);
        }
        match self.ask(question.request()) {
            ToWorker::Granted => Ok(()),
            _ => Err(NotReserved::OutOfMemory { bytes }),
        }
    }

    /// Returns the credit on a device, if the worker may use credit, the page on which to show how
    /// much is spent, and the device's index.
    fn credit(&self, device: i32) -> Option<(&Credit, &Spending, usize)> {
        let device = usize::try_from(device).ok()?;
        let credit = &self.page.gpus.get(device)?.credit;
        let spending = self.spending.as_ref()?;
        credit.is_taken().then_some((credit, spending, device))
    }

    /// Takes memory from the credit. Returns false without taking any if the credit is too small.
    fn spend(&self, device: i32, bytes: u64, kind: Charge) -> bool {
        let Some((credit, spending, index)) =
            self.credit(device).filter(|(credit, ..)| credit.spend(bytes))
        else {
            return false;
        };
        spending.spent(index, bytes);
        let device = device as u32;
        if kind != Charge::Memory {
            // This needn't wait for the broker: the bytes stay charged, so nothing depends on when
            // the broker learns their kind.
            self.post(ToBroker::Convert { device, bytes, kind });
        }
        if credit.bytes() < CREDIT / 2 {
            self.check(device);
        }
        true
    }

    /// Reserves memory on the ring reader's thread, if the broker has already decided about this
    /// reservation. If it hasn't, keeps the question for [`take_question`] and fails.
    fn decided(&self, question: Question) -> Result<(), NotReserved> {
        match DECISION.take() {
            Some(Decision { question: decided, granted }) if decided == question => match granted {
                true => Ok(()),
                false => Err(NotReserved::OutOfMemory { bytes: question.bytes }),
            },
            other => {
                // The decision is for another reservation, because something has changed since the
                // command asked. Release what the broker has granted.
                other.into_iter().for_each(|decision| self.unused(decision));
                QUESTION.set(Some(question));
                Err(NotReserved::Undecided)
            }
        }
    }

    /// Releases memory that the broker has granted to a command that no longer needs it.
    fn unused(&self, decision: Decision) {
        let Decision { question: Question { device, bytes, kind }, granted } = decision;
        if granted {
            self.release(device, bytes, kind);
        }
    }

    /// Sends a question to the broker without waiting, and wakes the ring reader when the broker
    /// has answered.
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

    /// Returns the number of questions that were sent on behalf of the ring reader.
    #[cfg(test)]
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Runs a command again, with the broker's answer to its question. If the command doesn't use
    /// the granted memory, releases it.
    pub fn with_decision<T>(&self, decision: Option<Decision>, run: impl FnOnce() -> T) -> T {
        // Keep the outer decision, because a command that runs again may make other commands run
        // again.
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
    /// Memory for allocations becomes credit. The broker withdraws credit before it refuses a
    /// request of another session, so the memory is available to all sessions at once.
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

    /// Returns the amount of memory that the worker keeps on a device, the page on which to show
    /// how much credit is spent, and the device's index. On that page, kept memory counts as credit
    /// that isn't spent, so the VM's other sessions see it as free.
    fn kept(&self, device: i32) -> Option<(&Credit, &Spending, usize)> {
        let device = usize::try_from(device).ok()?;
        Some((self.page.kept.get(device)?, self.spending.as_ref()?, device))
    }

    /// Returns the number of bytes that the worker keeps on a device.
    pub fn kept_bytes(&self, device: i32) -> u64 {
        self.kept(device).map_or(0, |(kept, ..)| kept.bytes())
    }

    /// Returns whether the worker may keep memory that the program has freed, and may reuse kept
    /// memory.
    pub fn may_keep(&self, device: i32) -> bool {
        self.kept(device).is_some_and(|(kept, ..)| kept.is_taken())
    }

    /// Counts `bytes` that the program has freed as kept, if the worker may keep them. The worker
    /// must have reserved them for `Charge::Memory`.
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

    /// Counts `bytes` of kept memory as used by the program again.
    pub fn use_kept(&self, device: i32, bytes: u64) {
        if let Some((kept, spending, index)) = self.kept(device) {
            kept.spend(bytes);
            spending.spent(index, bytes);
        }
    }

    /// Turns `bytes` of kept memory into credit, after the driver has freed them.
    pub fn release_kept(&self, device: i32, bytes: u64) {
        let Some((kept, _, index)) = self.kept(device) else { return };
        // Add the credit before subtracting the kept memory, because the broker decides about
        // waiting requests once nothing is kept. Add it even if the worker may not use credit,
        // because the bytes stay charged as credit until the broker takes them.
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

    /// Adds this worker to the holders of shared memory on a device. Returns the number of bytes of
    /// the memory.
    pub fn join(&self, device: i32, share: ShareId) -> Result<u64, JoinError> {
        match self.ask(ToBroker::Join { device: device as u32, share }) {
            ToWorker::Joined { bytes } => Ok(bytes),
            ToWorker::NoShare => Err(JoinError::Gone),
            _ => Err(JoinError::OutOfMemory),
        }
    }

    /// Removes this worker once from the holders of shared memory, after the driver has freed the
    /// memory. The broker ends a worker that leaves memory that it doesn't hold.
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

    /// Returns the state of the VM's account for a device, as the broker and the VM's other workers
    /// have published it. `None` if nothing has been published or it keeps changing.
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
            // Sending can't fail, because the other thread is waiting for the reply.
            let _ = reply.send(answer);
        };
        self.send(Request::Ask(question, Box::new(answered)));
        answer.recv().unwrap_or_else(|_| super::end::end("the ledger's thread ended"))
    }

    /// Sends a request to the broker without waiting for the reply.
    fn post(&self, request: ToBroker) {
        self.send(Request::Ask(request, Box::new(|_| {})));
    }

    /// Requests that the broker check the credit on a device, unless such a request is already
    /// queued.
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

/// Sends a request to the broker and waits for the final reply. Repeats the request while the reply
/// is `Later`. If the broker is gone or its reply is invalid, ends the worker, because the worker
/// can't account for memory any more.
fn ask(socket: &OwnedFd, question: &ToBroker) -> ToWorker {
    let (mut pause, longest) = PAUSES;
    loop {
        let answer = seqpacket::send(socket, question, &[])
            .and_then(|()| seqpacket::receive::<ToWorker>(socket));
        match answer {
            // The request needs memory that sessions of the VM are now freeing, so try again after
            // a pause.
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
