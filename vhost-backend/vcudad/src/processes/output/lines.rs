//! Splits a child process's output into lines of limited length.

use host_ipc::printable::printable_to;

/// Maximum number of bytes of a line. The rest of a longer line is left out.
const MAX: usize = 1024;

/// Splits the output of one process into lines, and keeps the unfinished line.
#[derive(Default)]
pub(super) struct Lines {
    /// The part of the unfinished line that will be logged.
    line: Vec<u8>,
    /// Whether the rest of the unfinished line was left out.
    is_cut: bool,
}

impl Lines {
    /// Adds output. Returns the lines that are now complete.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            bytes = &bytes[end + 1..];
            lines.extend(self.finish());
        }
        self.extend(bytes);
        lines
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_cut |= bytes.len() > room;
    }

    /// Takes the unfinished line, unless it is empty.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_cut);
        let text = printable_to(String::from_utf8_lossy(&line).trim_end(), MAX);
        let end = if is_cut { "…" } else { "" };
        (!text.is_empty()).then(|| text + end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_from_pieces_and_escaped() {
        let mut lines = Lines::default();
        assert!(lines.add(b"one\r").is_empty());
        assert_eq!(lines.add(b"\n\ntwo\x1b[1m\xff\nthr"), ["one", "two\\u{1b}[1m\u{fffd}"]);
        assert_eq!(lines.finish().as_deref(), Some("thr"));
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn a_line_without_an_end_takes_little_memory() {
        let mut lines = Lines::default();
        for _ in 0..10_000 {
            assert!(lines.add(&[b'x'; 4096]).is_empty());
            assert!(lines.line.capacity() <= 2 * MAX);
        }
        let line = lines.add(b"\nnext\n");
        assert!(line[0].ends_with("x…") && line[0].len() < MAX + 10, "{}", line[0]);
        assert_eq!(line[1], "next");
    }
}
