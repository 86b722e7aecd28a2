//! Doorbells, which the broker and device processes use to wake a worker. A compromised worker
//! can't block the process that rings.
//!
//! An eventfd doesn't work for this: all its holders share one file description, so one of them can
//! clear O_NONBLOCK, fill the counter, and thereby block the others' writes. Neither does a pipe: a
//! holder can keep it locked with a blocking splice, even if the other end has O_NONBLOCK set. So a
//! doorbell is a socket pair. A peer can't hold a lock that a send needs, and each send uses
//! MSG_DONTWAIT.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::seqpacket::stream_pair;

/// Maximum number of rings that are read at once. The ringing end's send buffer holds fewer.
const RINGS: usize = 64;

/// Creates a doorbell. Returns the ringing end, for the host, and the listening end, for the
/// worker. The ringing end can't receive, so that a worker can't send it descriptors that are slow
/// to close.
pub fn doorbell() -> io::Result<(OwnedFd, OwnedFd)> {
    let (button, chime) = stream_pair()?;
    // SAFETY: shutdown takes no pointers.
    if unsafe { libc::shutdown(button.as_raw_fd(), libc::SHUT_RD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // One unread ring is enough, so request the kernel's smallest send buffer.
    let least: libc::c_int = 0;
    // SAFETY: `least` is readable for the given length.
    let set = unsafe {
        libc::setsockopt(
            button.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUF,
            std::ptr::from_ref(&least).cast(),
            size_of_val(&least) as libc::socklen_t,
        )
    };
    if set < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((button, chime))
}

/// Rings the doorbell. Errors can be ignored: if the buffer is full, earlier rings will wake the
/// listener anyway, and if the listener is gone, nothing has to be woken.
pub fn ring(button: &impl AsRawFd) {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the buffer has one readable byte.
    unsafe { libc::send(button.as_raw_fd(), [1u8].as_ptr().cast(), 1, flags) };
}

/// Reads and discards the pending rings.
pub fn quiet(chime: &impl AsRawFd) {
    let mut rings = [0u8; RINGS];
    // SAFETY: `rings` has room for RINGS bytes.
    unsafe {
        libc::recv(chime.as_raw_fd(), rings.as_mut_ptr().cast(), RINGS, libc::MSG_DONTWAIT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::seqpacket::{pair, send_bytes};
    use super::*;

    fn is_rung(chime: &OwnedFd) -> bool {
        let mut fds = libc::pollfd { fd: chime.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the count of 1 matches the single `pollfd`, which outlives the call.
        unsafe { libc::poll(&mut fds, 1, 0) == 1 }
    }

    #[test]
    fn a_ring_stays_pending_until_it_is_consumed() {
        let (button, chime) = doorbell().unwrap();
        assert!(!is_rung(&chime));
        for _ in 0..2 * RINGS {
            ring(&button);
        }
        assert!(is_rung(&chime));
        quiet(&chime);
        assert!(!is_rung(&chime));
        ring(&button);
        assert!(is_rung(&chime));
    }

    #[test]
    fn a_listener_cannot_block_the_ringer() {
        let (button, chime) = doorbell().unwrap();
        let (full, _unread) = stream_pair().unwrap();
        for end in [&chime, &full] {
            // SAFETY: fcntl with F_SETFL takes only integers.
            assert_eq!(unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, 0) }, 0);
        }
        let mut pipe = [0; 2];
        // SAFETY: `pipe` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let listener = chime.try_clone().unwrap();
        // This thread stays blocked in the kernel, in a splice from the doorbell, until the test
        // process exits.
        std::thread::spawn(move || {
            let (from, none) = (listener.as_raw_fd(), std::ptr::null_mut());
            // SAFETY: the offsets are null, so splice accesses no memory of this process.
            while unsafe { libc::splice(from, none, pipe[1], none, 1 << 20, 0) } > 0 {}
        });
        let (done, rung) = mpsc::channel();
        std::thread::spawn(move || {
            for _ in 0..200_000 {
                ring(&button);
            }
            let _ = done.send(());
        });
        assert!(rung.recv_timeout(Duration::from_secs(20)).is_ok(), "ringing blocked");
    }

    #[test]
    fn a_listener_can_send_nothing_and_may_be_gone() {
        let (button, chime) = doorbell().unwrap();
        let (gift, _) = pair().unwrap();
        let sent = send_bytes(&chime, &[1], &[gift.as_raw_fd()]);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(chime);
        ring(&button);
    }
}
