//! Attacks most of the VMs of a host at random. Checks that nothing is leaked, and that the other
//! VMs aren't affected. tests/chaos.sh runs it.
//!
//! Of 50 VMs, 42 are attacked: their programs, workers, and device processes are killed, hostile
//! programs flood their devices, their settings change, and they are removed and added again. One
//! seed determines the sequence of actions. At all times, the figures of the control API must
//! account for all device memory, and the programs of the other 8 VMs must pass. At the end, no
//! memory, process, descriptor, thread, or file may be left over.

mod api;
mod attacker;
mod bystanders;
mod finish;
mod flood;
mod ledger;
mod options;
mod plan;
mod processes;
mod programs;
mod run;
mod settle;
mod summary;
mod watch;
mod world;

use std::path::Path;
use std::process::ExitCode;

use flood::Flood;
use options::Options;

const USAGE: &str = "usage: chaos --seconds N --seed S --out DIR";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [command, kind, socket, seed, seconds] = args.as_slice()
        && command == "flood"
        && let (Some(kind), Ok(seed), Ok(seconds)) =
            (Flood::parse(kind), seed.parse(), seconds.parse())
    {
        kind.run(Path::new(socket), seed, seconds);
        return ExitCode::SUCCESS;
    }
    let Some(options) = Options::parse(&args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if run::run(&options) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
