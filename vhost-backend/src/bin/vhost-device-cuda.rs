//! vhost-device-cuda: the virtio-cuda device of one VM.

use std::os::fd::RawFd;
use std::process::ExitCode;

use clap::Parser;
use vhost_backend::config::{Config, DriverArgs, VmArgs};
use vhost_backend::{broker, device, exit, ipc};

const NAME: &str = "vhost-device-cuda";

/// Management software asks every vhost-user backend for this, as QEMU's convention has it; all
/// other arguments are ignored then.
const PRINT_CAPABILITIES: &str = "--print-capabilities";
const CAPABILITIES: &str = r#"{"type": "cuda"}"#;
const CAPABILITIES_HELP: &str =
    "--print-capabilities prints what this backend is, as JSON, and ends.";

/// Serves a virtio-cuda device to one VM on a vhost-user socket. For several VMs, see vcudad.
#[derive(Parser)]
#[command(name = NAME, version, after_help = CAPABILITIES_HELP)]
struct Args {
    #[command(flatten)]
    vm: VmArgs,
    #[command(flatten)]
    driver: DriverArgs,
}

/// How vcudad starts a VM's device process.
#[derive(Parser)]
struct Serve {
    /// Always there; it tells this command line from the operator's.
    #[arg(long = "serve", required = true)]
    _serve: bool,
    #[arg(long)]
    broker_fd: RawFd,
}

fn main() -> ExitCode {
    exit::start_logging();
    if std::env::args().nth(1).as_deref() == Some("--serve") {
        let serve: Serve = match exit::parse(NAME) {
            Ok(serve) => serve,
            Err(code) => return code,
        };
        let Ok(broker) = ipc::process::inherited(serve.broker_fd) else {
            return exit::with(NAME, exit::BAD_INPUT, &"--broker-fd names no open descriptor");
        };
        return match device::run(broker) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => exit::with(NAME, exit::FAILED, &error),
        };
    }
    if std::env::args_os().any(|arg| arg == PRINT_CAPABILITIES) {
        println!("{CAPABILITIES}");
        return ExitCode::SUCCESS;
    }
    let args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    let config = match Config::single(&args.vm, &args.driver) {
        Ok(config) => config,
        Err(error) => return exit::with(NAME, exit::BAD_INPUT, &error),
    };
    // Alone, this process is the broker, and the device process is its child.
    match broker::run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, error.code(), &error),
    }
}
