//! The supervisor process, which performs the driver operations of all workers. vcudad starts it.

use std::os::fd::RawFd;
use std::process::ExitCode;

use clap::Parser;
use host_ipc::{exit, logging, process};

const NAME: &str = "vhost-cuda-supervisor";
/// Number of descriptors for which this process prepares. It needs about four per worker.
const DESCRIPTORS: u32 = 1 << 16;

/// Perform the driver operations that workers may perform. vcudad starts this program; don't run it
/// yourself.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    /// Descriptor of the socket to the broker
    #[arg(long, value_name = "N")]
    broker_fd: RawFd,
}

fn main() -> ExitCode {
    let args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    if let Err(code) = logging::start(NAME) {
        return code;
    }
    process::reserve_descriptors(DESCRIPTORS);
    let Ok(broker) = process::inherited(args.broker_fd) else {
        return exit::with(NAME, exit::BAD_INPUT, &"--broker-fd is not an open descriptor");
    };
    match vhost_cuda_supervisor::run(broker) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}
