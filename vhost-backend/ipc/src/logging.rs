//! Logs: their filter, their format, and the priorities for the journal.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, Layer};

pub use crate::log_limit::FORWARDED;
use crate::log_limit::LogLimit;
pub use crate::log_queue::LogGuard;
use crate::log_queue::{self, LogWriter};

/// The environment variable with the filter of a program whose command line contains none.
const VARIABLE: &str = "RUST_LOG";
/// The filter without `--log-level` and `RUST_LOG`.
const DEFAULT: &str = "info";
/// The log filter that turns off virtio_queue's logs unless the operator names that crate.
/// virtio_queue logs an error for each malformed descriptor chain, so a guest could fill the log.
/// The device process itself logs the important errors.
const GUESTS_CAN_FILL: &str = "virtio_queue=off";

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// Arguments about the broker's log.
#[derive(Args, Clone, Debug)]
pub struct LogArgs {
    /// Log level: off, error, warn, info, debug, or trace; or comma-separated TARGET=LEVEL
    /// [default: RUST_LOG, or info]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub log_level: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "text|json", hide_possible_values = true, default_value = "text")]
    pub log_format: LogFormat,
}

fn level(text: &str) -> Result<String, String> {
    filter(Some(text)).map(|_| text.to_owned())
}

/// The format of the process's lines. Not set before the log has been started.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();
/// The filter from this process's command line.
static LEVEL: OnceLock<String> = OnceLock::new();

/// Sends logs to stderr, filtered by `RUST_LOG`. Of many similar lines, only some are logged. The
/// lines have no time, because stderr leads to the broker, which adds it. If the filter is invalid,
/// prints an error and returns the exit status.
pub fn start(program: &str) -> Result<(), ExitCode> {
    let filter = filter_of_environment().map_err(|error| refuse(program, &error))?;
    let lines = tracing_subscriber::fmt::layer().with_writer(Lines).with_ansi(false);
    let limit = LogLimit::new(report_omitted);
    let lines = lines.without_time().with_filter(limit);
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    Ok(())
}

/// Sends the broker's logs to stderr as [`start`] does, but with the time, and on a thread of their
/// own, so that nothing waits if stderr isn't read. Panics are logged the same way. Dropping the
/// guard at the end of the program writes the last lines.
pub fn start_broker(program: &str, args: &LogArgs) -> Result<LogGuard, ExitCode> {
    let filter = filter_of(args).map_err(|error| refuse(program, &error))?;
    if let Some(level) = &args.log_level {
        let _ = LEVEL.set(level.clone());
    }
    let _ = FORMAT.set(args.log_format);
    let guard = log_queue::start();
    let lines = tracing_subscriber::fmt::layer().with_writer(Lines).with_ansi(false);
    let lines = match args.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let lines = lines.with_filter(LogLimit::new(report_omitted));
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name").to_owned();
        let backtrace = Backtrace::capture();
        let mut text = format!("thread {name} {panic}");
        if backtrace.status() == BacktraceStatus::Captured {
            text += &format!("\n{backtrace}");
        }
        write(Level::ERROR, &text);
    }));
    Ok(guard)
}

/// Checks what [`start_broker`] would refuse, without starting the log.
pub fn check(program: &str, args: &LogArgs) -> Result<(), ExitCode> {
    filter_of(args).map(drop).map_err(|error| refuse(program, &error))
}

/// Returns the environment variables that give child processes the filter from this process's
/// command line, if it has one.
pub fn child_environment() -> Option<(&'static str, &'static str)> {
    LEVEL.get().map(|level| (VARIABLE, level.as_str()))
}

/// Writes a line that doesn't come from `tracing`, and isn't filtered.
pub(crate) fn write(level: Level, text: &str) {
    let _ = LogWriter.write_all(&line(level, text));
}

/// Returns a line that doesn't come from `tracing`, in the format of the log.
pub(crate) fn line(level: Level, text: &str) -> Vec<u8> {
    let line = match FORMAT.get() {
        Some(LogFormat::Json) => json(level, text),
        _ => format!("{text}\n"),
    };
    match is_journal() {
        true => prefixed(priority(level), line.as_bytes()),
        false => line.into_bytes(),
    }
}

fn report_omitted(count: u64) {
    write(Level::WARN, &format!("{count} lines like the next one were omitted"));
}

/// Returns a line like those of tracing's JSON format.
fn json(level: Level, message: &str) -> String {
    let mut timestamp = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let level = level.to_string();
    let line = serde_json::json!({"timestamp": timestamp, "level": level, "message": message});
    format!("{line}\n")
}

fn refuse(program: &str, error: &str) -> ExitCode {
    let text = format!("{VARIABLE}: {error}");
    crate::exit::with(program, crate::exit::BAD_INPUT, &text)
}

fn filter_of(args: &LogArgs) -> Result<EnvFilter, String> {
    match &args.log_level {
        Some(level) => filter(Some(level)),
        None => filter_of_environment(),
    }
}

fn filter_of_environment() -> Result<EnvFilter, String> {
    match std::env::var(VARIABLE) {
        Ok(text) => filter(Some(&text)),
        Err(std::env::VarError::NotPresent) => filter(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a filter. The parser takes a misspelled level for a target of which it logs everything,
/// so a target without a level is an error here.
fn filter(asked_for: Option<&str>) -> Result<EnvFilter, String> {
    let asked_for = asked_for.filter(|text| !text.trim().is_empty()).unwrap_or(DEFAULT);
    for word in asked_for.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if !word.contains(['=', '[', ']', '{', '}']) && word.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "'{word}' is not a level: use off, error, warn, info, debug, or trace; or \
                 TARGET=LEVEL, such as {word}=trace"
            ));
        }
    }
    // If two directives have the same target, the later one takes effect.
    let text = format!("{GUESTS_CAN_FILL},{FORWARDED}=trace,{asked_for}");
    EnvFilter::try_new(text).map_err(|error| {
        format!(
            "'{asked_for}' is not a log filter ({error}): use off, error, warn, info, debug, or \
             trace; or TARGET=LEVEL, separated by commas"
        )
    })
}

/// Returns true if stderr is connected to the journal, which understands priorities.
fn is_journal() -> bool {
    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stderr = io::stderr().as_fd().try_clone_to_owned().map(File::from);
        let stderr = stderr.and_then(|file| file.metadata());
        stderr.is_ok_and(|file| is_stream(&stream, file.dev(), file.ino()))
    })
}

/// Returns true if systemd's `JOURNAL_STREAM`, `DEVICE:INODE`, means this file. A program that was
/// started with another stderr may have inherited the variable.
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

/// Creates writers for lines from `tracing`.
struct Lines;

impl MakeWriter<'_> for Lines {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line(None)
    }

    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Line {
        Line(is_journal().then(|| *metadata.level()))
    }
}

/// Writes one message, with a priority if there is a level. Each call of `write` must pass the
/// whole message.
struct Line(Option<Level>);

impl Write for Line {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        match self.0 {
            Some(level) => LogWriter.write_all(&prefixed(priority(level), message))?,
            None => LogWriter.write_all(message)?,
        }
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts a prefix before each line, because the journal stores each as an entry of its own.
fn prefixed(prefix: &str, message: &[u8]) -> Vec<u8> {
    let lines = message.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [prefix.as_bytes(), line].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_guests_can_fill_are_off_unless_named() {
        let says = |asked_for| filter(asked_for).unwrap().to_string();
        for asked_for in [None, Some(""), Some("info"), Some("debug,hyper=off")] {
            assert!(says(asked_for).contains("virtio_queue=off"), "{asked_for:?}");
        }
        let named = says(Some("info,virtio_queue=error"));
        assert!(named.contains("virtio_queue=error") && !named.contains("off"), "{named}");
        assert!(named.contains("vcudad::child=trace"), "{named}");
    }

    #[test]
    fn wrong_filters_are_refused() {
        for text in ["inof", "info,vcudad", "vcudad=loud", "=;", "vcudad[=info", "6"] {
            let error = filter(Some(text)).unwrap_err();
            assert!(error.contains("TARGET=LEVEL"), "{text}: {error}");
        }
        for text in ["WARN", "off", "warn,vcudad::compute=trace", "vcudad[{a=1}]=debug"] {
            filter(Some(text)).unwrap();
        }
    }

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
