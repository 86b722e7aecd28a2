//! What kernels print.
//!
//! The driver writes it to this process's standard output when a context synchronises (a query of
//! a stream or an event does not do it). Here that is a file in memory, whose content the guest takes. What is taken is given back to the kernel,
//! and what nobody takes is dropped from the start, past a bound.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use std::time::Instant;

use cuda_api::sys::CUstream;
use protocol::ids::ContextId;
use protocol::limits::OUTPUT_MAX;

use super::driver_handle::DriverHandle;
use super::id_map::IdMap;

/// Bytes that are kept for the guest.
const MAX_KEPT: u64 = 16 << 20;

/// The file behind the standard output.
pub(super) struct Output {
    file: Option<File>,
    /// Bytes from its start that were taken or dropped.
    taken: u64,
    /// Bytes that were dropped and not yet spoken of.
    dropped: u64,
}

impl Output {
    /// Puts a file in memory behind the standard output; from now on nothing of this process
    /// appears there. To be called before a driver library is loaded.
    pub(super) fn capture() -> Self {
        let file = memory_file().and_then(|file| {
            // SAFETY: both descriptors are open; 1 becomes a copy of the file's.
            if unsafe { libc::dup2(file.as_raw_fd(), 1) } < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(file)
        });
        if let Err(error) = &file {
            tracing::warn!("what kernels print is lost: {error}");
        }
        Self { file: file.ok(), taken: 0, dropped: 0 }
    }

    /// Bytes that wait to be taken. What is too much is dropped.
    pub(super) fn waiting(&mut self) -> u64 {
        let Some(file) = &self.file else { return 0 };
        let len = file.metadata().map_or(self.taken, |data| data.len());
        let waiting = len - self.taken.min(len);
        if waiting > MAX_KEPT {
            let too_much = waiting - MAX_KEPT;
            give_back(file, self.taken, too_much);
            self.taken += too_much;
            self.dropped += too_much;
        }
        waiting.min(MAX_KEPT)
    }

    /// The next bytes.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let waiting = self.waiting();
        let Some(file) = &self.file else { return vec![] };
        let mut text = Vec::new();
        if std::mem::take(&mut self.dropped) > 0 {
            text.extend_from_slice(b"\n[some of the kernels' output was dropped]\n");
        }
        let from = text.len();
        text.resize((from + waiting as usize).min(OUTPUT_MAX), 0);
        let read = file.read_at(&mut text[from..], self.taken).unwrap_or(0);
        text.truncate(from + read);
        give_back(file, self.taken, read as u64);
        self.taken += read as u64;
        text
    }
}

/// A file in memory that is only ever written at its end.
fn memory_file() -> io::Result<File> {
    // SAFETY: a C string; the descriptor is new and becomes the file's.
    let file = unsafe {
        let fd = libc::memfd_create(c"kernels' output".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    // SAFETY: no pointers.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Frees the memory behind `len` bytes; the file keeps its length. Only whole pages are freed, so
/// the range is taken from its page's start.
fn give_back(file: &File, from: u64, len: u64) {
    let start = from & !4095;
    let mode: c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no pointers. A refusal costs memory, up to the bound of the worker's cgroup.
    unsafe {
        libc::fallocate(file.as_raw_fd(), mode, start as i64, (from + len - start) as i64);
    }
}

/// Since when the guest is told of output, and how the driver is made to write it.
#[derive(Default)]
pub(super) struct Watch {
    /// By context: a stream with nothing in it. To wait for it makes the driver write what kernels
    /// have printed, and takes no time.
    pub(super) streams: IdMap<ContextId, DriverHandle<CUstream>>,
    pub(super) last: Option<Instant>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_written_is_taken_once_and_in_order() {
        let mut file = memory_file().unwrap();
        let mut output = Output { file: Some(file.try_clone().unwrap()), taken: 0, dropped: 0 };
        assert_eq!(output.take(), b"");
        file.write_all(b"one\n").unwrap();
        assert_eq!(output.waiting(), 4);
        file.write_all(b"two\n").unwrap();
        assert_eq!(output.take(), b"one\ntwo\n");
        file.write_all(&[b'x'; OUTPUT_MAX + 1]).unwrap();
        assert_eq!((output.take().len(), output.take().len()), (OUTPUT_MAX, 1));
        assert_eq!(output.waiting(), 0);
    }

    #[test]
    fn the_oldest_is_dropped_and_that_is_said() {
        let mut file = memory_file().unwrap();
        let mut output = Output { file: Some(file.try_clone().unwrap()), taken: 0, dropped: 0 };
        file.write_all(b"oldest").unwrap();
        file.write_all(&vec![b'y'; MAX_KEPT as usize]).unwrap();
        assert_eq!(output.waiting(), MAX_KEPT);
        let text = output.take();
        assert!(text.starts_with(b"\n[some") && text.ends_with(b"yyy"));
    }
}
