//! What kernels print: the worker keeps it, and this process writes it to its own stdout where
//! CUDA would have: at the next call that synchronises.
//!
//! Asking costs a round trip, so only programs whose code may print ask.

use crate::log::say;
use crate::session::Session;
use cuda_abi::fatbin::{Fatbin, Image, images};
use parking_lot::Mutex;
use protocol::calls::VcudaTakeOutput;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The worker gives at most this much at a time.
const PIECE: usize = 64 << 10;
/// What printing kernels call.
const PRINTF: &[u8] = b"vprintf";
/// Images up to this size are looked into; decompressing a whole library would take too long.
const LOOK_INTO: usize = 1 << 20;
const DECOMPRESSED: usize = 32 << 20;
/// How often to ask when nobody knows whether the code prints.
const NOW_AND_THEN: Duration = Duration::from_millis(20);

const NEVER: u8 = 0;
const PERHAPS: u8 = 1;
const ALWAYS: u8 = 2;

/// Whether to ask, and when it was done last.
#[derive(Default)]
pub struct Output {
    asks: AtomicU8,
    last: Mutex<Option<Instant>>,
}

fn prints(code: &[u8]) -> bool {
    code.windows(PRINTF.len()).any(|bytes| bytes == PRINTF)
}

/// Whether an image's kernels print.
fn look_into(image: &[u8]) -> u8 {
    if image.len() > LOOK_INTO {
        return PERHAPS;
    }
    let found = match Fatbin::parse(image) {
        Err(_) => prints(image),
        Ok(_) => match images(image, DECOMPRESSED) {
            Err(_) => return PERHAPS,
            Ok(images) => images.iter().any(|(_, image)| match image {
                Image::Ptx(text) => prints(text.as_bytes()),
                Image::Cubin(code) => prints(code),
            }),
        },
    };
    if found { ALWAYS } else { NEVER }
}

impl Output {
    /// Takes note of code that is being loaded.
    pub fn see(&self, image: &[u8]) {
        if self.asks.load(Ordering::Relaxed) != ALWAYS {
            self.asks.fetch_max(look_into(image), Ordering::Relaxed);
        }
    }

    /// To be called after a call that synchronised.
    #[inline]
    pub fn flush(&self, session: &Session) {
        let told = session.has_output();
        match self.asks.load(Ordering::Relaxed) {
            ALWAYS => fetch(session),
            _ if told => fetch(session),
            PERHAPS => {
                let mut last = self.last.lock();
                if last.is_none_or(|last| last.elapsed() > NOW_AND_THEN) {
                    *last = Some(Instant::now());
                    drop(last);
                    fetch(session);
                }
            }
            _ => {}
        }
    }

    /// To be called where a context has ended: the last chance.
    pub fn flush_all(&self, session: &Session) {
        if self.asks.load(Ordering::Relaxed) != NEVER || session.has_output() {
            fetch(session);
        }
    }
}

/// Fetches all that waits and writes it.
fn fetch(session: &Session) {
    loop {
        match session.call_always(&VcudaTakeOutput {}, PIECE + 64) {
            Ok(answer) => {
                write(&answer.text);
                if answer.text.len() < PIECE {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_prints_is_known() {
        assert_eq!(look_into(b".version 8.0\n.extern .func vprintf\0"), ALWAYS);
        assert_eq!(look_into(b".version 8.0\n.target sm_75\0"), NEVER);
        assert_eq!(look_into(&vec![b' '; LOOK_INTO + 1]), PERHAPS);
    }
}
