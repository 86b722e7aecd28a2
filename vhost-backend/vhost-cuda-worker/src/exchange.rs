//! Exports things to other sessions of the VM, and imports theirs, through the device process.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use host_ipc::frames;
use host_ipc::messages::{Exported, Token, WorkerToDevice};

/// The reply to a request.
enum Reply {
    Exported(bool),
    Imported(Option<Exported>),
    Fetched(Option<OwnedFd>),
}

#[derive(Default)]
struct Waiting {
    last: u64,
    threads: HashMap<u64, mpsc::Sender<Reply>>,
}

struct Inner {
    /// The stream to the device process. The lock keeps messages from being mixed up.
    stream: Arc<Mutex<OwnedFd>>,
    waiting: Mutex<Waiting>,
    /// The things that this session exports, with the descriptors of memory.
    own: Mutex<HashMap<Token, Option<OwnedFd>>>,
}

/// Exports things to other sessions of the VM, and imports theirs. Each request waits for the
/// device process's reply, so only threads other than the ring reader's may make requests.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

impl Exchange {
    /// Exchanges things through the device process at the other end of this stream.
    pub fn new(stream: Arc<Mutex<OwnedFd>>) -> Self {
        Self(Arc::new(Inner { stream, waiting: Mutex::default(), own: Mutex::default() }))
    }

    /// Lets other sessions of the VM import a thing. `file` is the driver's descriptor of exported
    /// memory. Returns false if the VM exports too many things.
    pub fn export(&self, token: Token, thing: Exported, file: Option<OwnedFd>) -> bool {
        lock(&self.0.own).insert(token, file);
        let export = |request| WorkerToDevice::Export { request, token, thing };
        let done = matches!(self.ask(export), Reply::Exported(true));
        if !done {
            lock(&self.0.own).remove(&token);
        }
        done
    }

    /// Returns whether this session exports a thing under this name.
    pub fn is_own(&self, token: Token) -> bool {
        lock(&self.0.own).contains_key(&token)
    }

    /// Ends an export, and closes the descriptor of exported memory. Doesn't wait.
    pub fn withdraw(&self, token: Token) {
        lock(&self.0.own).remove(&token);
        self.send(&WorkerToDevice::Withdraw { token }, None);
    }

    /// Returns the thing that a session of the VM has exported under this name.
    pub fn import(&self, token: Token) -> Option<Exported> {
        match self.ask(|request| WorkerToDevice::Import { request, token }) {
            Reply::Imported(thing) => thing,
            _ => None,
        }
    }

    /// Returns a descriptor of memory that a session of the VM has exported under this name.
    pub fn fetch(&self, token: Token) -> Option<OwnedFd> {
        match self.ask(|request| WorkerToDevice::Fetch { request, token }) {
            Reply::Fetched(file) => file,
            _ => None,
        }
    }

    fn ask(&self, message: impl FnOnce(u64) -> WorkerToDevice) -> Reply {
        let (thread, reply) = mpsc::channel();
        let request = {
            let mut waiting = lock(&self.0.waiting);
            waiting.last += 1;
            let request = waiting.last;
            waiting.threads.insert(request, thread);
            request
        };
        self.send(&message(request), None);
        // The channel can't close: the map keeps the sender until the reply arrives.
        reply.recv().unwrap_or(Reply::Exported(false))
    }

    fn send(&self, message: &WorkerToDevice, file: Option<OwnedFd>) {
        let stream = lock(&self.0.stream);
        let file = file.as_ref().map(OwnedFd::as_fd);
        if let Err(error) = frames::send(&*stream, message, &[], file.as_slice()) {
            super::end::end(&format!("cannot send to the device process: {error}"));
        }
    }

    fn answer(&self, request: u64, reply: Reply) {
        let thread = lock(&self.0.waiting).threads.remove(&request);
        if let Some(thread) = thread {
            // The thread is waiting, so sending can't fail.
            let _ = thread.send(reply);
        }
    }

    /// Passes the reply to an export to the waiting thread.
    pub fn exported(&self, request: u64, done: bool) {
        self.answer(request, Reply::Exported(done));
    }

    /// Passes the reply to an import to the waiting thread.
    pub fn imported(&self, request: u64, thing: Option<Exported>) {
        self.answer(request, Reply::Imported(thing));
    }

    /// Passes a descriptor from another session to the waiting thread.
    pub fn fetched(&self, request: u64, file: Option<OwnedFd>) {
        self.answer(request, Reply::Fetched(file));
    }

    /// Sends the descriptor of memory that this session exports, for another session.
    pub(super) fn serve(&self, request: u64, token: Token) {
        let own = lock(&self.0.own).get(&token).and_then(|file| file.as_ref()?.try_clone().ok());
        self.send(&WorkerToDevice::Fetched { request, found: own.is_some() }, own);
    }
}
