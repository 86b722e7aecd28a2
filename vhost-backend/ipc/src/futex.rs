//! Waiting for words in memory that processes share.

use std::sync::atomic::AtomicU32;

/// Waits while the word, which is in memory shared with another process, equals `value`
/// (FUTEX_WAIT), or wakes up to `value` threads that wait for the word (FUTEX_WAKE). Ignores the
/// result, because each waiting thread checks the word again. See futex(2).
pub(crate) fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let no_timeout = std::ptr::null::<libc::timespec>();
    // SAFETY: the word is valid memory for the duration of the call, and the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_timeout) };
}
