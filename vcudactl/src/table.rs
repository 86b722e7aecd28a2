//! Text tables and number formatting.

use std::io::{self, Write};

use jiff::Timestamp;

use crate::color;

/// The side to which the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table. Each column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
    /// The row and the column of each cell that is red.
    alarms: Vec<(usize, usize)>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Side)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), alarms: Vec::new() }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| printable(&cell)).into());
    }

    /// Makes the cell of the last row in this column red.
    pub(crate) fn alarm(&mut self, column: &str) {
        let at = self.columns.iter().position(|(name, _)| *name == column);
        self.alarms.extend(self.rows.len().checked_sub(1).zip(at));
    }

    /// Adds columns at the right side of the table.
    pub(crate) fn widen(&mut self, columns: &[(&'static str, Side)]) {
        self.columns.extend_from_slice(columns);
    }

    /// Adds cells to the last row, for columns that were added with [`Self::widen`].
    pub(crate) fn widen_row<const N: usize>(&mut self, cells: [String; N]) {
        if let Some(row) = self.rows.last_mut() {
            row.extend(cells.map(|cell| printable(&cell)));
        }
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_with(color::is_wanted(), out)
    }

    fn print_with(&self, has_colors: bool, out: &mut impl Write) -> io::Result<()> {
        let heads = self.columns.iter().map(|column| column.0.to_owned()).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&heads).chain(&self.rows).collect();
        let width = |column: usize| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        for (number, line) in lines.into_iter().enumerate() {
            let mut text = String::new();
            let cells = line.iter().zip(&widths).zip(&self.columns).enumerate();
            for (column, ((cell, width), (_, side))) in cells {
                let padded = match side {
                    Side::Left => format!("{cell:<width$}  "),
                    Side::Right => format!("{cell:>width$}  "),
                };
                // The first line contains the column names, so the numbers of lines and rows differ
                // by one.
                let is_alarm =
                    number.checked_sub(1).is_some_and(|row| self.alarms.contains(&(row, column)));
                text.push_str(&color::red(padded, is_alarm && has_colors));
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// Replaces control characters, which could move the terminal's cursor, with `?`.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Formats a ratio as a percentage, such as `29.9%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Formats nanoseconds in a suitable unit: `1.5s`, `12ms`.
pub(crate) fn time(nanos: u64) -> String {
    match nanos {
        0 => "0".into(),
        1..1_000_000 => format!("{:.0}us", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0}ms", nanos as f64 / 1e6),
        1_000_000_000..60_000_000_000 => format!("{:.1}s", nanos as f64 / 1e9),
        _ => length(nanos / 1_000_000_000),
    }
}

/// Formats seconds as hours, minutes and seconds, preceded by any days: `1d 3:25:01`.
pub(crate) fn length(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let rest = format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    if days > 0 { format!("{days}d {rest}") } else { rest }
}

/// Formats milliseconds since 1970 as ISO 8601 in UTC, to the second.
pub(crate) fn timestamp(milliseconds: u64) -> String {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::MAX)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// Formats a count with three significant digits and a suffix: `12.3k`.
pub(crate) fn count(value: f64) -> String {
    let (value, name) = match value {
        value if value >= 999.5e6 => (value / 1e9, "G"),
        value if value >= 999.5e3 => (value / 1e6, "M"),
        value if value >= 999.5 => (value / 1e3, "k"),
        value => return format!("{value:.0}"),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_their_widest_cell() {
        let mut table = Table::new(&[("NAME", Side::Left), ("N", Side::Right)]);
        table.row(["a".into(), "1".into()]);
        table.row(["longer\u{1b}".into(), "100".into()]);
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME       N\na          1\nlonger?  100\n");
    }

    #[test]
    fn alarms_are_red_only_on_a_terminal() {
        let mut table = Table::new(&[("NAME", Side::Left), ("OK", Side::Left)]);
        table.row(["a".into(), "yes".into()]);
        table.row(["b".into(), "no".into()]);
        table.alarm("OK");
        for (has_colors, last) in [(true, "b     \x1b[31mno   \x1b[0m"), (false, "b     no")] {
            let mut out = Vec::new();
            table.print_with(has_colors, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, format!("NAME  OK\na     yes\n{last}\n"));
        }
    }

    #[test]
    fn numbers_are_short() {
        let cases =
            [(0.0, "0"), (999.4, "999"), (1234.0, "1.23k"), (99_960.0, "100k"), (2.5e6, "2.50M")];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        for (nanos, text) in
            [(0, "0"), (1500, "2us"), (12_000_000, "12ms"), (1_500_000_000, "1.5s")]
        {
            assert_eq!(time(nanos), text);
        }
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_999, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (u64::MAX, "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(timestamp(milliseconds), text);
        }
        assert_eq!(length(12_301), "3:25:01");
        assert_eq!(length(90_061), "1d 1:01:01");
    }
}
