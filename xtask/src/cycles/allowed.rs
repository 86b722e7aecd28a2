//! The number of modules per crate that may still be part of a cycle. The numbers may only shrink.

use std::collections::BTreeMap;
use std::path::Path;

/// Reads the allowed number of modules per crate from a file with lines `CRATE NUMBER`.
pub fn read(file: &Path) -> Result<BTreeMap<String, usize>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.parse().ok()?))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{}: each line must be CRATE NUMBER", file.display()))
}
