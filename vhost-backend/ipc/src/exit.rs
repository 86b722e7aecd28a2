//! How the programs end: one clear line on stderr, and an exit code that tells why.

use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

/// A bad argument, a bad file, or something that they name is missing.
pub const BAD_INPUT: u8 = 2;
/// Something failed while running.
pub const FAILED: u8 = 1;

/// Prints `program: error` and gives the exit code.
pub fn with(program: &str, code: u8, error: &dyn Display) -> ExitCode {
    // One line, whatever the error's text holds.
    let text = error.to_string();
    let text = text.trim().replace('\n', " ");
    eprintln!("{program}: {text}");
    ExitCode::from(code)
}

/// Reads the command line. A mistake in it is one line, too; `--help` and `--version` print.
pub fn parse<T: clap::Parser>(program: &str) -> Result<T, ExitCode> {
    parse_from(program, std::env::args_os())
}

/// Reads a command line that isn't quite this process's.
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

/// What `RUST_LOG` has to name to see it: this library writes an error for each chain that a guest
/// gets wrong, and a guest would fill the log with them. What matters of them is logged by the device.
const GUESTS_CAN_FILL: &str = "virtio_queue=off";

/// Sends logs to stderr; `RUST_LOG` chooses what is shown.
pub fn start_logging() {
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter(std::env::var("RUST_LOG").ok().as_deref()))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}

fn filter(asked_for: Option<&str>) -> EnvFilter {
    let with = |asked_for: &str| EnvFilter::try_new(format!("{GUESTS_CAN_FILL},{asked_for}"));
    let asked_for = asked_for.filter(|text| !text.trim().is_empty());
    // Of two directives for one target the later holds.
    asked_for
        .and_then(|text| with(text).ok())
        .unwrap_or_else(|| EnvFilter::new(format!("{GUESTS_CAN_FILL},info")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_guests_can_fill_is_logged_only_where_it_is_named() {
        let says = |asked_for| filter(asked_for).to_string();
        for asked_for in [None, Some(""), Some("info"), Some("debug,hyper=off"), Some("=;")] {
            assert!(says(asked_for).contains("virtio_queue=off"), "{asked_for:?}");
        }
        let named = says(Some("info,virtio_queue=error"));
        assert!(named.contains("virtio_queue=error") && !named.contains("off"), "{named}");
    }
}
