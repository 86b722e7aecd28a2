//! The connection to one worker: message stream, doorbell and wake eventfd.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::memory::Slots;
use host_ipc::apart::Apart;
use host_ipc::doorbell;
use host_ipc::frames::{Attached, Incoming, Outgoing, frame};
use host_ipc::messages::{DeviceToWorker, WorkerToDevice};
use host_ipc::process::set_nonblocking;

/// Maximum size, in bytes, of the messages that may be waiting for a worker when it exports or
/// imports memory or an event. A worker that keeps importing without reading the replies would
/// otherwise fill this process's memory.
const MAX_WAITING: usize = 8 << 20;

/// A message from the worker, with the bytes that follow it and its descriptor.
pub(super) type Message = (WorkerToDevice, Vec<u8>, Option<OwnedFd>);

/// The device process's end of the connection to one worker.
pub(super) struct WorkerLink {
    pub(super) stream: OwnedFd,
    /// Wakes the worker when the guest sends a DOORBELL.
    doorbell: OwnedFd,
    /// The worker writes to this eventfd to wake the guest. This process only watches the eventfd,
    /// and never reads or writes it: the worker shares its file description, and could make a read
    /// or write block.
    pub(super) wake: OwnedFd,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Slots of the guest memory files that have already been sent to the worker.
    slots: HashSet<u32>,
    /// Whether the event loop is also watching the stream for room to write.
    pub(super) watched_for_room: bool,
}

impl WorkerLink {
    pub(super) fn new(fds: Vec<OwnedFd>, max_body: usize) -> io::Result<Self> {
        let [stream, doorbell, wake] = <[OwnedFd; 3]>::try_from(fds)
            .map_err(|_| io::Error::other("the broker sent too few descriptors"))?;
        set_nonblocking(&stream)?;
        Ok(Self {
            stream,
            doorbell,
            wake,
            incoming: Incoming::new(max_body),
            outgoing: Outgoing::default(),
            slots: HashSet::new(),
            watched_for_room: false,
        })
    }

    /// Queues a message. First sends the guest memory files to which the message refers and which
    /// the worker doesn't have yet.
    pub(super) fn send(
        &mut self,
        message: &DeviceToWorker,
        body: &[u8],
        files: &Slots,
    ) -> io::Result<()> {
        if let DeviceToWorker::Attach { pieces, .. } = message {
            for (slot, ..) in pieces {
                if self.slots.insert(*slot) {
                    let memory = frame(&DeviceToWorker::Memory { slot: *slot }, &[])?;
                    self.outgoing.push(memory, Some(Attached::Own(files.file(*slot)?)));
                }
            }
        }
        self.outgoing.push(frame(message, body)?, None);
        self.flush()
    }

    /// Queues a message about exports and imports, with the descriptor that it carries: the reply
    /// to this worker's request, or a request on behalf of another worker.
    pub(super) fn reply(
        &mut self,
        message: &DeviceToWorker,
        file: Option<Arc<Apart>>,
    ) -> io::Result<()> {
        if self.outgoing.bytes() > MAX_WAITING {
            return Err(io::Error::other("it doesn't read the replies to its requests"));
        }
        self.outgoing.push(frame(message, &[])?, file.map(Attached::Foreign));
        self.flush()
    }

    /// Makes the worker close a file whose slot is no longer in the memory table.
    pub(super) fn forget(&mut self, slot: u32) -> io::Result<()> {
        if self.slots.remove(&slot) {
            self.outgoing.push(frame(&DeviceToWorker::Forget { slot }, &[])?, None);
        }
        self.flush()
    }

    /// Writes as much as the stream accepts.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.outgoing.flush(&self.stream)
    }

    /// Returns true if queued data is waiting until the stream has room.
    pub(super) fn wants_room(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(super) fn ring(&self) {
        doorbell::ring(&self.doorbell);
    }

    /// Reads from the stream once, and returns the messages that are now complete, or `None` if the
    /// worker has closed the stream.
    pub(super) fn read(&mut self) -> io::Result<Option<Vec<Message>>> {
        match self.incoming.read(&self.stream) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Some(Vec::new())),
            Err(error) => return Err(error),
        }
        let mut messages = Vec::new();
        while let Some((message, body)) = self.incoming.take()? {
            let file = match message {
                WorkerToDevice::Fetched { found: true, .. } => {
                    let file = self.incoming.take_fd();
                    Some(file.ok_or_else(|| io::Error::other("a descriptor is missing"))?)
                }
                _ => None,
            };
            messages.push((message, body, file));
        }
        Ok(Some(messages))
    }
}
