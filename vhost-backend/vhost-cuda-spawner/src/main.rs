//! The spawner process, which keeps the privileges of vcudad. vcudad either starts it or connects
//! to it.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use host_ipc::{exit, logging, process};
use vhost_cuda_spawner::{HOLD, START, hold, listen, run, start};

const NAME: &str = "vhost-cuda-spawner";

/// Start the processes of VMs, and do what else needs privileges. Without --listen, vcudad starts
/// this program.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    /// Socket on which vcudad connects. The sessions then continue when vcudad is restarted
    #[arg(long, value_name = "PATH", conflicts_with_all = ["calls_fd", "events_fd"])]
    listen: Option<PathBuf>,
    /// With --listen: seconds without vcudad after which all sessions end
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    without_broker: u32,
    /// Descriptor of the socket on which the broker sends requests
    #[arg(long, value_name = "N", hide = true, required_unless_present = "listen")]
    calls_fd: Option<RawFd>,
    /// Descriptor of the socket on which this process reports events
    #[arg(long, value_name = "N", hide = true, required_unless_present = "listen")]
    events_fd: Option<RawFd>,
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
    let served = match (&args.listen, args.calls_fd, args.events_fd) {
        (Some(path), ..) => listen(path, Duration::from_secs(args.without_broker.into())),
        (None, Some(calls), Some(events)) => {
            match (process::inherited(calls), process::inherited(events)) {
                (Ok(calls), Ok(events)) => run(calls, events),
                _ => return refuse("an argument is not an open descriptor"),
            }
        }
        _ => return refuse("--listen is missing"),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}

fn refuse(reason: &str) -> ExitCode {
    exit::with(NAME, exit::BAD_INPUT, &reason)
}
