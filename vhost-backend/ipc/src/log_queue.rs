//! The broker's log lines on their way to standard error. A thread writes them, so that a program
//! that reads the log slowly, or not at all, delays no other thread.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use tracing::Level;

use crate::log_line;

/// The number of lines that can wait. Further lines are dropped and counted.
const LINES_MAX: usize = 4096;
/// How long the end of the program waits for the lines to be written.
const FLUSH: Duration = Duration::from_secs(1);

/// The queue of this process, if its lines are queued.
static QUEUE: OnceLock<Queue> = OnceLock::new();

enum Message {
    Line(Vec<u8>),
    /// Asks for a sign that all earlier lines were written: the thread then drops this sender.
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
            // Other threads of the broker inherit no_new_privs from the main thread, which sets it
            // later. This thread is started before that.
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

    /// Waits until the lines so far are written, for at most `FLUSH`.
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
        // The thread sends nothing. It drops the sender, which ends this wait.
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

/// Waits for this process's lines to be written when it is dropped.
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
            // If the log can't be written, there is nobody to tell.
            None => drop(io::stderr().write_all(line)),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line that doesn't come from `tracing`, and isn't filtered.
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
        // The thread ends, and closes the pipe, once there is no sender.
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
