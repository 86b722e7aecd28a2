//! Doorbells, which the broker and device processes use to wake a worker. A compromised worker
//! can't block the process that rings.
//!
//! An eventfd doesn't work for this: all its holders share one file description, so a worker could
//! clear O_NONBLOCK, fill the counter, and thereby block the host's writes. A pipe doesn't work
//! either: a worker can keep it locked with a blocking splice, even if the host's end has
//! O_NONBLOCK set. So a doorbell is a socket pair. A worker can't hold a lock that the host's send
//! needs, and each send uses MSG_DONTWAIT.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::seqpacket::stream_pair;

/// Maximum number of rings that one call of [`quiet`] reads. The ringing end's send buffer holds
/// fewer, so one call reads all.
const RINGS: usize = 64;

/// Creates a doorbell. Returns the ringing end, for the host, and the listening end, for the
/// worker. The ringing end can't receive, so that a worker can't send it descriptors that are slow
/// to close.
pub fn doorbell() -> io::Result<(OwnedFd, OwnedFd)> {
    let (button, chime) = stream_pair()?;
    shutdown(&button, Shutdown::Read)?;
    // One unread ring is enough, so request the kernel's smallest send buffer.
    set_socket_send_buffer_size(&button, 0)?;
    Ok((button, chime))
}

/// Rings the doorbell. Errors can be ignored: if the buffer is full, earlier rings will wake the
/// listener anyway, and if the listener is gone, nothing has to be woken.
pub fn ring(button: &impl AsFd) {
    let _ = send(button, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// Reads and discards the pending rings.
pub fn quiet(chime: &impl AsFd) {
    let _ = recv(chime, &mut [0u8; RINGS], RecvFlags::DONTWAIT);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::pipe::{SpliceFlags, splice};

    use super::super::seqpacket::{pair, send_bytes};
    use super::*;

    fn is_rung(chime: &OwnedFd) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(chime, PollFlags::IN)], Some(&now)) == Ok(1)
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
            fcntl_setfl(end, OFlags::empty()).unwrap();
        }
        let (_unread_pipe, sink) = std::io::pipe().unwrap();
        let listener = chime.try_clone().unwrap();
        // This thread stays blocked in the kernel, in a splice from the doorbell, until the test
        // process exits.
        std::thread::spawn(move || {
            let splice = || splice(&listener, None, &sink, None, 1 << 20, SpliceFlags::empty());
            while splice().is_ok_and(|moved| moved > 0) {}
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
        let sent = send_bytes(&chime, &[1], &[gift.as_fd()]);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(chime);
        ring(&button);
    }
}
