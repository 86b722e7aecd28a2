//! The licenses of third-party crates, as text.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;

use super::crates::Crate;

const APACHE: &str = include_str!("../../../LICENSE");
const MIT: &str = "\
Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the \"Software\"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
";
/// Beginnings of the names of files with licenses, in upper case.
const FILES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];
const RULE: &str = "--------------------------------------------------------------------------";

/// Returns a list of the crates that aren't ours, followed by all their licenses. A text that
/// several crates share appears only once.
pub(super) fn text(crates: &BTreeMap<String, Crate>) -> Result<String, Box<dyn Error>> {
    let mut text = "This package contains code of the following Rust crates, and of the Rust \
                    standard library\n(rust-standard-library.html). The texts of their licenses \
                    follow.\n\n"
        .to_owned();
    let mut uses: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (id, one) in crates.iter().filter(|(_, one)| one.checksum.is_some()) {
        writeln!(text, "{id}: {}", one.license)?;
        for license in licenses(one)? {
            uses.entry(license).or_default().push(id);
        }
    }
    let mut uses: Vec<_> = uses.into_iter().collect();
    uses.sort_by(|(_, a), (_, b)| a.cmp(b));
    for (license, ids) in uses {
        write!(text, "\n{RULE}\n{}:\n\n{license}", ids.join(", "))?;
    }
    Ok(text)
}

/// Returns the text of each license file in a crate. If it has none, returns the text of one of the
/// licenses that it names.
fn licenses(one: &Crate) -> Result<Vec<String>, Box<dyn Error>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(&one.folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if FILES.iter().any(|file| name.starts_with(file)) && entry.file_type()?.is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"))?;
        texts.push(tidy(&text));
    }
    if texts.is_empty() {
        texts.push(standard(one).ok_or_else(|| {
            format!(
                "{} {} has no license file, and no text for {} is known",
                one.name, one.version, one.license
            )
        })?);
    }
    Ok(texts)
}

/// Returns the standard text of a crate's license.
fn standard(one: &Crate) -> Option<String> {
    let mut choices = one.license.split(" OR ");
    if choices.clone().any(|choice| choice == "Apache-2.0") {
        return Some(tidy(APACHE));
    }
    let authors = one.authors.join(", ");
    let authors = if authors.is_empty() { format!("the authors of {}", one.name) } else { authors };
    choices.any(|choice| choice == "MIT").then(|| format!("Copyright (c) {authors}\n\n{MIT}"))
}

/// Removes differences that don't matter: blanks at the ends of lines, and empty lines at the start
/// and the end.
fn tidy(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(folder: &std::path::Path, license: &str, checksum: Option<&str>) -> Crate {
        Crate {
            name: "one".into(),
            version: "1.0.0".into(),
            license: license.into(),
            authors: vec!["Ada".into()],
            repository: None,
            folder: folder.to_owned(),
            checksum: checksum.map(str::to_owned),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn the_same_text_appears_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("LICENSE-MIT"), "be nice  \r\n\n").unwrap();
        let crates = [("a 1", Some("12")), ("b 1", Some("34")), ("ours 1", None)];
        let crates = crates.map(|(id, sum)| (id.to_owned(), of(folder.path(), "MIT", sum)));
        let text = text(&crates.into()).unwrap();
        assert!(text.ends_with("\na 1, b 1:\n\nbe nice\n"), "{text}");
        assert!(!text.contains("ours"), "{text}");
    }

    #[test]
    fn a_crate_without_a_file_gets_the_standard_text() {
        let folder = tempfile::tempdir().unwrap();
        let texts = |license| licenses(&of(folder.path(), license, None));
        assert!(texts("MIT").unwrap()[0].starts_with("Copyright (c) Ada\n\nPermission is"));
        assert!(texts("BSD-3-Clause OR Apache-2.0").unwrap()[0].contains("Apache License"));
        assert!(texts("ISC").is_err());
    }
}
