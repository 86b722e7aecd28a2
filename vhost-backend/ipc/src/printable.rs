//! Makes text from other processes safe for the log, for events, and for reports.

/// Maximum number of characters of a reason, a name, or a similar text.
const MAX: usize = 300;

/// Escapes the special characters in text from another process, and shortens the text to a few
/// hundred characters.
pub fn printable(text: &str) -> String {
    printable_to(text, MAX)
}

/// Does the same as [`printable`], for at most `max` characters of the text. Doesn't escape
/// quotation marks and backslashes.
pub fn printable_to(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    let mut chars = text.chars();
    for c in chars.by_ref().take(max) {
        match c {
            '"' | '\'' | '\\' => line.push(c),
            c => line.extend(c.escape_debug()),
        }
    }
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_escaped() {
        assert_eq!(printable("a\nERROR b\x1b[31m"), "a\\nERROR b\\u{1b}[31m");
        assert_eq!(printable("\u{202e}\u{2028}\0 \"é\""), "\\u{202e}\\u{2028}\\0 \"é\"");
        assert!(printable(&"x".repeat(1000)).chars().count() < 310);
    }
}
