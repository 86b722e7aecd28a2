//! How the programs end: one clear line on stderr, and an exit code that tells why.

use std::fmt::Display;
use std::process::ExitCode;

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
    T::try_parse().map_err(|error| {
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

/// Sends logs to stderr; `RUST_LOG` chooses what is shown.
pub fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}
