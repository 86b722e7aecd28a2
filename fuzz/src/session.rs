//! A worker's session on softgpu. This module replaces the ring reader, the device process, and the
//! broker.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use host_ipc::eventfd::eventfd;
use host_ipc::frames::Incoming;
use host_ipc::messages::{Exported, ToBroker, ToWorker, Token, WorkerToDevice};
use host_ipc::seqpacket;
use protocol::ids::ContextId;
use vhost_cuda_worker::Prepare;
use vhost_cuda_worker::calls::open;
use vhost_cuda_worker::exchange::Exchange;
use vhost_cuda_worker::executor::{Command, Executor, Session as Surroundings};
use vhost_cuda_worker::gate_end::GateEnd;
use vhost_cuda_worker::ledger::LedgerClient;
use vhost_cuda_worker::mirror::Mirrors;
use vhost_cuda_worker::region::{Piece, RegionKind, Regions, reserve_pinned_window};
use vhost_cuda_worker::reply::{PlainAnswers, PostedError, ReplyTo};
use vhost_cuda_worker::waker::Waker;

use crate::softgpu::{Softgpu, library};

/// Maximum length of a reply including its header, in bytes.
const REPLY: usize = 64 << 10;

/// One VM's account of device memory, as the broker keeps it.
pub struct Account {
    /// The VM's memory.max, in bytes.
    max: u64,
    used: u64,
    /// For each piece of shared memory, its size and the number of times that the session has it
    /// open.
    shares: HashMap<u64, (u64, u64)>,
}

impl Account {
    /// Returns the bytes that are charged.
    pub fn used(&self) -> u64 {
        self.used
    }

    fn answer(&mut self, question: &ToBroker) -> ToWorker {
        match *question {
            ToBroker::Reserve { bytes, .. } if bytes > self.max.saturating_sub(self.used) => {
                ToWorker::Refused
            }
            ToBroker::Reserve { bytes, .. } => {
                self.used += bytes;
                ToWorker::Granted
            }
            ToBroker::Release { bytes, .. } => {
                let rest = self.used.checked_sub(bytes);
                self.used = rest.expect("the worker releases only what it has reserved");
                ToWorker::Granted
            }
            ToBroker::Share { bytes, .. } => {
                let share = self.shares.len() as u64 + 1;
                self.shares.insert(share, (bytes, 1));
                ToWorker::Shared { share }
            }
            ToBroker::Join { share, .. } => match self.shares.get_mut(&share) {
                None => ToWorker::NoShare,
                Some((bytes, holds)) => {
                    *holds += 1;
                    ToWorker::Joined { bytes: *bytes }
                }
            },
            ToBroker::Leave { share, .. } => {
                let (bytes, holds) = self.shares.get_mut(&share).expect("the memory is shared");
                *holds = holds.checked_sub(1).expect("the session holds the memory");
                self.used -= if *holds == 0 { *bytes } else { 0 };
                ToWorker::Granted
            }
            _ => ToWorker::Usage { used: self.used, max: self.max },
        }
    }
}

/// The replies for which the guest is waiting.
#[derive(Default)]
struct Replies {
    replies: Mutex<HashMap<u64, Vec<u8>>>,
    arrived: Condvar,
}

impl PlainAnswers for Replies {
    fn send(&self, request: u64, answer: &[u8]) {
        assert!(answer.len() <= REPLY, "a reply of {} bytes", answer.len());
        lock(&self.replies).insert(request, answer.to_vec());
        self.arrived.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

/// A reply's CUresult and its encoded outputs.
pub type Answer = (u32, Vec<u8>);

/// A worker's session, and a simulated guest process.
pub struct Session {
    executor: Box<dyn Executor>,
    surroundings: Surroundings,
    replies: Arc<Replies>,
    posted: Arc<PostedError>,
    account: Arc<Mutex<Account>>,
    last: u64,
}

impl Session {
    /// Starts a session of a VM that can use `max` bytes of device memory besides the session's
    /// first context. A process can have only one session.
    pub fn start(max: u64) -> Self {
        reserve_pinned_window().expect("the window for pinned memory is free");
        let prepare = Prepare { mps: false, context: true };
        let engine = open(&library(), prepare).expect("softgpu works");
        // The first context exists and is charged.
        let context = Softgpu::find().context_bytes();
        let account = Account { max: context + max, used: context, shares: HashMap::new() };
        let account = Arc::new(Mutex::new(account));
        let gate = GateEnd::private().expect("memory for a page");
        let surroundings = Surroundings {
            label: "fuzz".into(),
            pid: 1,
            env: vec![],
            ledger: ledger(&account, &gate),
            exchange: exchange(),
            context_bytes: Arc::new([context]),
            context_charged: true,
            regions: Regions::default(),
            mirrors: Mirrors::default(),
            waker: Waker::new(eventfd().expect("an eventfd")).expect("an eventfd"),
            gate,
        };
        let executor = engine.begin(surroundings.clone()).expect("the session begins");
        let (replies, posted, last) = (Arc::default(), Arc::default(), 0);
        Self { executor, surroundings, replies, posted, account, last }
    }

    /// Attaches a region of new pages, and returns a file with these pages. For a ring region, the
    /// pages contain only the arena, because there is no ring.
    pub fn attach(&mut self, id: u32, kind: RegionKind, vaddr: u64, len: u64) -> File {
        let file = memory(len);
        let piece = Piece { file: file.as_fd(), offset: 0, len };
        let regions = &self.surroundings.regions;
        let region = regions.attach(id, kind, vaddr, &[piece]).expect("the region can be mapped");
        self.executor.region_attached(&region, 0);
        file.into()
    }

    /// Returns the bytes of device memory that a context takes.
    pub fn context_bytes(&self) -> u64 {
        self.surroundings.context_bytes(0)
    }

    /// Returns the account of the session's VM.
    pub fn account(&self) -> MutexGuard<'_, Account> {
        lock(&self.account)
    }

    /// Executes a command, and waits at most `patience` for the reply.
    pub fn execute(
        &mut self,
        command: (u32, u32, ContextId),
        args: &[u8],
        patience: Duration,
    ) -> Option<Answer> {
        let number = self.submit(command, args);
        self.wait(number, patience)
    }

    /// Begins to execute a command, given by the call's number, the guest's thread, and the current
    /// context. Returns the number of the request.
    pub fn submit(&mut self, (opcode, thread, ctx): (u32, u32, ContextId), args: &[u8]) -> u64 {
        self.last += 1;
        let number = self.last;
        let reply = ReplyTo::plain(self.replies.clone(), number, REPLY, &self.posted);
        self.executor.execute(&Command { opcode, thread, ctx, args }, reply);
        number
    }

    /// Waits at most `patience` for the reply to a request.
    pub fn wait(&mut self, number: u64, patience: Duration) -> Option<Answer> {
        let start = Instant::now();
        loop {
            self.poll();
            let replies = lock(&self.replies.replies);
            let short = Duration::from_micros(200);
            let waited = self
                .replies
                .arrived
                .wait_timeout_while(replies, short, |replies| !replies.contains_key(&number));
            let (mut replies, _) = waited.unwrap_or_else(|error| error.into_inner());
            if let Some(reply) = replies.remove(&number) {
                let word = |at: usize| reply.get(at..at + 4)?.first_chunk().copied();
                let result = word(4).map_or(0, u32::from_le_bytes);
                return Some((result, reply.get(16..).unwrap_or_default().to_vec()));
            }
            if start.elapsed() > patience {
                return None;
            }
        }
    }

    /// Lets the executor check its outstanding work, and runs the guest's host functions.
    pub fn poll(&mut self) {
        self.executor.poll();
        if self.executor.next_host_func().is_some() {
            self.executor.host_func_ended();
        }
    }
}

/// Starts a thread that answers the worker's requests about memory as the broker does, and updates
/// the account.
fn ledger(account: &Arc<Mutex<Account>>, gate: &GateEnd) -> LedgerClient {
    let (ours, theirs) = seqpacket::pair().expect("a socket pair");
    let account = account.clone();
    std::thread::spawn(move || {
        while let Ok(Some((question, _))) = seqpacket::receive::<ToBroker>(&theirs) {
            let answer = lock(&account).answer(&question);
            if seqpacket::send(&theirs, &answer, &[]).is_err() {
                break;
            }
        }
    });
    LedgerClient::new(ours, gate.page.clone(), None).expect("a thread")
}

/// Starts a thread that answers the worker's requests about exports and imports as the device
/// process does.
fn exchange() -> Exchange {
    let (ours, theirs) = seqpacket::stream_pair().expect("a socket pair");
    let exchange = Exchange::new(Arc::new(Mutex::new(ours)));
    let asked = exchange.clone();
    std::thread::spawn(move || {
        let mut things: HashMap<Token, Exported> = HashMap::new();
        let mut incoming = Incoming::new(0);
        while let Ok(true) = incoming.read(&theirs) {
            while let Ok(Some((message, _))) = incoming.take::<WorkerToDevice>() {
                match message {
                    WorkerToDevice::Export { request, token, thing } => {
                        things.insert(token, thing);
                        asked.exported(request, true);
                    }
                    WorkerToDevice::Import { request, token } => {
                        asked.imported(request, things.get(&token).copied());
                    }
                    WorkerToDevice::Fetch { request, .. } => asked.fetched(request, None),
                    WorkerToDevice::Withdraw { token } => drop(things.remove(&token)),
                    other => panic!("the worker says {other:?}"),
                }
            }
        }
    });
    exchange
}

fn memory(len: u64) -> OwnedFd {
    // SAFETY: the name is a C string, and the descriptor is new.
    unsafe {
        let fd = libc::memfd_create(c"guest".as_ptr(), 0);
        assert!(fd >= 0 && libc::ftruncate(fd, len as i64) == 0);
        OwnedFd::from_raw_fd(fd)
    }
}
