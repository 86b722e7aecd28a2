//! The project's developer tasks: code generation and checks.

mod boundaries;
mod codegen;
mod cycles;
mod png;

use std::process::ExitCode;

const USAGE: &str =
    "usage: cargo xtask codegen [--check] | cycles [--edges] | boundaries | png PPM PNG";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["codegen"] => codegen::run(false),
        ["codegen", "--check"] => codegen::run(true),
        ["cycles"] => cycles::run(false),
        ["cycles", "--edges"] => cycles::run(true),
        ["boundaries"] => boundaries::run(),
        ["png", ppm, png] => png::convert(ppm.as_ref(), png.as_ref()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
