//! Colors for output on a terminal.

use std::io::{self, IsTerminal};

/// Returns whether output on standard output should have colors. That requires a terminal that can
/// show colors. The environment variable NO_COLOR (<https://no-color.org>) turns colors off.
pub(crate) fn is_wanted() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Returns text with the terminal codes for red, if `wanted`.
pub(crate) fn red(text: String, wanted: bool) -> String {
    match wanted {
        true => format!("\x1b[31m{text}\x1b[0m"),
        false => text,
    }
}
