//! How generated code is written.

use std::error::Error;
use std::io::Write;
use std::process::{Command, Stdio};

/// The first line of each generated file.
pub const HEAD: &str = "// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.\n\n";

/// Formats code as the rest of the workspace is formatted.
pub fn format(code: &str) -> Result<String, Box<dyn Error>> {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rustfmt.toml");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", config])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().expect("stdin is piped").write_all(code.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("rustfmt refused the generated code".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A type as text, without the spaces that token streams print.
pub fn type_text(ty: &impl quote::ToTokens) -> String {
    let text = ty.to_token_stream().to_string();
    let mut out = String::new();
    for (index, c) in text.char_indices() {
        let (before, after) = (&text[..index], &text[index + c.len_utf8()..]);
        let needed = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let keep = needed(before.chars().next_back()) && needed(after.chars().next())
            || before.ends_with([',', ';', ':', '>'])
                && !before.ends_with("::")
                && !after.starts_with("::")
            || after.starts_with("->")
            || after.starts_with('*') && !before.ends_with(['<', '(', '['])
            || before.ends_with('"')
            || after.starts_with('"');
        if c != ' ' || keep {
            out.push(c);
        }
    }
    out.replace(" ,", ",").replace(",)", ")")
}
