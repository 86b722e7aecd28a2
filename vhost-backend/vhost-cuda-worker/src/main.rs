//! The worker process, which executes the calls of one session. vcudad starts it.

use std::io::Write;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use host_ipc::{exit, logging, process};

const NAME: &str = "vhost-cuda-worker";

/// Execute the CUDA calls of one guest process. vcudad starts this program; don't run it yourself.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    /// Driver library to load (a libcuda.so.1)
    #[arg(long, value_name = "PATH")]
    driver_library: PathBuf,
    /// Only probe the library: print its path and its GPUs, or an error
    #[arg(long)]
    probe: bool,
    /// Accept a library whose kernels can access all memory of this process
    #[arg(long)]
    allow_pageable_memory_access: bool,
    /// Exit unless the driver uses an MPS daemon
    #[arg(long)]
    mps: bool,
    /// Create no context before the program creates one, because the VM has no memory for it
    #[arg(long)]
    no_context: bool,
    #[command(flatten)]
    jail: vhost_cuda_worker::Jail,
    /// Descriptor of the socket to the broker
    #[arg(long, value_name = "N", required_unless_present = "probe")]
    broker_fd: Option<RawFd>,
}

/// Ends the process without running exit handlers. The driver library's handlers might wait for a
/// thread that is stuck in the library.
fn end_probe() -> ! {
    let code = if std::io::stdout().flush().is_ok() { 0 } else { exit::FAILED };
    // SAFETY: _exit takes no pointers, and ends the process, including any thread that is still in
    // the driver library.
    unsafe { libc::_exit(code.into()) }
}

fn main() -> ExitCode {
    let args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    if let Err(code) = logging::start(NAME) {
        return code;
    }
    if args.probe {
        return match vhost_cuda_worker::probe(
            &args.driver_library,
            args.allow_pageable_memory_access,
            &args.jail,
        ) {
            Ok(probed) => match toml::to_string(&probed) {
                Ok(text) => {
                    print!("{text}");
                    end_probe()
                }
                Err(error) => exit::with(NAME, exit::FAILED, &error),
            },
            Err(error) => exit::with(NAME, error.exit_status(), &error),
        };
    }
    // Make a panic on any thread end the process. That ends only this session.
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        std::process::abort();
    }));
    let broker = match args.broker_fd.map(process::inherited) {
        Some(Ok(broker)) => broker,
        _ => return exit::with(NAME, exit::BAD_INPUT, &"--broker-fd is not an open descriptor"),
    };
    let prepare = vhost_cuda_worker::Prepare { mps: args.mps, context: !args.no_context };
    match vhost_cuda_worker::run(broker, &args.driver_library, prepare, &args.jail) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}
