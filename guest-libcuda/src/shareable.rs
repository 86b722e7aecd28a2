//! File descriptors that represent exported memory and memory pools.
//!
//! The descriptor that a program gets is one end of a socket pair. A message in it contains the
//! worker's name for the export, or the name and device of the pool. Importers read the message
//! without removing it. This library keeps the other end, which reports a hangup when all processes
//! have closed all copies of the program's end.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use parking_lot::Mutex;

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use protocol::calls::VcudaMemWithdraw;

/// The worker's name for an export.
type Token = [u64; 4];

/// The first bytes of a message about memory.
const MEMORY: &[u8; 16] = b"virtio-cuda fd 1";
/// The first bytes of a message about a pool.
const POOL: &[u8; 16] = b"virtio-cuda pool";
const MESSAGE: usize = MEMORY.len() + size_of::<Token>();

struct Export {
    /// The worker's name for the export, or `None` for a pool, because the worker doesn't know
    /// which pools are exported.
    token: Option<Token>,
    /// This library's end of the socket pair.
    socket: OwnedFd,
}

/// The exports for which the program may still have a descriptor.
static EXPORTS: Mutex<Vec<Export>> = Mutex::new(Vec::new());

fn socket_pair() -> io::Result<[OwnedFd; 2]> {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: socketpair has just opened the descriptors, and nothing else owns them.
    Ok(fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Sends a message into a socket. Returns whether it was sent.
fn send(socket: &OwnedFd, kind: &[u8; 16], words: [u64; 4]) -> bool {
    let mut message = kind.to_vec();
    message.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the pointer and the length are those of a `Vec`.
    let sent =
        unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), flags) };
    sent == MESSAGE as isize
}

/// Exports memory by calling `export`, and returns a descriptor that represents it.
pub fn export(export: impl FnOnce() -> CuResult<Token>) -> CuResult<OwnedFd> {
    let [socket, descriptor] = socket_pair().map_err(|_| CuError::OPERATING_SYSTEM)?;
    // Hold the lock during the call, so that no other thread ends an export of the same memory
    // meanwhile.
    let mut exports = EXPORTS.lock();
    let token = export()?;
    let sent = send(&socket, MEMORY, token);
    // Add the export even if the message wasn't sent. Its descriptor is then closed, so the next
    // `reap` ends the export.
    exports.push(Export { token: Some(token), socket });
    if sent { Ok(descriptor) } else { Err(CuError::OPERATING_SYSTEM) }
}

/// Returns a descriptor that represents a pool. `words` describe the pool to the processes that
/// import it.
pub fn export_pool(words: [u64; 4]) -> CuResult<OwnedFd> {
    let [socket, descriptor] = socket_pair().map_err(|_| CuError::OPERATING_SYSTEM)?;
    if !send(&socket, POOL, words) {
        return Err(CuError::OPERATING_SYSTEM);
    }
    EXPORTS.lock().push(Export { token: None, socket });
    Ok(descriptor)
}

/// Returns the worker's name for the export that a descriptor represents.
pub fn token_of(descriptor: RawFd) -> CuResult<Token> {
    message_of(descriptor, MEMORY)
}

/// Returns the words that describe the pool that a descriptor represents. Another program may have
/// forged them.
pub fn pool_of(descriptor: RawFd) -> CuResult<[u64; 4]> {
    message_of(descriptor, POOL)
}

fn message_of(descriptor: RawFd, kind: &[u8; 16]) -> CuResult<[u64; 4]> {
    let mut message = [0u8; MESSAGE];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the pointer and the length are those of an array. With MSG_TRUNC, the result may be
    // larger, but no more bytes are written.
    let len = unsafe { libc::recv(descriptor, message.as_mut_ptr().cast(), MESSAGE, flags) };
    if len < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EBADF) {
        return Err(CuError::UNKNOWN);
    }
    let (magic, words) = message.split_at(kind.len());
    if len != MESSAGE as isize || magic != kind {
        return Err(CuError::INVALID_VALUE);
    }
    let word = |index: usize| {
        words[8 * index..][..8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    Ok(std::array::from_fn(word))
}

/// Ends the exports whose descriptors have all been closed, so that their memory can be freed.
/// Returns whether any export was ended.
pub fn reap(driver: &Driver) -> bool {
    let mut exports = EXPORTS.lock();
    if exports.is_empty() {
        return false;
    }
    let (closed, open): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *exports).into_iter().partition(|export| is_closed(&export.socket));
    *exports = open;
    let mut ended: Vec<Token> = closed.into_iter().filter_map(|export| export.token).collect();
    // Other descriptors for the same memory may still be open. Don't end these exports.
    ended.retain(|token| !exports.iter().any(|export| export.token == Some(*token)));
    ended.sort_unstable();
    ended.dedup();
    for token in &ended {
        // Ignore errors: if the call fails, the session has ended, and the export with it.
        let _ = driver.session.call(&VcudaMemWithdraw { token: *token });
    }
    !ended.is_empty()
}

/// Returns whether all copies of the other end of a socket have been closed.
fn is_closed(socket: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: there is one pollfd, which is readable and writable.
    let ready = unsafe { libc::poll(&mut poll, 1, 0) };
    ready > 0 && poll.revents & libc::POLLHUP != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_tells_each_importer_the_name() {
        let descriptor = export(|| Ok([1, 2, u64::MAX, 4])).unwrap();
        let copy = descriptor.try_clone().unwrap();
        for _ in 0..2 {
            assert_eq!(token_of(copy.as_raw_fd()), Ok([1, 2, u64::MAX, 4]));
        }
        let socket = EXPORTS.lock().pop().unwrap().socket;
        drop(descriptor);
        assert!(!is_closed(&socket));
        drop(copy);
        assert!(is_closed(&socket));
    }

    #[test]
    fn other_descriptors_are_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(token_of(file.as_raw_fd()), Err(CuError::INVALID_VALUE));
        let pool = export_pool([1, 2, 3, 4]).unwrap();
        assert_eq!(token_of(pool.as_raw_fd()), Err(CuError::INVALID_VALUE), "a pool");
        assert_eq!(pool_of(pool.as_raw_fd()), Ok([1, 2, 3, 4]));
        let [one, other] = socket_pair().unwrap();
        assert_eq!(token_of(one.as_raw_fd()), Err(CuError::INVALID_VALUE), "no message");
        for message in [&b"short"[..], &[0; MESSAGE], &[7; MESSAGE + 1]] {
            // SAFETY: the pointer and the length are those of a slice.
            unsafe { libc::send(other.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
            assert_eq!(token_of(one.as_raw_fd()), Err(CuError::INVALID_VALUE));
            // SAFETY: the buffer has 0 bytes, so nothing is written. The call only removes the
            // message.
            unsafe { libc::recv(one.as_raw_fd(), std::ptr::null_mut(), 0, 0) };
        }
        assert_eq!(token_of(-1), Err(CuError::UNKNOWN));
    }
}
