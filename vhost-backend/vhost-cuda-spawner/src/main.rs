//! The spawner process, which keeps the privileges of vcudad. vcudad starts it.

use std::os::fd::RawFd;
use std::process::ExitCode;

use clap::Parser;
use host_ipc::{exit, logging, process};
use vhost_cuda_spawner::{HOLD, START, hold, run, start};

const NAME: &str = "vhost-cuda-spawner";

/// Start the processes of VMs, and do what else needs privileges. vcudad starts this program; don't
/// run it yourself.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    /// Descriptor of the socket on which the broker sends requests
    #[arg(long, value_name = "N")]
    calls_fd: RawFd,
    /// Descriptor of the socket on which this process reports events
    #[arg(long, value_name = "N")]
    events_fd: RawFd,
}

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if first.as_ref().is_some_and(|arg| arg == HOLD) {
        return hold();
    }
    if first.is_some_and(|arg| arg == START) {
        return start();
    }
    let args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    if let Err(code) = logging::start(NAME) {
        return code;
    }
    let (Ok(calls), Ok(events)) =
        (process::inherited(args.calls_fd), process::inherited(args.events_fd))
    else {
        return exit::with(NAME, exit::BAD_INPUT, &"an argument is not an open descriptor");
    };
    match run(calls, events) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}
