//! Exports memory and events to other sessions of the VM, and imports objects that they export,
//! through the device process.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use host_ipc::frames;
use host_ipc::messages::{Exported, Token, WorkerToDevice};

/// The device process's reply to a request.
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
    /// The stream to the device process. The lock keeps the messages of different threads apart.
    stream: Arc<Mutex<OwnedFd>>,
    waiting: Mutex<Waiting>,
    /// The names of the objects that this session exports, with a file descriptor for each that is
    /// memory.
    own: Mutex<HashMap<Token, Option<OwnedFd>>>,
}

/// Exports memory and events to other sessions of the VM, and imports objects that they export.
/// Each request waits for the device process's reply, so the ring reader's thread must not make
/// requests.
#[derive(Clone)]
pub struct Exchange(Arc<Inner>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

impl Exchange {
    /// Creates an exchange that uses the stream to the device process.
    pub fn new(stream: Arc<Mutex<OwnedFd>>) -> Self {
        Self(Arc::new(Inner { stream, waiting: Mutex::default(), own: Mutex::default() }))
    }

    /// Lets other sessions of the VM import an object, `thing`. `file` is the driver's descriptor
    /// if the object is memory. Returns false if the VM already exports too many objects.
    pub fn export(&self, token: Token, thing: Exported, file: Option<OwnedFd>) -> bool {
        lock(&self.0.own).insert(token, file);
        let export = |request| WorkerToDevice::Export { request, token, thing };
        let done = matches!(self.ask(export), Reply::Exported(true));
        if !done {
            lock(&self.0.own).remove(&token);
        }
        done
    }

    /// Returns whether this session exports an object under the name `token`.
    pub fn is_own(&self, token: Token) -> bool {
        lock(&self.0.own).contains_key(&token)
    }

    /// Ends an export, and closes the descriptor if the object is memory. Doesn't wait for the
    /// device process.
    pub fn withdraw(&self, token: Token) {
        lock(&self.0.own).remove(&token);
        self.send(&WorkerToDevice::Withdraw { token }, None);
    }

    /// Returns the object that a session of the VM has exported under the name `token`, if there is
    /// one.
    pub fn import(&self, token: Token) -> Option<Exported> {
        match self.ask(|request| WorkerToDevice::Import { request, token }) {
            Reply::Imported(thing) => thing,
            _ => None,
        }
    }

    /// Returns a descriptor of the memory that a session of the VM has exported under the name
    /// `token`, if there is such memory.
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
        // Receiving can't fail, because the map keeps the sender until the reply arrives.
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
            // Sending can't fail, because the thread is waiting for the reply.
            let _ = thread.send(reply);
        }
    }

    /// Passes the device process's reply to an export on to the waiting thread.
    pub fn exported(&self, request: u64, done: bool) {
        self.answer(request, Reply::Exported(done));
    }

    /// Passes the device process's reply to an import on to the waiting thread.
    pub fn imported(&self, request: u64, thing: Option<Exported>) {
        self.answer(request, Reply::Imported(thing));
    }

    /// Passes another session's descriptor on to the waiting thread.
    pub fn fetched(&self, request: u64, file: Option<OwnedFd>) {
        self.answer(request, Reply::Fetched(file));
    }

    /// Sends the device process a descriptor of memory that this session exports, on behalf of
    /// another session.
    pub(super) fn serve(&self, request: u64, token: Token) {
        let own = lock(&self.0.own).get(&token).and_then(|file| file.as_ref()?.try_clone().ok());
        self.send(&WorkerToDevice::Fetched { request, found: own.is_some() }, own);
    }
}
