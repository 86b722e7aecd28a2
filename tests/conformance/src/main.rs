//! Checks that a `libcuda.so.1` behaves as the CUDA manual says. It uses the C interface alone, so
//! the same cases run on softgpu, through the device, and on NVIDIA's library, and must print the
//! same output everywhere.
//!
//! ```text
//! cuda-conformance [OPTION…] [NAME…]   runs the cases whose names begin with a NAME, or all
//! cuda-conformance --list              prints the names of the cases
//! cuda-conformance --ended [KIND…]     observes calls on objects whose owner has ended
//! cuda-conformance --arguments [KIND…] observes calls with null pointers and unknown flags
//! cuda-conformance --pointer-attributes [KIND…] observes the attributes of pointers
//! cuda-conformance --host-flags [KIND…] observes the flags of host memory
//! cuda-conformance --bad-images [KIND…] observes calls that load or link damaged images
//! cuda-conformance --graph-nodes [KIND…] observes parameters that nodes of graphs can't have
//! cuda-conformance --visible-devices   observes which devices values of CUDA_VISIBLE_DEVICES select
//! ```
//!
//! The library is the `libcuda.so.1` that the loader finds. Each case runs in a process of its own,
//! and twice: with the legacy default stream, and with per-thread default streams (the `_ptds` and
//! `_ptsz` variants of entry points). `--legacy` and `--per-thread` run the cases in one of these
//! ways only.
//!
//! Prints one line per case, after the lines that the case itself prints. `--calls FILE` writes the
//! entry points that the cases called: the name, and how many cases saw it succeed and fail. The
//! exit status is 0 if all cases passed.

// `cu!` evaluates its arguments inside its unsafe block, so a case could contain unsafe code
// without an unsafe block. No case does.
#![allow(clippy::macro_metavars_in_unsafe)]

mod arguments;
mod bad_images;
mod case;
mod cases;
mod cuda;
mod ended;
mod file;
mod free_memory;
mod graph_nodes;
mod host_flags;
mod images;
mod kernels;
mod peer;
mod pointer_attributes;
mod runner;
mod synchrony;
mod table;
mod visible_devices;

use cuda::{LEGACY, PER_THREAD};
use runner::{RUN_ONE, Selection};
use std::process::ExitCode;

/// All tables. They contain the outcomes of calls on NVIDIA's library.
const TABLES: [&table::Table; 7] = [
    &ended::TABLE,
    &arguments::TABLE,
    &pointer_attributes::TABLE,
    &visible_devices::TABLE,
    &host_flags::TABLE,
    &bad_images::TABLE,
    &graph_nodes::TABLE,
];

fn main() -> ExitCode {
    let mut selection = Selection::default();
    let mut run_one = false;
    let mut words = std::env::args().skip(1);
    while let Some(argument) = words.next() {
        for table in TABLES {
            let default_stream = selection.default_streams[0];
            if let Some(code) = table.option(&argument, &mut words, default_stream) {
                return code;
            }
        }
        match argument.as_str() {
            "--list" => {
                cases::all().for_each(|case| println!("{}", case.name()));
                return ExitCode::SUCCESS;
            }
            visible_devices::LIST => return visible_devices::list(),
            RUN_ONE => run_one = true,
            peer::OPTION => return peer::run(cases::roles(), words.next().as_deref()),
            LEGACY => selection.default_streams = vec![cuda::DefaultStream::Legacy],
            PER_THREAD => selection.default_streams = vec![cuda::DefaultStream::PerThread],
            "--calls" => {
                selection.calls = words.next();
                if selection.calls.is_none() {
                    eprintln!("cuda-conformance: --calls needs a file");
                    return ExitCode::from(2);
                }
            }
            option if option.starts_with('-') => {
                eprintln!(
                    "cuda-conformance: unknown option {option}; known are --calls, --legacy, \
                     --list, and --per-thread"
                );
                return ExitCode::from(2);
            }
            _ => selection.prefixes.push(argument),
        }
    }
    if run_one { runner::run_one(&selection) } else { runner::run(&selection) }
}
