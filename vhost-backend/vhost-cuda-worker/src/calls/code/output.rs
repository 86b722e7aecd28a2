//! Captures the output of `printf` in kernels.
//!
//! The driver writes the output to this process's standard output when a context synchronizes, but
//! not when a stream or an event is queried. In the worker, standard output is a memfd, from which
//! the guest fetches the text. The memory of fetched text is freed. If there is more text than
//! [`MAX_KEPT`], the oldest text is dropped.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use protocol::limits::OUTPUT_MAX;
use rustix::fs::{FallocateFlags, MemfdFlags, OFlags, fallocate, fcntl_setfl, memfd_create};

/// The maximum number of bytes of output to keep until the guest fetches them.
const MAX_KEPT: u64 = 16 << 20;

/// The memfd that serves as the worker's standard output.
pub(in crate::calls) struct Output {
    file: Option<File>,
    /// The number of bytes from the start of the file that the guest has fetched or that were
    /// dropped.
    taken: u64,
    /// The number of dropped bytes for which the guest hasn't got a notice yet.
    dropped: u64,
}

impl Output {
    /// Replaces this process's standard output with a memfd. Must be called before a driver library
    /// is loaded.
    pub(in crate::calls) fn capture() -> Self {
        let file = memory_file().and_then(|file| {
            rustix::stdio::dup2_stdout(&file)?;
            Ok(file)
        });
        if let Err(error) = &file {
            tracing::warn!("cannot capture the output of kernels: {error}");
        }
        Self { file: file.ok(), taken: 0, dropped: 0 }
    }

    /// Returns the number of bytes that the guest can fetch, after dropping the oldest text beyond
    /// the limit.
    pub(in crate::calls) fn waiting(&mut self) -> u64 {
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

    /// Removes and returns the next part of the text, for a guest that fetches it.
    pub(in crate::calls) fn take(&mut self) -> Vec<u8> {
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
    let file = memfd_create("kernels' output", MemfdFlags::CLOEXEC)?;
    fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file.into())
}

/// Frees the memory of `len` bytes of the file, whose length doesn't change. Only whole pages can
/// be freed, so the range is extended to the start of its first page.
fn give_back(file: &File, from: u64, len: u64) {
    let start = from & !4095;
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    // If the pages can't be freed, the memory stays in use. The memory limit of the worker's cgroup
    // still applies to it.
    let _ = fallocate(file, mode, start, from + len - start);
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
