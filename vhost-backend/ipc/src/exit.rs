//! Exit statuses, error messages, and command-line parsing.

use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;

use tracing::Level;

use crate::log_queue;

/// Exit status if an argument or a configuration file is invalid, or refers to something that
/// doesn't exist.
pub const BAD_INPUT: u8 = 2;
/// Exit status if the program failed while it was running.
pub const FAILED: u8 = 1;
/// Exit status of a worker that probes a driver library in the jail, if the host lacks what a jail
/// needs.
pub const NO_JAIL: u8 = 3;
/// Exit status of a worker that probes a driver library, if the library doesn't work.
pub const NO_DRIVER: u8 = 4;

/// Prints `program: error` to stderr and returns the exit status. The message is always on one
/// line, even if the error's text isn't.
pub fn with(program: &str, code: u8, error: &dyn Display) -> ExitCode {
    let text = error.to_string();
    let text = text.trim().replace('\n', " ");
    log_queue::write(Level::ERROR, &format!("{program}: {text}"));
    ExitCode::from(code)
}

/// Parses this process's command line. If that fails, or if `--help` or `--version` was given,
/// prints the message and returns the exit status. Errors are printed on one line.
pub fn parse<T: clap::Parser>(program: &str) -> Result<T, ExitCode> {
    parse_from(program, std::env::args_os())
}

/// Does the same as [`parse`] for the given command line.
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
