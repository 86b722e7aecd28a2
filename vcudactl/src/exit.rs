//! Exit codes and failure reporting.

use std::process::ExitCode;

use crate::cli::NAME;

/// The user's request was wrong: a bad option, a value out of range, a VM that doesn't exist.
pub(crate) const BAD_INPUT: u8 = 2;
/// The request failed for another reason.
pub(crate) const FAILED: u8 = 1;

/// Reports a failure on a single line, even if `text` has several.
pub(crate) fn fail(code: u8, text: &str) -> ExitCode {
    eprintln!("{NAME}: {}", text.trim().replace('\n', " "));
    ExitCode::from(code)
}
