//! vhost-device-cuda: the virtio-cuda device of one VM.

use std::os::fd::RawFd;
use std::process::ExitCode;

use clap::Parser;
use vhost_backend::config::{Config, DriverArgs, VmArgs};
use vhost_backend::{broker, device, exit, ipc};

const NAME: &str = "vhost-device-cuda";

/// Serves a virtio-cuda device to one VM on a vhost-user socket. For several VMs, see vcudad.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    #[command(flatten)]
    vm: VmArgs,
    #[command(flatten)]
    driver: DriverArgs,
}

/// How vcudad starts a VM's device process.
#[derive(Parser)]
struct Serve {
    #[arg(long)]
    serve: bool,
    #[arg(long)]
    broker_fd: RawFd,
}

fn main() -> ExitCode {
    exit::start_logging();
    if std::env::args().nth(1).as_deref() == Some("--serve") {
        let serve = Serve::parse();
        debug_assert!(serve.serve);
        let Ok(broker) = ipc::process::inherited(serve.broker_fd) else {
            return exit::with(NAME, exit::BAD_INPUT, &"--broker-fd names no open descriptor");
        };
        return match device::run(broker) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => exit::with(NAME, exit::FAILED, &error),
        };
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
