//! vcudad for a single VM, configured by command-line arguments. If vhost-device-cuda wasn't
//! started by a broker, it executes vcudad in this mode.

use std::process::ExitCode;

use clap::Parser;
use host_ipc::exit;
use host_ipc::logging::{self, LogArgs};
use vcudad::config::{Config, DriverArgs, VmArgs};

/// Name of the program that the operator started.
const NAME: &str = "vhost-device-cuda";

const CAPABILITIES_HELP: &str =
    "--print-capabilities prints the backend's type and capabilities as JSON, and exits.";

/// Serve a virtio-cuda device to one VM on a vhost-user socket. For several VMs, use vcudad.
#[derive(Parser)]
#[command(name = NAME, version, after_help = CAPABILITIES_HELP)]
struct Args {
    #[command(flatten)]
    vm: VmArgs,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    log: LogArgs,
}

pub fn main() -> ExitCode {
    let mut words = std::env::args_os();
    // Keep the name of the program, but skip the argument that selects this mode.
    let program = words.next();
    let words = program.into_iter().chain(words.skip(1));
    let args: Args = match exit::parse_from(NAME, words) {
        Ok(args) => args,
        Err(code) => return code,
    };
    let _log = match logging::start_broker(NAME, &args.log) {
        Ok(log) => log,
        Err(code) => return code,
    };
    let config = match Config::single(&args.vm, &args.driver) {
        Ok(config) => config,
        Err(error) => return exit::with(NAME, exit::BAD_INPUT, &error),
    };
    match vcudad::run_one(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, error.code(), &error),
    }
}
