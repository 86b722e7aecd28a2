//! The format of log lines, and their priorities for the journal.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// The format of the process's lines. Not set before the log has been started.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Sets the format of the lines that [`line`] returns.
pub(crate) fn set_format(format: LogFormat) {
    let _ = FORMAT.set(format);
}

/// Formats a text that wasn't logged through `tracing` as a line of the log.
pub(crate) fn line(level: Level, text: &str) -> Vec<u8> {
    let line = match FORMAT.get() {
        Some(LogFormat::Json) => json(level, text),
        _ => format!("{text}\n"),
    };
    match is_journal() {
        true => with_priority(level, line.as_bytes()),
        false => line.into_bytes(),
    }
}

/// Returns a line in the JSON format that tracing uses.
fn json(level: Level, message: &str) -> String {
    let mut timestamp = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let level = level.to_string();
    let line = serde_json::json!({"timestamp": timestamp, "level": level, "message": message});
    format!("{line}\n")
}

/// Returns true if stderr is connected to the journal, which understands priorities.
pub(crate) fn is_journal() -> bool {
    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stderr = io::stderr().as_fd().try_clone_to_owned().map(File::from);
        let stderr = stderr.and_then(|file| file.metadata());
        stderr.is_ok_and(|file| is_stream(&stream, file.dev(), file.ino()))
    })
}

/// Returns true if systemd's `JOURNAL_STREAM`, `DEVICE:INODE`, is the device and inode of this
/// file. A program that was started with another stderr may have inherited the variable.
fn is_stream(stream: &str, device: u64, inode: u64) -> bool {
    let parts = stream.split_once(':');
    parts.is_some_and(|(dev, ino)| dev.parse() == Ok(device) && ino.parse() == Ok(inode))
}

/// Returns the prefix by which the journal recognizes a line's priority: see sd-daemon(3).
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        Level::DEBUG | Level::TRACE => "<7>",
    }
}

/// Puts the prefix before each line of the message, because the journal stores each line as a
/// separate entry.
fn prefixed(prefix: &str, message: &[u8]) -> Vec<u8> {
    let lines = message.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [prefix.as_bytes(), line].concat()).collect()
}

/// Puts the priority of a level before each line of a message.
pub(crate) fn with_priority(level: Level, message: &[u8]) -> Vec<u8> {
    prefixed(priority(level), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_recognized_by_device_and_inode() {
        assert!(is_stream("8:1234", 8, 1234));
        for stream in ["", "8", "8:", "8:12345", "9:1234", "8:1234:1", "x:1234"] {
            assert!(!is_stream(stream, 8, 1234), "{stream}");
        }
    }

    #[test]
    fn each_line_has_a_priority() {
        let text = prefixed(priority(Level::ERROR), b"panicked:\n  at main\n");
        assert_eq!(text, b"<3>panicked:\n<3>  at main\n");
        assert_eq!(prefixed(priority(Level::INFO), b"one\n"), b"<6>one\n");
    }

    #[test]
    fn other_lines_are_json_too() {
        let line = json(Level::ERROR, "a \"b\"\nc");
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&value["level"], &value["message"]), (&"ERROR".into(), &"a \"b\"\nc".into()));
        assert!(value["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
    }
}
