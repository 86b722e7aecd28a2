//! Exit codes and failure reporting.

use std::process::ExitCode;

use serde_json::Value;

use crate::cli::NAME;
use crate::table::printable;

/// The user's request was wrong: a bad option, a value out of range, a VM that doesn't exist.
pub(crate) const BAD_INPUT: u8 = 2;
/// The request failed for another reason.
pub(crate) const FAILED: u8 = 1;

/// Prints an error or a warning on a single line of standard error, even if `text` has several.
pub(crate) fn report(text: &str) {
    eprintln!("{NAME}: {}", printable(&text.trim().replace('\n', " ")));
}

/// Prints an error or a warning as JSON on a single line of standard error.
pub(crate) fn report_json(value: &Value) {
    eprintln!("{value}");
}

/// Reports a failure, and returns the exit code.
pub(crate) fn fail(code: u8, text: &str) -> ExitCode {
    report(text);
    ExitCode::from(code)
}
