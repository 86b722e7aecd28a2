//! The measuring program. It runs in its own process, so that a crash or a hang of the library
//! makes only one row fail. It reports its progress on standard output.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use super::gpu::Gpu;
use super::measures::play;
use super::outcome::Outcome;
use super::table::measurements;
use crate::cli::{BenchProgramArgs, NAME, Role};
use crate::cuda::Failed;

/// Runs the measuring program.
pub(crate) fn main(args: &BenchProgramArgs) -> ExitCode {
    // The process's name becomes the session's name. By default, it would be that of
    // /proc/self/exe.
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
    // Ignore an error: if nothing reads the output any longer, no one needs the result.
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
            // Take no more measurements in this process, because the context may be unusable.
            Err((_, text)) => {
                report(&Outcome::Failed(measurement.name, text));
                break;
            }
        }
    }
    Ok(())
}
