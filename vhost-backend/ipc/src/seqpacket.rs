//! Small messages with file descriptors, over seqpacket sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::apart;

/// Maximum size of a message, in bytes. A session's environment variables fit.
pub const MAX_MESSAGE: usize = 16 * 1024;
/// The kernel's limit on descriptors per message (SCM_MAX_FD). Receivers always provide room for
/// this many. With less room, the kernel would close excess descriptors on the receiving thread,
/// which may block.
pub const MAX_FDS: usize = 253;

/// Creates a connected pair of seqpacket sockets with close-on-exec set.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Creates a connected pair of stream sockets with close-on-exec set.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A socket option that is new in Linux 6.16. Neither rustix nor the libc crate defines it yet.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Makes the kernel refuse descriptors that are sent to this socket. Older kernels don't support
/// this and deliver the descriptors. `receive_plain` then closes them.
pub fn refuse_descriptors(socket: &impl AsRawFd) -> io::Result<()> {
    let no: libc::c_int = 0;
    let length = size_of_val(&no) as libc::socklen_t;
    let no = (&raw const no).cast();
    // SAFETY: `no` is readable for `length` bytes.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PASSRIGHTS, no, length)
    };
    if result < 0 {
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ENOPROTOOPT) {
            return Err(error);
        }
    }
    Ok(())
}

/// Sends one message. Blocks unless the socket is non-blocking.
pub fn send(socket: &impl AsFd, message: &impl Serialize, fds: &[BorrowedFd]) -> io::Result<()> {
    let mut buffer = [0u8; MAX_MESSAGE];
    let bytes = postcard::to_slice(message, &mut buffer).map_err(io::Error::other)?;
    send_bytes(socket, bytes, fds).map(|_| ())
}

/// Receives one message and its descriptors. Returns `None` if the other end has been closed.
pub fn receive<T: DeserializeOwned>(socket: &impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut buffer = [0u8; MAX_MESSAGE];
    let (len, fds) = receive_bytes(socket, &mut buffer)?;
    if len == 0 {
        return Ok(None);
    }
    let message = postcard::from_bytes(&buffer[..len])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((message, fds)))
}

/// Receives one message from a peer that must not send descriptors. If it sends any, they are
/// closed on another thread, and the call fails.
pub fn receive_plain<T: DeserializeOwned>(socket: &impl AsFd) -> io::Result<Option<T>> {
    let mut buffer = [0u8; MAX_MESSAGE];
    let (len, fds) = receive_bytes(socket, &mut buffer)?;
    if !fds.is_empty() {
        apart::close(fds);
        return Err(invalid("a message carries unexpected descriptors"));
    }
    if len == 0 {
        return Ok(None);
    }
    let message = postcard::from_bytes(&buffer[..len])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some(message))
}

/// Reads bytes from a stream socket whose peer must not send descriptors. If it sends any, they are
/// closed on another thread. Returns 0 if the other end has been closed.
pub fn read_plain(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (len, fds) = receive_bytes(socket, buffer)?;
    apart::close(fds);
    Ok(len)
}

const CONTROL_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FDS));

/// Calls sendmsg once, with the descriptors attached to the first byte. Never raises SIGPIPE.
pub(super) fn send_bytes(
    socket: &impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd],
) -> io::Result<usize> {
    assert!(fds.len() <= MAX_FDS, "a message carries at most {MAX_FDS} descriptors");
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let bytes = [IoSlice::new(bytes)];
    Ok(retry_on_intr(|| sendmsg(socket, &bytes, &mut control, SendFlags::NOSIGNAL))?)
}

/// Calls recvmsg once. The received descriptors have close-on-exec set. If the message was
/// truncated, the call fails.
pub(super) fn receive_bytes(
    socket: &impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); CONTROL_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(buffer)];
    let received =
        retry_on_intr(|| recvmsg(socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        apart::close(fds);
        return Err(invalid("a message was truncated"));
    }
    Ok((received.bytes, fds))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
