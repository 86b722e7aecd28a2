//! The text that kernels print. The worker buffers the text and sets a flag in its replies. This
//! process writes the text to its stdout in calls that synchronize, as CUDA does.

use crate::log::say;
use crate::session::Session;
use protocol::calls::VcudaTakeOutput;
use protocol::limits::OUTPUT_MAX;

/// If the worker has reported printed text, fetches it and writes it to stdout.
#[inline]
pub fn flush(session: &Session) {
    if session.take_has_output() {
        fetch(session);
    }
}

#[cold]
fn fetch(session: &Session) {
    loop {
        match session.call_always(&VcudaTakeOutput {}, OUTPUT_MAX + 64) {
            Ok(answer) => {
                write(&answer.text);
                if answer.text.len() < OUTPUT_MAX {
                    return;
                }
            }
            Err(error) => {
                say!(Error, "can't fetch the text that kernels printed: {error:?}");
                return;
            }
        }
    }
}

unsafe extern "C" {
    /// The C library's `stdout`.
    static stdout: *mut libc::FILE;
}

/// Writes to file descriptor 1. Flushes the program's stdio first, so that lines appear in the same
/// order as with NVIDIA's driver.
fn write(mut text: &[u8]) {
    if text.is_empty() {
        return;
    }
    // SAFETY: the C library's stream lives as long as the process.
    unsafe { libc::fflush(stdout) };
    while !text.is_empty() {
        // SAFETY: the pointer and the length are those of a slice.
        let written = unsafe { libc::write(1, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) => text = &text[written.min(text.len())..],
            Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return,
        }
    }
}
