//! vhost-device-cuda, the virtio-cuda device for one VM.

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use clap::Parser;
use host_ipc::{exit, logging, process, program};

const NAME: &str = "vhost-device-cuda";

/// The argument that makes this program print its capabilities as JSON. By QEMU's convention,
/// management software may pass it to any vhost-user backend. All other arguments are then ignored.
const PRINT_CAPABILITIES: &str = "--print-capabilities";
const CAPABILITIES: &str = r#"{"type": "cuda"}"#;

/// The command line with which vcudad starts a VM's device process.
#[derive(Parser)]
struct Serve {
    /// Always present, to distinguish this command line from an operator's.
    #[arg(long = "serve", required = true)]
    _serve: bool,
    #[arg(long)]
    broker_fd: RawFd,
    #[arg(long)]
    jail: bool,
    #[arg(long)]
    uid: Option<u32>,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--serve") {
        if let Err(code) = logging::start(NAME) {
            return code;
        }
        process::reserve_descriptors(vhost_device_cuda::DESCRIPTORS);
        let serve: Serve = match exit::parse(NAME) {
            Ok(serve) => serve,
            Err(code) => return code,
        };
        let Ok(broker) = process::inherited(serve.broker_fd) else {
            return exit::with(NAME, exit::BAD_INPUT, &"--broker-fd is not an open descriptor");
        };
        return match vhost_device_cuda::run(broker, serve.jail, serve.uid) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => exit::with(NAME, exit::FAILED, &error),
        };
    }
    if std::env::args_os().any(|arg| arg == PRINT_CAPABILITIES) {
        println!("{CAPABILITIES}");
        return ExitCode::SUCCESS;
    }
    become_broker()
}

/// Replaces this process with a broker for one VM, which starts the device process as its child.
fn become_broker() -> ExitCode {
    let broker = match program::find("vcudad") {
        Ok(broker) => broker,
        Err(error) => return exit::with(NAME, exit::BAD_INPUT, &error),
    };
    let mut words = std::env::args_os();
    let mut command = Command::new(&broker);
    command.arg0(words.next().unwrap_or_else(|| NAME.into())).arg(program::ONE_VM).args(words);
    let error = command.exec();
    exit::with(NAME, exit::FAILED, &format!("cannot start {}: {error}", broker.display()))
}
