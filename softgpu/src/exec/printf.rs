//! Device `printf`: output is buffered while kernels run, and printed when the host synchronizes.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum length of the output of one conversion specification, in bytes.
const LONGEST: usize = 4096;

/// A buffer for a context's `printf` output that hasn't been printed yet.
#[derive(Debug)]
pub struct Printf {
    text: Mutex<Vec<u8>>,
    filled: AtomicBool,
    limit: usize,
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

impl Printf {
    /// Creates a buffer of `limit` bytes. Text that doesn't fit is dropped.
    pub fn new(limit: usize) -> Self {
        Self { text: Mutex::new(Vec::new()), filled: AtomicBool::new(false), limit }
    }

    /// Adds text to the buffer. Returns false, and drops the text, if it doesn't fit.
    pub fn push(&self, text: &[u8]) -> bool {
        let mut all = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() + text.len() > self.limit {
            return false;
        }
        all.extend_from_slice(text);
        self.filled.store(true, Ordering::Release);
        true
    }

    /// Prints the buffered text through the C library's `stdout`, so that it stays in order with
    /// the program's own output.
    pub fn flush(&self) {
        if !self.filled.load(Ordering::Acquire) {
            return;
        }
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        self.filled.store(false, Ordering::Relaxed);
        // SAFETY: the buffer is valid for its length, and `stdout` is the C library's stream.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
        text.clear();
    }
}

/// Formats text as C's printf does. `next` returns the next argument, given its size in bytes.
/// `string` returns the text at an address. Returns the formatted text and the number of arguments
/// used.
pub fn format<E>(
    format: &[u8],
    mut next: impl FnMut(u64) -> Result<u64, E>,
    mut string: impl FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<(Vec<u8>, i32), E> {
    let mut out = Vec::new();
    let mut count = 0;
    let mut rest = format;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut spec = b"%".to_vec();
        let mut long = false;
        let conversion = loop {
            let Some((&c, tail)) = rest.split_first() else { break 0 };
            rest = tail;
            match c {
                b'-' | b'+' | b' ' | b'#' | b'0'..=b'9' | b'.' => spec.push(c),
                b'*' => {
                    let width = next(4)? as i32;
                    count += 1;
                    spec.extend_from_slice(width.clamp(-4000, 4000).to_string().as_bytes());
                }
                b'l' | b'j' | b'z' | b't' | b'L' => long = true,
                b'h' => spec.push(b'h'),
                other => break other,
            }
        };
        match conversion {
            b'%' => {
                out.push(b'%');
                continue;
            }
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' => {
                if long && conversion != b'c' {
                    spec.extend_from_slice(b"ll");
                }
                let wide = long && conversion != b'c';
                let value = next(if wide { 8 } else { 4 })?;
                spec.push(conversion);
                print(&mut out, &spec, |buffer, spec| {
                    // SAFETY: the conversion takes one integer of this width.
                    unsafe {
                        if wide {
                            libc::snprintf(buffer, LONGEST, spec, value)
                        } else {
                            libc::snprintf(buffer, LONGEST, spec, value as u32)
                        }
                    }
                });
            }
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(next(8)?);
                spec.retain(|c| *c != b'h');
                spec.push(conversion);
                // SAFETY: the conversion takes one double.
                print(&mut out, &spec, |buffer, spec| unsafe {
                    libc::snprintf(buffer, LONGEST, spec, value)
                });
            }
            b'p' => {
                let value = next(8)?;
                spec.push(b'p');
                // SAFETY: the conversion takes one pointer, which it doesn't dereference.
                print(&mut out, &spec, |buffer, spec| unsafe {
                    libc::snprintf(buffer, LONGEST, spec, value)
                });
            }
            b's' => {
                let address = next(8)?;
                let text = CString::new(string(address)?).unwrap_or_default();
                spec.retain(|c| *c != b'h');
                spec.push(b's');
                // SAFETY: the conversion takes one string, which is null-terminated.
                print(&mut out, &spec, |buffer, spec| unsafe {
                    libc::snprintf(buffer, LONGEST, spec, text.as_ptr())
                });
            }
            other => {
                // Print an unknown conversion specification unchanged.
                out.extend_from_slice(&spec);
                if other != 0 {
                    out.push(other);
                }
                continue;
            }
        }
        count += 1;
    }
    Ok((out, count))
}

fn print(
    out: &mut Vec<u8>,
    spec: &[u8],
    f: impl FnOnce(*mut libc::c_char, *const libc::c_char) -> i32,
) {
    let Ok(spec) = CString::new(spec) else { return };
    let mut buffer = vec![0u8; LONGEST];
    let n = f(buffer.as_mut_ptr().cast(), spec.as_ptr());
    let n = usize::try_from(n).unwrap_or(0).min(LONGEST - 1);
    out.extend_from_slice(&buffer[..n]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_format_follows_c() {
        let mut args =
            [42u64, (-1i32) as u32 as u64, 2.5f64.to_bits(), 0x7000, 1 << 40, b'x'.into()]
                .into_iter();
        let (text, count) = format::<()>(
            b"%5d|%u|%.2f|%s|%llx|%c|100%%\n",
            |_| Ok(args.next().unwrap()),
            |address| Ok(format!("at {address:x}").into_bytes()),
        )
        .unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "   42|4294967295|2.50|at 7000|10000000000|x|100%\n"
        );
        assert_eq!(count, 6);
    }
}
