//! Small messages with file descriptors, over seqpacket sockets.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::apart;

/// Maximum size of a message, in bytes. A session's environment variables fit.
pub const MAX_MESSAGE: usize = 16 * 1024;
/// The kernel's limit on descriptors per message (SCM_MAX_FD). Receivers always have room for that
/// many. Otherwise, the kernel would close excess descriptors on the receiving thread, which may
/// block.
pub const MAX_FDS: usize = 253;

/// Creates a connected pair of seqpacket sockets with close-on-exec set.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socketpair(libc::SOCK_SEQPACKET)
}

/// Creates a connected pair of stream sockets with close-on-exec set.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socketpair(libc::SOCK_STREAM)
}

fn socketpair(kind: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: `fds` has room for the two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) }
        < 0
    {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: socketpair just opened both descriptors, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// A socket option that is new in Linux 6.16. The libc crate doesn't define it yet.
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
pub fn send(socket: &impl AsRawFd, message: &impl Serialize, fds: &[RawFd]) -> io::Result<()> {
    let mut buffer = [0u8; MAX_MESSAGE];
    let bytes = postcard::to_slice(message, &mut buffer).map_err(io::Error::other)?;
    send_bytes(socket, bytes, fds).map(|_| ())
}

/// Receives one message and its descriptors. Returns `None` if the other end has been closed.
pub fn receive<T: DeserializeOwned>(
    socket: &impl AsRawFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
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
pub fn receive_plain<T: DeserializeOwned>(socket: &impl AsRawFd) -> io::Result<Option<T>> {
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
pub fn read_plain(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (len, fds) = receive_bytes(socket, buffer)?;
    apart::close(fds);
    Ok(len)
}

// SAFETY: CMSG_SPACE only does arithmetic.
const CONTROL_BYTES: usize =
    unsafe { libc::CMSG_SPACE((MAX_FDS * size_of::<RawFd>()) as u32) } as usize;

/// A suitably aligned buffer for control messages.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Calls sendmsg once, with the descriptors attached to the first byte. Never raises SIGPIPE.
pub(super) fn send_bytes(socket: &impl AsRawFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<usize> {
    assert!(fds.len() <= MAX_FDS, "a message carries at most {MAX_FDS} descriptors");
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: a zeroed msghdr is valid, with null pointers and zero lengths.
    let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
    msg.msg_iov = &mut iov;
    msg.msg_iovlen = 1;
    if !fds.is_empty() {
        let payload = size_of_val(fds) as u32;
        msg.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE only does arithmetic, and MAX_FDS descriptors fit in CONTROL_BYTES.
        msg.msg_controllen = unsafe { libc::CMSG_SPACE(payload) } as _;
        // SAFETY: the control buffer is aligned and has CMSG_SPACE(payload) bytes, so the first
        // header and its data are inside it.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&msg);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(payload) as _;
            std::ptr::copy_nonoverlapping(
                fds.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(header),
                payload as usize,
            );
        }
    }
    loop {
        // SAFETY: `msg` points to buffers that outlive the call.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &msg, libc::MSG_NOSIGNAL) };
        if sent >= 0 {
            return Ok(sent as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Calls recvmsg once. The received descriptors have close-on-exec set. If the message was
/// truncated, the call fails.
pub(super) fn receive_bytes(
    socket: &impl AsRawFd,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut iov = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: a zeroed msghdr is valid, with null pointers and zero lengths.
    let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
    msg.msg_iov = &mut iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.0.as_mut_ptr().cast();
    msg.msg_controllen = CONTROL_BYTES as _;
    let len = loop {
        // SAFETY: `msg` points to buffers that outlive the call and have the given lengths.
        let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut msg, libc::MSG_CMSG_CLOEXEC) };
        if len >= 0 {
            break len as usize;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    let mut fds = Vec::new();
    // SAFETY: the kernel filled the control buffer. CMSG_FIRSTHDR and CMSG_NXTHDR stay within the
    // length that it set, and nothing else owns the new descriptors in SCM_RIGHTS.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&msg);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for index in 0..bytes / size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&msg, header);
        }
    }
    if msg.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        apart::close(fds);
        return Err(invalid("a message was truncated"));
    }
    Ok((len, fds))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
