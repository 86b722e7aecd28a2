//! Generates cuda-api's description of CUDA from NVIDIA's headers, which `run.sh` downloads.

mod headers;
mod nvml;
mod output;
mod prototypes;
mod rename;
mod symbols;
mod types;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cuda-api-generate INCLUDE_DIR [--check]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [include] => run(include.as_ref(), false),
        [include, "--check"] => run(include.as_ref(), true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuda-api-generate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the generated files, or with `check` compares them with the committed ones.
fn run(include: &Path, check: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = cuda(include)?;
    files.extend(nvml::files(include)?);
    for (name, code) in files {
        let path: PathBuf = root.join(name);
        let code = output::format(&code)?;
        // Don't write an unchanged file, so that cargo doesn't recompile the crates that use it.
        if std::fs::read_to_string(&path).unwrap_or_default() == code {
            continue;
        }
        if check {
            return Err(
                format!("{} is out of date: run `cargo xtask codegen`", path.display()).into()
            );
        }
        std::fs::write(&path, code)?;
    }
    Ok(())
}

/// Returns the path and contents of each generated file that describes the driver API.
fn cuda(include: &Path) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let mut file = headers::cuda(include)?;
    rename::canonical(&mut file);
    let functions = prototypes::take(&mut file);
    let symbols = symbols::symbols(functions.keys())?;
    symbols::check(include, &symbols)?;
    let version = headers::cuda_version(include)?;
    let constants = headers::cast_constants(include)?;
    Ok(vec![
        ("cuda-api/src/generated/symbols.rs", symbols::code(&symbols, version)),
        ("cuda-api/src/generated/list.rs", symbols::list(&symbols)),
        ("cuda-api/src/generated/sys.rs", types::code(&file, &constants)?),
        ("cuda-api/src/generated/shapes.rs", types::shapes(&file)),
        ("cuda-api/src/generated/results.rs", types::results(&file)?),
        ("cuda-api/src/generated/errors.rs", types::errors(&file)?),
        ("cuda-api/src/generated/prototypes.rs", prototypes::aliases(&symbols, &functions)?),
        (
            "cuda-api/src/generated/description.rs",
            prototypes::data(&symbols, &functions)? + &types::data(&file),
        ),
    ])
}
