//! Exit statuses, error messages, command-line parsing, and logging.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

pub use crate::log_limit::FORWARDED;
use crate::log_limit::LogLimit;
use crate::log_queue::{self, LogGuard, LogWriter};

/// Exit status if an argument or a configuration file is invalid, or refers to something that
/// doesn't exist.
pub const BAD_INPUT: u8 = 2;
/// Exit status if the program failed while it was running.
pub const FAILED: u8 = 1;

/// Prints `program: error` to stderr and returns the exit status. The message is always on one
/// line, even if the error's text isn't.
pub fn with(program: &str, code: u8, error: &dyn Display) -> ExitCode {
    let text = error.to_string();
    let text = text.trim().replace('\n', " ");
    let _ = LogWriter.write_all(format!("{program}: {text}\n").as_bytes());
    ExitCode::from(code)
}

/// Parses this process's command line. If that fails, or if `--help` or `--version` was given,
/// prints the message and returns the exit status. Errors are printed on one line.
pub fn parse<T: clap::Parser>(program: &str) -> Result<T, ExitCode> {
    parse_from(program, std::env::args_os())
}

/// Like [`parse`], for the given command line.
pub fn parse_from<T: clap::Parser>(
    program: &str,
    args: impl Iterator<Item = OsString>,
) -> Result<T, ExitCode> {
    T::try_parse_from(args).map_err(|error| {
        if error.use_stderr() {
            let text = error.render().to_string();
            let what = text.split("\n\n").next().unwrap_or_default();
            let what = what.strip_prefix("error: ").unwrap_or(what).replace("\n  ", " ");
            with(program, BAD_INPUT, &format!("{what} (see --help)"))
        } else {
            let _ = error.print();
            ExitCode::SUCCESS
        }
    })
}

/// The log filter that turns off virtio_queue's logs unless `RUST_LOG` names that crate.
/// virtio_queue logs an error for each malformed descriptor chain, so a guest could fill the log.
/// The device process itself logs the important errors.
const GUESTS_CAN_FILL: &str = "virtio_queue=off";

/// Sends logs to stderr, filtered by `RUST_LOG`. Of many similar lines, only some are logged. The
/// lines have no time, because stderr leads to the broker, which adds it.
pub fn start_logging() {
    let lines = tracing_subscriber::fmt::layer().with_writer(|| LogWriter).with_ansi(false);
    let _ = tracing_subscriber::registry()
        .with(filter(std::env::var("RUST_LOG").ok().as_deref()))
        .with(lines.without_time().with_filter(LogLimit::new(|| LogWriter)))
        .try_init();
}

/// Sends the broker's logs to stderr as [`start_logging`] does, but with the time, and on a thread
/// of their own, so that nothing waits if stderr isn't read. Panics are logged the same way.
/// Dropping the guard at the end of the program writes the last lines.
pub fn start_broker_logging() -> LogGuard {
    let guard = log_queue::start();
    let lines = tracing_subscriber::fmt::layer().with_writer(|| LogWriter).with_ansi(false);
    let _ = tracing_subscriber::registry()
        .with(filter(std::env::var("RUST_LOG").ok().as_deref()))
        .with(lines.with_filter(LogLimit::new(|| LogWriter)))
        .try_init();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name").to_owned();
        let backtrace = Backtrace::capture();
        let mut text = format!("thread {name} {panic}\n");
        if backtrace.status() == BacktraceStatus::Captured {
            text += &backtrace.to_string();
        }
        let _ = LogWriter.write_all(text.as_bytes());
    }));
    guard
}

fn filter(asked_for: Option<&str>) -> EnvFilter {
    let always = format!("{GUESTS_CAN_FILL},{FORWARDED}=trace");
    let with = |asked_for: &str| EnvFilter::try_new(format!("{always},{asked_for}"));
    let asked_for = asked_for.filter(|text| !text.trim().is_empty());
    // If two directives have the same target, the later one takes effect.
    asked_for
        .and_then(|text| with(text).ok())
        .unwrap_or_else(|| EnvFilter::new(format!("{always},info")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_guests_can_fill_are_off_unless_named() {
        let says = |asked_for| filter(asked_for).to_string();
        for asked_for in [None, Some(""), Some("info"), Some("debug,hyper=off"), Some("=;")] {
            assert!(says(asked_for).contains("virtio_queue=off"), "{asked_for:?}");
        }
        let named = says(Some("info,virtio_queue=error"));
        assert!(named.contains("virtio_queue=error") && !named.contains("off"), "{named}");
        assert!(named.contains("vcudad::child=trace"), "{named}");
    }
}
