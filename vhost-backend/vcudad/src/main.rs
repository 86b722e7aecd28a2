//! vcudad, the broker, serves the VMs in a configuration file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use host_ipc::{exit, process, program};
use vcudad::BrokerError;
use vcudad::config::{BrokerArgs, Config, ConfigError, DriverArgs, DriverLibrary};

mod one_vm;

const NAME: &str = "vcudad";
/// The broker has eight descriptors or so for each session. A host has fewer sessions than this
/// would be enough for.
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
    #[command(flatten)]
    driver: DriverArgs,
    #[command(flatten)]
    broker: BrokerArgs,
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == program::ONE_VM) {
        return one_vm::main();
    }
    let mut args: Args = match exit::parse(NAME) {
        Ok(args) => args,
        Err(code) => return code,
    };
    if let Ok(path) = std::path::absolute(&args.config) {
        args.config = path;
    }
    if args.check {
        return check(&args);
    }
    process::raise_descriptor_limit();
    process::reserve_descriptors(DESCRIPTORS);
    let _log = exit::start_broker_logging();
    let config = match read(&args) {
        Ok(config) => config,
        Err(error) => return exit::with(NAME, exit::BAD_INPUT, &error),
    };
    let reread = Box::new(move || read(&args));
    match vcudad::run(config, Some(reread)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::with(NAME, error.code(), &error),
    }
}

/// Checks the configuration file without serving it.
fn check(args: &Args) -> ExitCode {
    let checked = read(args).map_err(BrokerError::from).and_then(vcudad::check);
    match checked {
        Ok(text) => {
            println!("{}: OK: {text}", args.config.display());
            ExitCode::SUCCESS
        }
        Err(error) => exit::with(NAME, exit::FAILED, &error),
    }
}

/// Reads the configuration file, and overrides settings that are given as arguments.
fn read(args: &Args) -> Result<Config, ConfigError> {
    let mut config = Config::read(&args.config)?;
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
    config.with_places(process::is_root())
}
