//! What kernels print: the worker keeps it and says so in its answers, and this process writes it
//! to its own stdout where CUDA would have: in the call that synchronised.

use crate::log::say;
use crate::session::Session;
use protocol::calls::VcudaTakeOutput;
use protocol::limits::OUTPUT_MAX;

/// Fetches what the worker has told of, and writes it.
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
                say!(Error, "what kernels printed is lost: {error:?}");
                return;
            }
        }
    }
}

unsafe extern "C" {
    /// The C library's.
    static stdout: *mut libc::FILE;
}

/// Writes to descriptor 1, after what the program's own stdio holds back: so the order is that in
/// which a native program's lines would appear.
fn write(mut text: &[u8]) {
    if text.is_empty() {
        return;
    }
    // SAFETY: the C library's own stream, which lives as long as the process.
    unsafe { libc::fflush(stdout) };
    while !text.is_empty() {
        // SAFETY: the buffer has as many bytes as we say.
        let written = unsafe { libc::write(1, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) => text = &text[written.min(text.len())..],
            Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return,
        }
    }
}
