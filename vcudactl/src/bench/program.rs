//! The measuring program. It runs in a process of its own, so that a crash or a hang of the library only
//! fails a row. It reports its progress on standard output.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use super::gpu::Gpu;
use super::measures::play;
use super::outcome::Outcome;
use super::table::measurements;
use crate::cli::{BenchProgramArgs, NAME, Role};
use crate::cuda::Failed;

/// Runs the program.
pub(crate) fn main(args: &BenchProgramArgs) -> ExitCode {
    // This becomes the session's name, which would otherwise be that of /proc/self/exe.
    let _ = std::fs::write("/proc/self/comm", NAME);
    if args.role != Role::Measure {
        return match play(args.role, &args.library, args.quick) {
            Ok(()) => ExitCode::SUCCESS,
            Err((_, text)) => {
                eprintln!("{NAME}: {text}");
                ExitCode::FAILURE
            }
        };
    }
    if let Err((_, text)) = measure(&args.library, args.quick, &args.names) {
        report(&Outcome::NoGpu(text));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn report(outcome: &Outcome) {
    let text = serde_json::to_string(outcome).unwrap_or_default();
    // If nothing reads the output, exit.
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn measure(library: &Path, quick: bool, names: &[String]) -> Result<(), Failed> {
    let gpu = Gpu::open(library, quick)?;
    let (name, version) = gpu.names()?;
    report(&Outcome::Ready(name, version));
    for measurement in measurements() {
        if !names.contains(&measurement.name) {
            continue;
        }
        report(&Outcome::Began(measurement.name.clone()));
        match (measurement.measure)(&gpu) {
            Ok(values) => report(&Outcome::Done(measurement.name, values)),
            // The context may be unusable.
            Err((_, text)) => {
                report(&Outcome::Failed(measurement.name, text));
                break;
            }
        }
    }
    Ok(())
}
