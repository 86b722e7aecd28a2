//! Closes descriptors whose close may block: sockets to untrusted processes, and descriptors
//! received over them.
//!
//! Closing the last descriptor of a socket with SO_LINGER blocks until its data has been sent or a
//! timeout that the socket's owner chooses has expired. Descriptors in flight can block too. The
//! kernel closes unreceived descriptors in the thread that closes the Unix socket holding them, or
//! in the thread that receives their message without room for them. So all such descriptors are
//! closed on a separate thread.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::net::sockopt::set_socket_linger;

/// A socket that is closed on a separate thread when it is dropped.
#[derive(Debug)]
pub struct Apart(Option<OwnedFd>);

impl From<OwnedFd> for Apart {
    fn from(fd: OwnedFd) -> Self {
        Self(Some(fd))
    }
}

impl AsFd for Apart {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("only drop takes the descriptor").as_fd()
    }
}

impl AsRawFd for Apart {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        close(self.0.take());
    }
}

/// Closes descriptors on a separate thread. If that thread can't be started, they stay open.
pub fn close(fds: impl IntoIterator<Item = OwnedFd>) {
    // If the thread can't be started, the closure is dropped on this thread, which must not close
    // the descriptors.
    let fds = ManuallyDrop::new(Vec::from_iter(fds));
    if fds.is_empty() {
        return;
    }
    let count = fds.len();
    let close = move || {
        // Turn off SO_LINGER, because without it, closing a socket usually returns immediately.
        // Errors are ignored: only sockets have this option.
        for fd in fds.iter() {
            let _ = set_socket_linger(fd, None);
        }
        drop(ManuallyDrop::into_inner(fds));
    };
    let thread = std::thread::Builder::new().name("closer".into()).stack_size(64 * 1024);
    if let Err(error) = thread.spawn(close) {
        tracing::warn!(
            "cannot start a thread to close {count} descriptors, so they stay open: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::frames::Incoming;
    use crate::seqpacket;

    /// Returns a socket for which closing the last descriptor takes an hour, and its peer, which
    /// reads nothing.
    fn lingering() -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (reader, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        while socket.write(&[0; 1 << 16]).is_ok() {}
        set_socket_linger(&socket, Some(Duration::from_secs(3600))).unwrap();
        (socket.into(), reader)
    }

    /// Sends `others` fast descriptors, followed by one that is slow to close, over a socket pair.
    /// Closes all other copies of the slow one. Returns the socket that holds the sent descriptors,
    /// and the slow socket's peer.
    fn sent(pair: (OwnedFd, OwnedFd), message: &[u8], others: usize) -> (OwnedFd, TcpStream) {
        let (ours, theirs) = pair;
        let (slow, reader) = lingering();
        let null = File::open("/dev/null").unwrap();
        let mut fds = vec![null.as_fd(); others];
        fds.push(slow.as_fd());
        seqpacket::send_bytes(&theirs, message, &fds).unwrap();
        (ours, reader)
    }

    /// Runs `body` on another thread. Fails the test if `body` doesn't finish within ten seconds.
    fn at_once(body: impl FnOnce() + Send + 'static) {
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            body();
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(10)).expect("the test body blocked or panicked");
    }

    #[test]
    fn unexpected_descriptors_are_refused_without_blocking() {
        // Test a valid message, an empty message, and a message with the maximum number of
        // descriptors.
        for (message, others) in [(&[7][..], 0), (&[], 0), (&[7], seqpacket::MAX_FDS - 1)] {
            let (ours, _reader) = sent(seqpacket::pair().unwrap(), message, others);
            at_once(move || {
                let error = seqpacket::receive_plain::<u8>(&ours).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData);
            });
        }
    }

    #[test]
    fn a_socket_holding_slow_descriptors_closes_without_blocking() {
        let (ours, _reader) = sent(seqpacket::pair().unwrap(), &[7], 0);
        at_once(move || drop(Apart::from(ours)));
    }

    #[test]
    fn descriptors_without_a_frame_close_without_blocking() {
        let (ours, _reader) = sent(seqpacket::stream_pair().unwrap(), &[7], 0);
        at_once(move || {
            let mut incoming = Incoming::new(0);
            assert!(incoming.read(&ours).unwrap());
        });
    }

    #[test]
    fn a_socket_that_refuses_descriptors_gets_none() {
        for pair in [seqpacket::pair().unwrap(), seqpacket::stream_pair().unwrap()] {
            let (ours, theirs) = pair;
            seqpacket::refuse_descriptors(&ours).unwrap();
            if let Err(error) = seqpacket::send_bytes(&theirs, &[7], &[theirs.as_fd()]) {
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            } else {
                eprintln!("skipped: this kernel doesn't support SO_PASSRIGHTS");
            }
            seqpacket::send_bytes(&theirs, &[7], &[]).unwrap();
            // Only the direction to `ours` refuses descriptors; `theirs` still accepts them.
            seqpacket::send_bytes(&ours, &[7], &[theirs.as_fd()]).unwrap();
        }
    }
}
