//! Messages from the device process: one thread reads them, and the ring reader acts on them.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, mpsc};

use protocol::plain::Plain;
use protocol::uapi::{self, Cmd};

use super::exchange::Exchange;
use super::region::{Piece, RegionKind, Regions};
use super::reply::PlainAnswers;
use super::waker::Waker;
use host_ipc::frames::{self, Incoming};
use host_ipc::messages::{DeviceToWorker, WorkerToDevice};

/// The maximum size of the arguments of a SUBMIT request, in bytes. The device process already
/// enforces a smaller limit, max_plain, so this limit only guards against bugs.
const MAX_BODY: usize = 1 << 30;

/// A task for the ring reader, from a message of the device process.
pub(super) enum Task {
    /// Map a region of guest memory, and reply to the device process. Each element of `pieces`
    /// consists of a file with guest memory, an offset in the file, and a length.
    Attach {
        request: u64,
        region: u32,
        kind: u32,
        vaddr: u64,
        ring_bytes: u32,
        pieces: Vec<(Arc<OwnedFd>, u64, u64)>,
    },
    /// Unmap a region of guest memory and reply to the device process.
    Detach { request: u64, region: u32 },
    /// Execute a command that the guest sent in a SUBMIT request instead of through the ring.
    Submit { request: u64, room: usize, cmd: Cmd, args: Vec<u8> },
}

impl Task {
    /// Maps the pieces of a region of guest memory, and adds the region to `regions`.
    pub(super) fn map(
        regions: &Regions,
        region: u32,
        kind: RegionKind,
        vaddr: u64,
        pieces: &[(Arc<OwnedFd>, u64, u64)],
    ) -> Result<Arc<super::region::Region>, super::region::MapError> {
        let pieces: Vec<Piece<'_>> = pieces
            .iter()
            .map(|(file, offset, len)| Piece { file: file.as_fd(), offset: *offset, len: *len })
            .collect();
        regions.attach(region, kind, vaddr, &pieces)
    }
}

/// Sends messages to the device process. Any thread can use it.
#[derive(Clone)]
pub(super) struct Device {
    stream: Arc<Mutex<OwnedFd>>,
}

impl Device {
    /// Creates a sender that uses a duplicate of this stream.
    pub(super) fn new(stream: &OwnedFd) -> io::Result<Self> {
        Ok(Self { stream: Arc::new(Mutex::new(stream.try_clone()?)) })
    }

    /// Returns an exchange with the VM's other sessions that uses the same stream.
    pub(super) fn exchange(&self) -> Exchange {
        Exchange::new(self.stream.clone())
    }

    /// Replies to a request to attach or detach a region.
    pub(super) fn done(&self, request: u64, status: u32) {
        self.send(&WorkerToDevice::Done { request, status }, &[]);
    }

    /// Reports that the guest process violated the protocol. The caller must then end the worker.
    pub(super) fn broken(&self, reason: String) {
        self.send(&WorkerToDevice::Broken { reason }, &[]);
    }

    fn send(&self, message: &WorkerToDevice, body: &[u8]) {
        let stream = self.stream.lock().unwrap_or_else(|error| error.into_inner());
        if let Err(error) = frames::send(&*stream, message, body, &[]) {
            super::end::end(&format!("cannot send to the device process: {error}"));
        }
    }
}

impl PlainAnswers for Device {
    fn send(&self, request: u64, answer: &[u8]) {
        Device::send(self, &WorkerToDevice::Answer { request }, answer);
    }
}

/// Starts the thread that reads messages from the device process, and returns the channel with the
/// tasks for the ring reader. When the device process closes the stream, which ends the session,
/// the thread calls `before_exit` and then exits the process.
pub(super) fn start(
    stream: OwnedFd,
    exchange: Exchange,
    waker: Waker,
    before_exit: impl FnOnce() + Send + 'static,
) -> io::Result<mpsc::Receiver<Task>> {
    let (tasks, mailbox) = mpsc::channel();
    let (incoming, files) = (Incoming::new(MAX_BODY), HashMap::new());
    let mut control = Control { incoming, files, exchange, tasks };
    std::thread::Builder::new().name("control".into()).spawn(move || {
        loop {
            match control.incoming.read(&stream) {
                Ok(true) => {}
                Ok(false) => {
                    before_exit();
                    super::end::leave()
                }
                Err(error) => {
                    super::end::end(&format!("cannot read from the device process: {error}"))
                }
            }
            if let Err(error) = control.take(&waker) {
                super::end::end(&format!("the device process sent an invalid message: {error}"));
            }
        }
    })?;
    Ok(mailbox)
}

struct Control {
    incoming: Incoming,
    /// The files that contain guest memory, by number of the vhost-user memory slot.
    files: HashMap<u32, Arc<OwnedFd>>,
    exchange: Exchange,
    tasks: mpsc::Sender<Task>,
}

impl Control {
    fn take(&mut self, waker: &Waker) -> io::Result<()> {
        while let Some((message, body)) = self.incoming.take()? {
            let task = match message {
                DeviceToWorker::Memory { slot } => {
                    let file = self.incoming.take_fd().ok_or_else(|| invalid("no descriptor"))?;
                    self.files.insert(slot, Arc::new(file));
                    continue;
                }
                DeviceToWorker::Forget { slot } => {
                    self.files.remove(&slot);
                    continue;
                }
                DeviceToWorker::Exported { request, done } => {
                    self.exchange.exported(request, done);
                    continue;
                }
                DeviceToWorker::Imported { request, thing } => {
                    self.exchange.imported(request, thing);
                    continue;
                }
                DeviceToWorker::Fetch { request, token } => {
                    self.exchange.serve(request, token);
                    continue;
                }
                DeviceToWorker::Fetched { request, found } => {
                    let file = if found { self.incoming.take_fd() } else { None };
                    self.exchange.fetched(request, file);
                    continue;
                }
                DeviceToWorker::Attach { request, region, kind, vaddr, ring_bytes, pieces } => {
                    let find = |(slot, offset, len): (u32, u64, u64)| {
                        let file = self.files.get(&slot).ok_or_else(|| invalid("no such slot"))?;
                        Ok((file.clone(), offset, len))
                    };
                    let pieces = pieces.into_iter().map(find).collect::<io::Result<_>>()?;
                    Task::Attach { request, region, kind, vaddr, ring_bytes, pieces }
                }
                DeviceToWorker::Detach { request, region } => Task::Detach { request, region },
                DeviceToWorker::Submit { request, room } => {
                    let cmd = Cmd::from_bytes(&body).ok_or_else(|| invalid("a short command"))?;
                    let args = body[size_of::<Cmd>()..].to_vec();
                    let room = (room as usize).max(size_of::<uapi::Reply>());
                    Task::Submit { request, room, cmd, args }
                }
            };
            if self.tasks.send(task).is_err() {
                return Err(invalid("the ring reader is gone"));
            }
            waker.wake();
        }
        Ok(())
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
