//! Frames on the stream between a device process and a worker. A frame consists of a header with
//! two lengths, an encoded message, and a body of raw bytes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::apart::{self, Apart};
use super::seqpacket::{receive_bytes, send_bytes};

/// Maximum size of an encoded message, in bytes. An Attach message with the maximum number of
/// pieces fits.
pub const MAX_HEAD: usize = 1 << 20;
const PREFIX: usize = 8;

/// Encodes a message and its body as one frame.
pub fn frame(message: &impl Serialize, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; PREFIX]).map_err(io::Error::other)?;
    let head = frame.len() - PREFIX;
    frame[..4].copy_from_slice(&(head as u32).to_le_bytes());
    frame[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
    frame.extend_from_slice(body);
    Ok(frame)
}

/// Sends a message and its body as one frame, on a blocking socket, together with the given
/// descriptors.
pub fn send(
    socket: &impl AsFd,
    message: &impl Serialize,
    body: &[u8],
    fds: &[BorrowedFd],
) -> io::Result<()> {
    let frame = frame(message, body)?;
    let mut sent = send_bytes(socket, &frame, fds)?;
    while sent < frame.len() {
        sent += send_bytes(socket, &frame[sent..], &[])?;
    }
    Ok(())
}

/// A descriptor to send with a frame.
pub enum Attached {
    /// A descriptor that belongs to this frame only. It's closed after it has been sent.
    Own(OwnedFd),
    /// A descriptor from an untrusted process, which several frames may share. Closing it may
    /// block, so `Apart` closes it on another thread.
    Foreign(Arc<Apart>),
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => fd.as_fd(),
            Self::Foreign(fd) => fd.as_fd(),
        }
    }
}

/// Frames that are waiting to be written to a non-blocking socket.
#[derive(Default)]
pub struct Outgoing {
    queue: VecDeque<(Vec<u8>, usize, Option<Attached>)>,
    bytes: usize,
}

impl Outgoing {
    /// Adds a frame, and the descriptor to send with the frame, if any.
    pub fn push(&mut self, frame: Vec<u8>, fd: Option<Attached>) {
        self.bytes += frame.len();
        self.queue.push_back((frame, 0, fd));
    }

    /// Returns the number of bytes that have not been written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns true if everything has been written.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Writes as many frames as the socket accepts without blocking.
    pub fn flush(&mut self, socket: &impl AsFd) -> io::Result<()> {
        while let Some((frame, sent, fd)) = self.queue.front_mut() {
            let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
            match send_bytes(socket, &frame[*sent..], &fds) {
                Ok(count) => {
                    *fd = None;
                    *sent += count;
                    self.bytes -= count;
                    if *sent == frame.len() {
                        self.queue.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads frames from a socket, which may be blocking or non-blocking.
pub struct Incoming {
    buffer: Vec<u8>,
    start: usize,
    max_body: usize,
    fds: VecDeque<OwnedFd>,
}

impl Incoming {
    /// Creates a reader that accepts bodies of up to `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, max_body, fds: VecDeque::new() }
    }

    /// Reads from the socket once. Returns `Ok(false)` if the other end has been closed.
    pub fn read(&mut self, socket: &impl AsFd) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let have = self.buffer.len();
        self.buffer.resize(have + 64 * 1024, 0);
        let received = receive_bytes(socket, &mut self.buffer[have..]);
        let (count, fds) = match received {
            Ok(received) => received,
            Err(error) => {
                self.buffer.truncate(have);
                return Err(error);
            }
        };
        self.buffer.truncate(have + count);
        self.fds.extend(fds);
        if self.fds.len() > 64 {
            return Err(invalid("received more descriptors than messages use"));
        }
        Ok(count > 0)
    }

    /// Returns the message and body of the next frame, or `None` if no complete frame has been
    /// read.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<u8>)>> {
        let bytes = &self.buffer[self.start..];
        let Some(prefix) = bytes.get(..PREFIX) else { return Ok(None) };
        let length = |at: usize| {
            u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let (head, body) = (length(0), length(4));
        if head > MAX_HEAD || body > self.max_body {
            return Err(invalid("a frame is too long"));
        }
        let Some(frame) = bytes.get(PREFIX..PREFIX + head + body) else { return Ok(None) };
        let message = postcard::from_bytes(&frame[..head])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let body = frame[head..].to_vec();
        self.start += PREFIX + head + body.len();
        Ok(Some((message, body)))
    }

    /// Returns the next received descriptor that hasn't been taken.
    pub fn take_fd(&mut self) -> Option<OwnedFd> {
        self.fds.pop_front()
    }
}

impl Drop for Incoming {
    /// Closes the descriptors that weren't taken. Closing them may block, so this uses another
    /// thread.
    fn drop(&mut self) {
        apart::close(self.fds.drain(..));
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::messages::{Token, WorkerToDevice};
    use crate::seqpacket::stream_pair;

    fn message() -> impl Strategy<Value = WorkerToDevice> {
        prop_oneof![
            any::<(u64, u32)>()
                .prop_map(|(request, status)| WorkerToDevice::Done { request, status }),
            any::<u64>().prop_map(|request| WorkerToDevice::Answer { request }),
            any::<(u64, Token)>()
                .prop_map(|(request, token)| WorkerToDevice::Import { request, token }),
            ".{0,40}".prop_map(|reason| WorkerToDevice::Broken { reason }),
        ]
    }

    /// Sends `bytes` in parts of the given lengths, in turn, and reads frames after each part.
    /// Returns the frames, and false if one was invalid.
    fn read(
        bytes: &[u8],
        parts: &[usize],
        max_body: usize,
    ) -> (Vec<(WorkerToDevice, Vec<u8>)>, bool) {
        let (ours, theirs) = stream_pair().unwrap();
        let mut incoming = Incoming::new(max_body);
        let (mut found, mut rest) = (Vec::new(), bytes);
        let mut parts = parts.iter().cycle();
        while !rest.is_empty() {
            let len = parts.next().copied().unwrap_or(64).min(rest.len());
            let (part, after) = rest.split_at(len);
            rest = after;
            assert_eq!(send_bytes(&ours, part, &[]).unwrap(), part.len());
            assert!(incoming.read(&theirs).unwrap());
            loop {
                match incoming.take() {
                    Ok(Some(frame)) => found.push(frame),
                    Ok(None) => break,
                    Err(_) => return (found, false),
                }
            }
            // The buffer never exceeds the bytes that were sent, even if a frame's header claims
            // more.
            assert!(incoming.buffer.len() <= bytes.len());
        }
        (found, true)
    }

    proptest! {
        #[test]
        fn frames_arrive_whole_whatever_their_parts(
            messages in prop::collection::vec((message(), prop::collection::vec(any::<u8>(), 0..50)), 0..6),
            parts in prop::collection::vec(1..60usize, 1..8),
        ) {
            let bytes: Vec<u8> =
                messages.iter().flat_map(|(message, body)| frame(message, body).unwrap()).collect();
            prop_assert_eq!(read(&bytes, &parts, 50), (messages, true));
        }

        #[test]
        fn any_bytes_are_survived(
            bytes in prop::collection::vec(prop_oneof![Just(0u8), 0..9u8, any::<u8>()], 0..200),
            parts in prop::collection::vec(1..60usize, 1..8),
        ) {
            let (found, _) = read(&bytes, &parts, 50);
            prop_assert!(found.iter().all(|(_, body)| body.len() <= 50));
            prop_assert!(found.len() <= bytes.len() / PREFIX);
        }
    }
}
