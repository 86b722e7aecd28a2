//! Generates the guest's and the worker's code from `protocol/api.table`, and the coverage report.
//!
//! | module | contents |
//! |---|---|
//! | `model` | the parsed table |
//! | `parse`, `prototype` | parse the table and check it against cuda.h's prototypes |
//! | `numbers` | checks the table's list of numbers |
//! | `types` | the Rust types for the table's types, and code that encodes and decodes them |
//! | `ids`, `structs`, `protocol` | generate ids, structures and calls, for both sides |
//! | `guest`, `worker` | generate the guest's entry points and the worker's dispatch |
//! | `driver` | generates methods for the driver functions that the worker calls |
//! | `implemented` | lists the symbols that the libraries implement |
//! | `settings` | generates the table of VM settings in the documentation |
//! | `coverage` | generates the coverage report |

mod coverage;
mod driver;
mod guest;
mod ids;
mod implemented;
mod model;
mod numbers;
mod parse;
mod protocol;
mod prototype;
mod settings;
mod structs;
mod types;
mod worker;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the generated files, or with `check` compares them with the existing ones.
pub fn run(check: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let path = root.join("docs/configuration.md");
    let page = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let page =
        settings::generate(&page).ok_or("docs/configuration.md lacks the table's markers")?;
    write_or_compare(&path, &page, check)?;
    describe_cuda(root, check)?;
    let path = root.join("protocol/api.table");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let table = parse::parse(&text)
        .and_then(|table| numbers::check(&text, &table).map(|()| table))
        .map_err(|e| format!("{}: {e}", path.display()))?;
    let outputs: [(&str, String); 6] = [
        ("protocol/src/generated/ids.rs", ids::generate()),
        ("protocol/src/generated/structs.rs", structs::generate(&table)),
        ("protocol/src/generated/calls.rs", protocol::generate(&table)),
        ("guest-libcuda/src/entry/generated.rs", guest::generate(&table)),
        (
            "vhost-backend/vhost-cuda-worker/src/calls/generated/dispatch.rs",
            worker::generate(&table),
        ),
        ("vhost-backend/vhost-cuda-worker/src/driver/generated.rs", driver::generate(&table)),
    ];
    for (path, code) in outputs {
        write_or_compare(&root.join(path), &format(&code)?, check)?;
    }
    // List the implemented symbols only after writing the other files, because that builds the
    // libraries, which contain these files.
    let path = root.join("tests/gpu/calls.txt");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let measured =
        coverage::Measured::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let report = coverage::generate(&implemented::list(root)?, &measured, &table.entries);
    write_or_compare(&root.join("docs/coverage.md"), &report, check)
}

/// Writes a generated file, or with `check` compares it with the existing one.
fn write_or_compare(path: &Path, contents: &str, check: bool) -> Result<(), Box<dyn Error>> {
    // Don't touch an unchanged file, so that cargo doesn't recompile anything.
    if std::fs::read_to_string(path).unwrap_or_default() == contents {
        return Ok(());
    }
    if check {
        return Err(format!("{} is out of date: run `cargo xtask codegen`", path.display()).into());
    }
    Ok(std::fs::write(path, contents)?)
}

/// Generates cuda-api's description of CUDA from NVIDIA's headers.
fn describe_cuda(root: &Path, check: bool) -> Result<(), Box<dyn Error>> {
    let script = root.join("cuda-api/generate/run.sh");
    let status = Command::new(&script).args(check.then_some("--check")).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} failed: {status}", script.display()).into()),
    }
}

/// Formats generated code with the workspace's rustfmt settings.
fn format(code: &str) -> Result<String, Box<dyn Error>> {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../rustfmt.toml");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", config])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().expect("stdin is piped").write_all(code.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("rustfmt failed: the generated code is not valid Rust".into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
