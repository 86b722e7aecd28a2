//! Colors for the terminal.

use std::io::{self, IsTerminal};

/// Returns whether standard output should have colors: if it's a terminal that can show them, and
/// NO_COLOR (<https://no-color.org>) isn't set.
pub(crate) fn is_wanted() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Returns a text in red, if `wanted`.
pub(crate) fn red(text: String, wanted: bool) -> String {
    match wanted {
        true => format!("\x1b[31m{text}\x1b[0m"),
        false => text,
    }
}
