//! The output of device processes and workers, which a thread reads, marks with its origin, and
//! adds to the broker's log.
//!
//! A child process shares no file with the broker: its stdout and stderr are one end of a socket
//! pair. With a pipe, the child could hold the pipe's lock while the broker reads it. The child's
//! end is non-blocking: if the broker doesn't read, lines are lost, and the child isn't stopped.
//!
//! A process that a guest has taken over can write anything. So lines are limited in length,
//! special characters are escaped, and the VM, the program and the process ID come first. Each VM
//! has a [`budget::Budget`]. The processes of a VM that has used it up are read later.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use host_ipc::apart::Apart;
use host_ipc::eventfd::{eventfd, notify};
use host_ipc::{process, seqpacket};

mod budget;
mod lines;
mod reader;

use reader::{Message, OutputId, Reader, Source};

/// The handle to the thread that reads the output of the broker's child processes.
#[derive(Clone)]
pub(crate) struct Outputs(Arc<Inner>);

struct Inner {
    /// `None` once the thread must end.
    sender: Option<Sender<Message>>,
    bell: Arc<OwnedFd>,
    last: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// The output of one process. Dropping it, after the process has been reaped, logs the rest of the
/// output.
pub(crate) struct Output {
    outputs: Outputs,
    id: OutputId,
    /// The descriptor of the process's socket, which is open as long as this value exists.
    fd: RawFd,
}

impl Outputs {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, messages) = channel();
        let bell = Arc::new(eventfd()?);
        let mut reader = Reader::new(messages, bell.clone());
        let thread = std::thread::Builder::new().name("output".into());
        let thread = thread.spawn(move || reader.run())?;
        let (sender, last, thread) = (Some(sender), AtomicU64::new(0), Some(thread));
        Ok(Self(Arc::new(Inner { sender, bell, last, thread })))
    }

    /// Reads the output of a new process from the broker's end of its socket pair. `vm` is `None`
    /// for a process without a VM.
    pub(crate) fn read(&self, socket: Apart, program: &'static str, vm: Option<&str>) -> Output {
        let fd = socket.as_raw_fd();
        let source = Source::new(socket, program, vm.map(Into::into));
        let id = self.0.last.fetch_add(1, Ordering::Relaxed);
        self.send(Message::Started(id, source));
        Output { outputs: self.clone(), id, fd }
    }

    fn send(&self, message: Message) {
        if let Some(sender) = &self.0.sender {
            // Sending can't fail: the thread ends only after all senders have been dropped.
            let _ = sender.send(message);
            notify(&*self.0.bell);
        }
    }
}

impl AsRawFd for Output {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

impl Output {
    /// Sets the process ID, which isn't known until the process has started.
    pub(crate) fn set_pid(&self, pid: u32) {
        self.outputs.send(Message::Named(self.id, pid));
    }

    /// Sets the VM of a process that was started without a VM.
    pub(crate) fn set_vm(&self, vm: &str) {
        self.outputs.send(Message::Assigned(self.id, vm.into()));
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.outputs.send(Message::Reaped(self.id));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.sender.take());
        notify(&*self.bell);
        if let Some(thread) = self.thread.take() {
            // The thread ends soon, because it never waits for anything but messages and output.
            let _ = thread.join();
        }
    }
}

/// Creates the socket pair for a process's output. The first socket is the broker's end.
pub(crate) fn pair() -> io::Result<(Apart, OwnedFd)> {
    let (ours, theirs) = seqpacket::stream_pair()?;
    process::set_nonblocking(&ours)?;
    process::set_nonblocking(&theirs)?;
    seqpacket::refuse_descriptors(&ours)?;
    Ok((ours.into(), theirs))
}
