//! The project's developer tasks: code generation, checks, and lists of third-party code.

mod boundaries;
mod codegen;
mod cycles;
mod third_party;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask codegen [--check] | cycles [--edges] | boundaries | \
                     third-party NAME TIMESTAMP DIR CRATE…";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["codegen"] => codegen::run(false),
        ["codegen", "--check"] => codegen::run(true),
        ["cycles"] => cycles::run(false),
        ["cycles", "--edges"] => cycles::run(true),
        ["boundaries"] => boundaries::run(),
        ["third-party", name, timestamp, out, roots @ ..] if !roots.is_empty() => {
            third_party::run(name, timestamp, out.as_ref(), roots)
        }
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
