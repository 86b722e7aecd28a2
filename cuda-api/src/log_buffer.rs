//! The buffer of log messages, and its text form.

use crate::error::{CuError, CuResult};
use std::collections::VecDeque;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most bytes of text that the buffer holds.
const BYTES_MAX: usize = 25600;
/// The first line of a dump in which messages are missing.
const TRUNCATED: &str = "[CUDA] Older messages are missing\n";

/// A message, as a line of text.
pub struct Entry(String);

impl Entry {
    /// Creates a line with the time of day and the calling thread's id.
    pub fn now(text: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, millis) = (now.as_secs() % 86400, now.subsec_millis());
        let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
        // SAFETY: pthread_self has no preconditions.
        let thread = unsafe { libc::pthread_self() };
        let mut line = String::new();
        let _ = writeln!(
            line,
            "[{hour:02}:{minute:02}:{second:02}.{millis:03}][{thread}][CUDA][E] {text}"
        );
        Self(line)
    }
}

/// The latest messages.
pub struct Buffer {
    lines: VecDeque<String>,
    bytes: usize,
    /// The number of the next message. It wraps around.
    next: u32,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Buffer {
    pub const fn new() -> Self {
        Self { lines: VecDeque::new(), bytes: 0, next: 0 }
    }

    /// Adds a message. The oldest messages are dropped if the buffer is full.
    pub fn push(&mut self, Entry(line): Entry) {
        self.bytes += line.len();
        self.lines.push_back(line);
        self.next = self.next.wrapping_add(1);
        while self.bytes > BYTES_MAX {
            let Some(line) = self.lines.pop_front() else { break };
            self.bytes -= line.len();
        }
    }

    /// Returns the number of the next message.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns the messages from number `from` on, or all messages. If some of these messages are
    /// missing or don't fit in `room` bytes, the text begins with a line that says so, and contains
    /// the latest messages. Fails if not even the latest message fits.
    pub fn text(&self, from: Option<u32>, room: usize) -> CuResult<String> {
        let wanted = match from {
            // An iterator beyond the newest message selects no messages.
            Some(from) if from.wrapping_sub(self.next) < u32::MAX / 2 => 0,
            Some(from) => self.next.wrapping_sub(from) as usize,
            None => self.lines.len(),
        };
        let available = wanted.min(self.lines.len());
        let lines = || self.lines.iter().skip(self.lines.len() - available);
        let total: usize = lines().map(String::len).sum();
        if available == wanted && total <= room {
            return Ok(lines().map(String::as_str).collect());
        }
        let room = room.checked_sub(TRUNCATED.len()).ok_or(CuError::INVALID_VALUE)?;
        let mut used = 0;
        let fits = |line: &&String| {
            used += line.len();
            used <= room
        };
        let kept = lines().rev().take_while(fits).count();
        if kept == 0 {
            return Err(CuError::INVALID_VALUE);
        }
        let latest = lines().skip(available - kept).map(String::as_str);
        Ok([TRUNCATED].into_iter().chain(latest).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: usize) -> Buffer {
        let mut buffer = Buffer::new();
        (0..count).for_each(|number| buffer.push(Entry(format!("message {number:04}\n"))));
        buffer
    }

    #[test]
    fn messages_are_dumped_from_an_iterator() {
        let buffer = filled(3);
        let all = "message 0000\nmessage 0001\nmessage 0002\n";
        assert_eq!(buffer.text(None, 1000).as_deref(), Ok(all));
        assert_eq!(buffer.text(Some(2), 1000).as_deref(), Ok("message 0002\n"));
        assert_eq!(buffer.text(Some(buffer.next()), 0).as_deref(), Ok(""));
        assert_eq!(buffer.text(Some(9), 1000).as_deref(), Ok(""));
    }

    #[test]
    fn a_small_buffer_gets_the_latest_messages() {
        let buffer = filled(3);
        assert_eq!(buffer.text(None, 10), Err(CuError::INVALID_VALUE));
        let two = format!("{TRUNCATED}message 0001\nmessage 0002\n");
        assert_eq!(buffer.text(None, 39), Ok("message 0000\nmessage 0001\nmessage 0002\n".into()));
        assert_eq!(filled(9).text(None, two.len()).map(|text| text.lines().count()), Ok(3));
    }

    #[test]
    fn the_oldest_messages_are_dropped() {
        let buffer = filled(10_000);
        assert!(buffer.bytes <= BYTES_MAX);
        let text = buffer.text(Some(0), usize::MAX).unwrap();
        assert!(text.starts_with(TRUNCATED) && text.ends_with("message 9999\n"), "{text}");
        let all = buffer.text(None, BYTES_MAX).unwrap();
        assert!(all.starts_with("message") && all.ends_with("message 9999\n"), "{all}");
    }
}
