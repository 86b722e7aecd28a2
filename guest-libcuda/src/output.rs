//! What kernels print: the worker keeps it, and this process writes it to its own stdout.

use crate::log::say;
use crate::session::Session;
use protocol::calls::VcudaTakeOutput;

/// The worker gives at most this much at a time.
const ROOM: usize = (64 << 10) + 64;

/// Fetches all that waits and writes it.
pub fn fetch(session: &Session) {
    loop {
        match session.call_room(&VcudaTakeOutput {}, ROOM) {
            Ok(answer) if answer.text.is_empty() => return,
            Ok(answer) => write(&answer.text),
            Err(error) => {
                say!(Error, "what kernels printed is lost: {error:?}");
                return;
            }
        }
    }
}

/// Writes to descriptor 1, after what the program's own stdio holds back: so the order is that in
/// which a native program's lines would appear.
fn write(mut text: &[u8]) {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
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
