//! Queue of the broker's log lines. A thread writes them to standard error, so that a program that
//! reads the log slowly, or not at all, doesn't delay the broker's other threads.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use tracing::Level;

use crate::log_line;

/// Maximum number of lines in the queue. When it is full, further lines are dropped and counted.
const LINES_MAX: usize = 4096;
/// Maximum time that the program waits at its end until the queued lines have been written.
const FLUSH: Duration = Duration::from_secs(1);

/// The queue of this process, if its lines are queued.
static QUEUE: OnceLock<Queue> = OnceLock::new();

enum Message {
    Line(Vec<u8>),
    /// Reports that all earlier lines have been written: the thread that writes them drops this
    /// sender when it reaches this message.
    Flushed(#[expect(dead_code, reason = "only its end matters")] SyncSender<()>),
}

#[derive(Clone)]
struct Queue {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    /// Starts the thread that writes to `output`. The thread receives no signals.
    fn start(output: impl Write + AsFd + Send + 'static) -> io::Result<Self> {
        let (sender, lines) = sync_channel(LINES_MAX);
        let queue = Self { sender, dropped: Arc::default() };
        let dropped = queue.dropped.clone();
        let before = super::process::block_signals();
        let thread = std::thread::Builder::new().name("log".into());
        let started = thread.spawn(move || {
            // The broker's main thread sets no_new_privs later, and threads started after that
            // inherit it. This thread is started before, so it sets no_new_privs itself.
            let _ = super::process::set_no_new_privs();
            write_lines(output, &lines, &dropped);
        });
        super::process::restore_signals(&before);
        started.map(|_| queue)
    }

    fn push(&self, line: Vec<u8>) {
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines queued so far have been written, or until `FLUSH` has passed.
    fn flush(&self) {
        let end = Instant::now() + FLUSH;
        let (flushed, waiting) = sync_channel(0);
        let mut message = Message::Flushed(flushed);
        while let Err(TrySendError::Full(back)) = self.sender.try_send(message) {
            if Instant::now() >= end {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
            message = back;
        }
        let left = end.saturating_duration_since(Instant::now());
        // The thread that writes lines never sends a message on this channel. It drops the sender,
        // which ends this wait.
        let _ = waiting.recv_timeout(left);
    }
}

fn write_lines(mut output: impl Write + AsFd, messages: &Receiver<Message>, dropped: &AtomicU64) {
    while let Ok(message) = messages.recv() {
        let Message::Line(line) = message else { continue };
        if !write_line(&mut output, &line) {
            dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let count = dropped.swap(0, Ordering::Relaxed);
        if count > 0 {
            let report = format!("{count} log lines were dropped, because they weren't read");
            write_line(&mut output, &log_line::line(Level::WARN, &report));
        }
    }
}

/// Writes a line, and returns whether that worked. Another process may have made the output
/// non-blocking.
fn write_line(output: &mut (impl Write + AsFd), mut line: &[u8]) -> bool {
    while !line.is_empty() {
        match output.write(line) {
            Ok(0) => return false,
            Ok(written) => line = &line[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_until_writable(output),
            Err(_) => return false,
        }
    }
    true
}

fn wait_until_writable(output: &impl AsFd) {
    let _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], None);
}

/// Keeps the log open. Dropping it waits until this process's lines have been written, for at most
/// `FLUSH`.
#[must_use]
pub struct LogGuard(());

impl Drop for LogGuard {
    fn drop(&mut self) {
        if let Some(queue) = QUEUE.get() {
            queue.flush();
        }
    }
}

/// Starts to queue this process's lines. If that fails, they are written directly.
pub(super) fn start() -> LogGuard {
    if let Ok(queue) = Queue::start(io::stderr()) {
        let _ = QUEUE.set(queue);
    }
    LogGuard(())
}

/// Writes lines to standard error: through the queue if there is one, and directly if not. Each
/// call of `write` must pass a whole line.
pub(super) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match QUEUE.get() {
            Some(queue) => queue.push(line.to_vec()),
            // Ignore errors: a failure to write the log can't be logged.
            None => drop(io::stderr().write_all(line)),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line that wasn't logged through `tracing`, so that no filter applies to it.
pub(crate) fn write(level: Level, text: &str) {
    let _ = LogWriter.write_all(&log_line::line(level, text));
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};

    use super::*;

    #[test]
    fn a_reader_that_does_not_read_blocks_nobody_and_learns_what_it_missed() {
        let (mut reader, writer) = pipe().unwrap();
        let queue = Queue::start(writer).unwrap();
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        for _ in 0..3 * LINES_MAX {
            queue.push(line.clone());
        }
        queue.flush();
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        // When the last sender is dropped, the thread that writes lines exits and closes the pipe.
        drop(queue);
        let text = read.join().unwrap();
        let count = text.lines().filter(|line| line.starts_with('x')).count();
        let dropped: usize = text
            .lines()
            .filter_map(|line| {
                line.strip_suffix(" log lines were dropped, because they weren't read")
            })
            .map(|count| count.parse::<usize>().unwrap())
            .sum();
        assert!(dropped > 0);
        assert_eq!(count + dropped, 3 * LINES_MAX);
    }

    #[test]
    fn lines_are_complete_on_a_pipe_that_became_nonblocking() {
        let (mut reader, writer) = pipe().unwrap();
        super::super::process::set_nonblocking(&writer).unwrap();
        let queue = Queue::start(writer).unwrap();
        let line = [b"x".repeat(99_999), b"\n".to_vec()].concat();
        for _ in 0..10 {
            queue.push(line.clone());
        }
        drop(queue);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text.len(), 1_000_000);
    }

    #[test]
    fn a_closed_pipe_is_no_panic() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let queue = Queue::start(writer).unwrap();
        queue.push(b"line\n".to_vec());
        queue.flush();
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 1);
    }
}
