//! vcudad, the broker, serves the VMs in a configuration file.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use host_ipc::logging::{self, LogArgs};
use host_ipc::{exit, process, program};
use vcudad::config::{BrokerArgs, Config, ConfigError, DriverArgs, DriverLibrary};
use vcudad::handover::{self, Inherited};
use vcudad::{BrokerError, Origin};

mod one_vm;

const NAME: &str = "vcudad";
/// The number of descriptors for which the broker reserves room at its start. A session takes about
/// eleven, and no host has enough sessions to need more.
const DESCRIPTORS: u32 = 1 << 16;

/// Serve virtio-cuda devices to VMs: start a device process per VM and a worker per session, and
/// enforce the VMs' quotas of device memory and GPU time.
#[derive(Parser)]
#[command(name = NAME, version)]
struct Args {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration file, and exit with status 0 if it's valid, or 1 if it isn't
    #[arg(long)]
    check: bool,
    /// Socket of a vhost-cuda-spawner that is running already. Sessions then continue when vcudad
    /// is restarted
    #[arg(long, value_name = "PATH")]
    spawner: Option<PathBuf>,
    /// Exit with status 0 if this program can take over from one that writes this format
    #[arg(long, hide = true, value_name = "VERSION")]
    accepts_handover: Option<u32>,
    /// With --accepts-handover: root has started the program that this one replaces
    #[arg(long, hide = true)]
    as_root: bool,
    /// Take over from the program that this process has executed before
    #[arg(long, hide = true, value_name = "FD")]
    handover_fd: Option<RawFd>,
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    broker: BrokerArgs,
    #[command(flatten)]
    log: LogArgs,
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == program::ONE_VM) {
        return one_vm::main();
    }
    let mut args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    // Take over the inherited descriptors before this program opens any others.
    let inherited = match args.handover_fd.map(Inherited::read).transpose() {
        Ok(inherited) => inherited,
        Err(error) => return exit::with(NAME, exit::FAILED, &BrokerError::Handover(error)),
    };
    if let Ok(path) = std::path::absolute(&args.config) {
        args.config = path;
    }
    if args.check {
        return check(&args);
    }
    if let Some(version) = args.accepts_handover {
        return answer(&args, version);
    }
    process::raise_descriptor_limit();
    process::reserve_descriptors(DESCRIPTORS);
    let log = match logging::start_broker(NAME, &args.log) {
        Ok(log) => log,
        Err(code) => return code,
    };
    // Find this out now, because this process has no privileges later.
    let is_root = inherited.as_ref().map_or(process::is_root(), Inherited::has_root);
    let from = match (inherited, &args.spawner) {
        (Some(inherited), _) => Origin::Inherited(Box::new(inherited)),
        (None, Some(path)) => Origin::Listening(path.clone()),
        (None, None) => Origin::Own,
    };
    let reader = Arc::new(move |text: Option<&str>| read(&args, text, is_root));
    match vcudad::run(reader, from) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(replacement)) => {
            drop(log);
            exit::with(NAME, exit::FAILED, &BrokerError::Handover(replacement.execute()))
        }
        Err(error) => exit::with(NAME, error.code(), &error),
    }
}

/// Exits with status 0 if this program can take over from one that writes this format.
fn answer(args: &Args, version: u32) -> ExitCode {
    if !handover::accepts(version) {
        return exit::with(NAME, exit::FAILED, &format!("it doesn't read format {version}"));
    }
    // Refuse a bad log filter here: the variable RUST_LOG may have a value that earlier versions
    // accepted.
    if let Err(code) = logging::check(NAME, &args.log) {
        return code;
    }
    match read(args, None, args.as_root || process::is_root()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, exit::BAD_INPUT, &error),
    }
}

/// Checks the configuration file without serving it.
fn check(args: &Args) -> ExitCode {
    let config = read(args, None, process::is_root()).map_err(BrokerError::from);
    match config.and_then(|config| vcudad::check(&config)) {
        Ok(text) => {
            println!("{}: OK: {text}", args.config.display());
            ExitCode::SUCCESS
        }
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}

/// Reads the configuration file, or the one with this text, and overrides settings that are given
/// as arguments. `is_root` says whether the broker was started by root.
fn read(args: &Args, text: Option<&str>, is_root: bool) -> Result<Config, ConfigError> {
    let mut config = text.map_or_else(|| Config::read(&args.config), Config::parse)?;
    if let Some(library) = &args.driver.library {
        config.driver_library = DriverLibrary::clone(library);
    }
    config.allow_pageable_memory_access |= args.driver.allow_pageable_memory_access;
    if let Some(jail) = args.driver.jail {
        config.jail = jail;
    }
    if let Some(count) = args.driver.warm_workers {
        config.warm_workers = count;
    }
    if let Some(path) = &args.broker.state_dir {
        config.state_dir = Some(path.clone());
    }
    if let Some(path) = &args.broker.control_socket {
        config.control_socket = Some(path.clone());
    }
    if let Some(user) = &args.broker.user {
        config.user = Some(user.clone());
    }
    config.with_places(is_root)
}
