//! Starts the log: its arguments and its filter.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Args;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, Layer};

pub use crate::log_limit::FORWARDED;
use crate::log_limit::LogLimit;
pub use crate::log_line::LogFormat;
use crate::log_line::{self, is_journal, with_priority};
pub use crate::log_queue::LogGuard;
use crate::log_queue::{self, LogWriter};

/// The environment variable with the filter for a program without `--log-level` on its command
/// line.
const VARIABLE: &str = "RUST_LOG";
/// The filter without `--log-level` and `RUST_LOG`.
const DEFAULT: &str = "info";
/// The log filter that turns off virtio_queue's logs unless the operator names that crate.
/// virtio_queue logs an error for each malformed descriptor chain, so a guest could fill the log.
/// The device process itself logs the important errors.
const GUESTS_CAN_FILL: &str = "virtio_queue=off";

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

/// Sends the broker's logs to stderr as [`start`] does, but with the time, and on a separate
/// thread, so that the broker doesn't wait if nobody reads stderr. Panics are logged the same way.
/// Dropping the guard at the end of the program writes the last lines.
pub fn start_broker(program: &str, args: &LogArgs) -> Result<LogGuard, ExitCode> {
    let filter = filter_of(args).map_err(|error| refuse(program, &error))?;
    if let Some(level) = &args.log_level {
        let _ = LEVEL.set(level.clone());
    }
    log_line::set_format(args.log_format);
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
        log_queue::write(Level::ERROR, &text);
    }));
    Ok(guard)
}

/// Checks what [`start_broker`] would refuse, without starting the log.
pub fn check(program: &str, args: &LogArgs) -> Result<(), ExitCode> {
    filter_of(args).map(drop).map_err(|error| refuse(program, &error))
}

/// Returns the environment variable (name and value) that passes the filter from this process's
/// command line to child processes. Returns `None` if the command line has no filter.
pub fn child_environment() -> Option<(&'static str, &'static str)> {
    LEVEL.get().map(|level| (VARIABLE, level.as_str()))
}

fn report_omitted(count: u64) {
    log_queue::write(Level::WARN, &format!("{count} lines like the next one were omitted"));
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

/// Parses a filter. tracing's parser would take a misspelled level for a target, and enable all of
/// that target's lines. So this function rejects a target without a level.
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
    // If two directives have the same target, the later one takes effect, so the operator's
    // directives come last.
    let text = format!("{GUESTS_CAN_FILL},{FORWARDED}=trace,{asked_for}");
    EnvFilter::try_new(text).map_err(|error| {
        format!(
            "'{asked_for}' is not a log filter ({error}): use off, error, warn, info, debug, or \
             trace; or TARGET=LEVEL, separated by commas"
        )
    })
}

/// Creates a [`Line`] for each line that is logged through `tracing`.
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

/// Writes one message, with the journal's prefix for the priority if there is a level. Each call of
/// `write` must pass the whole message.
struct Line(Option<Level>);

impl Write for Line {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        match self.0 {
            Some(level) => LogWriter.write_all(&with_priority(level, message))?,
            None => LogWriter.write_all(message)?,
        }
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
}
