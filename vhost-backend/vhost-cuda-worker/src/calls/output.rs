//! Captures the output of `printf` in kernels.
//!
//! The driver writes the output to this process's standard output when a context synchronizes, but
//! not when a stream or an event is queried. In the worker, standard output is a memfd, from which
//! the guest fetches the text. The memory of fetched text is freed. If there is more text than
//! [`MAX_KEPT`], the oldest text is dropped.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use protocol::limits::OUTPUT_MAX;

/// The maximum number of bytes of output to keep until the guest fetches them.
const MAX_KEPT: u64 = 16 << 20;

/// The memfd that serves as the worker's standard output.
pub(super) struct Output {
    file: Option<File>,
    /// The number of bytes from the start of the file that the guest has fetched or that were
    /// dropped.
    taken: u64,
    /// The number of dropped bytes that the guest hasn't been told about yet.
    dropped: u64,
}

impl Output {
    /// Replaces this process's standard output with a memfd. Must be called before a driver library
    /// is loaded.
    pub(super) fn capture() -> Self {
        let file = memory_file().and_then(|file| {
            // SAFETY: both descriptors are open; 1 becomes a duplicate of the file's descriptor.
            if unsafe { libc::dup2(file.as_raw_fd(), 1) } < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(file)
        });
        if let Err(error) = &file {
            tracing::warn!("cannot capture the output of kernels: {error}");
        }
        Self { file: file.ok(), taken: 0, dropped: 0 }
    }

    /// Returns the number of bytes that the guest can fetch, after dropping the oldest text beyond
    /// the limit.
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

    /// Removes and returns the next part of the text, for the guest.
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

/// Creates a memfd in which every write appends to the end.
fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string. The descriptor is new, and the file takes ownership of it.
    let file = unsafe {
        let fd = libc::memfd_create(c"kernels' output".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    // SAFETY: the call takes no pointers.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Frees the memory of `len` bytes of the file, whose length doesn't change. Only whole pages can
/// be freed, so the range is extended to the start of its first page.
fn give_back(file: &File, from: u64, len: u64) {
    let start = from & !4095;
    let mode: c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the call takes no pointers. If it fails, the memory stays in use, within the limit of
    // the worker's cgroup.
    unsafe {
        libc::fallocate(file.as_raw_fd(), mode, start as i64, (from + len - start) as i64);
    }
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
    fn the_oldest_text_is_dropped_with_a_notice() {
        let mut file = memory_file().unwrap();
        let mut output = Output { file: Some(file.try_clone().unwrap()), taken: 0, dropped: 0 };
        file.write_all(b"oldest").unwrap();
        file.write_all(&vec![b'y'; MAX_KEPT as usize]).unwrap();
        assert_eq!(output.waiting(), MAX_KEPT);
        let text = output.take();
        assert!(text.starts_with(b"\n[some") && text.ends_with(b"yyy"));
    }
}
