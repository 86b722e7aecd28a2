//! Exit codes, and the output of errors and warnings.

use std::process::ExitCode;

use serde_json::Value;

use crate::cli::NAME;
use crate::table::printable;

/// The exit code for an invalid request, such as a bad option, a value out of range, or a VM that
/// doesn't exist.
pub(crate) const BAD_INPUT: u8 = 2;
/// The exit code for a request that failed for another reason.
pub(crate) const FAILED: u8 = 1;

/// Prints an error or a warning on standard error. Joins several lines of `text` into one.
pub(crate) fn report(text: &str) {
    eprintln!("{NAME}: {}", printable(&text.trim().replace('\n', " ")));
}

/// Prints an error or a warning as JSON on a single line of standard error.
pub(crate) fn report_json(value: &Value) {
    eprintln!("{value}");
}

/// Prints an error, and returns the exit code.
pub(crate) fn fail(code: u8, text: &str) -> ExitCode {
    report(text);
    ExitCode::from(code)
}
