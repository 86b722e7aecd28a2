//! Doorbells, by which the broker and a device process wake a worker that may have been taken over.
//!
//! An eventfd is one open file description for all who hold it: whoever takes O_NONBLOCK away and
//! fills it makes the others wait. Of a pipe either end can be held locked for as long as its holder
//! likes, by a splice that waits, and O_NONBLOCK is no help against that. So a doorbell is a pair of
//! sockets. Sending to one waits for nothing that its peer can hold, and asks each time not to wait.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::seqpacket::stream_pair;

/// Rings that are taken note of at once; more than the host's end holds.
const RINGS: usize = 64;

/// A new one: the host's end to ring with, and the worker's to listen to. The first takes nothing,
/// so that a worker can leave nothing in it, such as descriptors, whose closing may take its time.
pub fn doorbell() -> io::Result<(OwnedFd, OwnedFd)> {
    let (button, chime) = stream_pair()?;
    // SAFETY: an open socket and an integer.
    if unsafe { libc::shutdown(button.as_raw_fd(), libc::SHUT_RD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // A few rings that nobody has heard are as good as many: the kernel's least.
    let least: libc::c_int = 0;
    // SAFETY: `least` is as many readable bytes as is said.
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

/// Rings. Who has not heard the last ones is awake soon anyway, and who is gone needs no waking: so
/// errors are of no interest.
pub fn ring(button: &impl AsRawFd) {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: one byte is readable.
    unsafe { libc::send(button.as_raw_fd(), [1u8].as_ptr().cast(), 1, flags) };
}

/// Takes note of the rings until now.
pub fn quiet(chime: &impl AsRawFd) {
    let mut rings = [0u8; RINGS];
    // SAFETY: `rings` has as much room as is said.
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
        // SAFETY: one descriptor is announced, and `fds` lives across the call.
        unsafe { libc::poll(&mut fds, 1, 0) == 1 }
    }

    #[test]
    fn who_listens_hears_rings_until_it_has_taken_note() {
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
    fn who_listens_cannot_make_wait_who_rings() {
        let (button, chime) = doorbell().unwrap();
        let (full, _unread) = stream_pair().unwrap();
        for end in [&chime, &full] {
            // SAFETY: integers only.
            assert_eq!(unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, 0) }, 0);
        }
        let mut pipe = [0; 2];
        // SAFETY: `pipe` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let listener = chime.try_clone().unwrap();
        // It waits in the kernel, with the doorbell in its hands, until the test has ended.
        std::thread::spawn(move || {
            let (from, none) = (listener.as_raw_fd(), std::ptr::null_mut());
            // SAFETY: no offsets are given; the pipe takes 64 KiB, and then no more.
            while unsafe { libc::splice(from, none, pipe[1], none, 1 << 20, 0) } > 0 {}
        });
        let (done, rung) = mpsc::channel();
        std::thread::spawn(move || {
            for _ in 0..200_000 {
                ring(&button);
            }
            let _ = done.send(());
        });
        assert!(rung.recv_timeout(Duration::from_secs(20)).is_ok(), "it waits");
    }

    #[test]
    fn who_listens_can_send_nothing_and_may_be_gone() {
        let (button, chime) = doorbell().unwrap();
        let (gift, _) = pair().unwrap();
        let sent = send_bytes(&chime, &[1], &[gift.as_raw_fd()]);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(chime);
        ring(&button);
    }
}
