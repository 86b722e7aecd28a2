//! Checks that a `libcuda.so.1` behaves as the CUDA manual says. It uses the C interface alone, so
//! the same cases run on softgpu, through the device, and on NVIDIA's library, and must print the
//! same output everywhere.
//!
//! ```text
//! cuda-conformance [--calls FILE] [NAME…]   runs the cases whose names begin with a NAME, or all
//! cuda-conformance --list                   prints the names of the cases
//! ```
//!
//! The library is the `libcuda.so.1` that the loader finds. Each case runs in a process of its own.
//! Prints one line per case, after the lines that the case itself prints. `--calls` writes the
//! entry points that the cases called: the name, and how many cases saw it succeed and fail. The
//! exit status is 0 if all cases passed.

// The arguments of `cu!` are evaluated inside its unsafe block. No case has unsafe code there.
#![allow(clippy::macro_metavars_in_unsafe)]

mod cases;
mod cuda;
mod images;
mod kernels;
mod runner;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut calls = None;
    match arguments.peek().map(String::as_str) {
        Some("--list") => {
            cases::all().for_each(|case| println!("{}", case.name()));
            return ExitCode::SUCCESS;
        }
        Some(runner::RUN_ONE) => return runner::run_one(arguments.nth(1).as_deref()),
        Some("--calls") => {
            calls = arguments.nth(1);
            if calls.is_none() {
                eprintln!("cuda-conformance: --calls needs a file");
                return ExitCode::from(2);
            }
        }
        _ => {}
    }
    let prefixes: Vec<_> = arguments.collect();
    if let Some(option) = prefixes.iter().find(|prefix| prefix.starts_with('-')) {
        eprintln!("cuda-conformance: unknown option {option}; known are --calls and --list");
        return ExitCode::from(2);
    }
    runner::run(&prefixes, calls.as_deref())
}
