//! Checks a configuration without serving it, for `vcudad --check`. If a vcudad is running, asks it
//! whether it could apply the file. If not, makes the same checks as a start of vcudad.

use std::fmt::Write as _;
use std::time::Duration;

use crate::config::{Config, of_vm};
use crate::error::BrokerError;
use crate::gpu::driver;
use crate::processes::privileges;
use crate::processes::spawner::Spawner;
use crate::settings::roster::Roster;
use crate::settings::running;
use crate::settings::state::StateDir;
use crate::settings::validate::{Ground, check_all, check_host, check_own_file, check_unused};
use crate::vm::cgroup::Cgroups;
use control_api::{ErrorCode, counted};
use host_ipc::listener::in_use;
use host_ipc::process;

/// Checks a configuration. Returns a description of the result.
pub fn check(config: &Config) -> Result<String, BrokerError> {
    let asked = config.control_socket.as_deref().and_then(|socket| running::ask(socket, config));
    let text = match asked {
        Some(changes) => {
            format!("{}; after a reload: {}", counted(config.vms.len(), "VM"), changes?)
        }
        None => check_start(config).map_err(|error| match error {
            BrokerError::Config(error) => config.locate(error).into(),
            other => other,
        })?,
    };
    check_readable(config)?;
    Ok(text)
}

/// Checks whether a broker could be started with this configuration.
fn check_start(config: &Config) -> Result<String, BrokerError> {
    let is_root = process::is_root();
    let mut host = config.clone();
    // If a vcudad without a control API is running, it uses the metrics address and the VMs'
    // sockets, so don't check whether these are in use.
    let is_running = config.state_dir.as_deref().is_some_and(StateDir::is_locked);
    if is_running {
        host.metrics_address = None;
    }
    check_host(&host, is_root, None)?;
    let mut text = counted(config.vms.len(), "VM");
    if is_root {
        let _ = write!(text, ", user {}", privileges::user_of(config)?.uid);
    }
    let saved = config.state_dir.as_deref().map(StateDir::peek).transpose()?.unwrap_or_default();
    let roster = Roster::to_check(saved);
    let (all, _) = roster.with_file(&config.vms)?;
    let spawner = Spawner::start()?;
    let _ending = spawner.ending();
    let mut probed = driver::choose(config, &spawner, Duration::ZERO)?;
    // If no jail can be set up, this fails only if the file requires a jail.
    let _jail = driver::set_up_jail(config, &spawner, &mut probed)?;
    let requests = all.iter().flat_map(|(spec, _)| &spec.gpus);
    let gpus = driver::add_slices(config, &spawner, &mut probed, requests);
    let cgroups = Cgroups::of_host();
    let ground = Ground { gpus: &gpus, cgroups: &cgroups };
    let candidates = check_all(config, all, &roster, ground)?;
    let _ =
        write!(text, ", {} of {}", counted(gpus.iter().count(), "GPU"), probed.library.display());
    let in_use = in_use();
    for candidate in &candidates {
        // Refuse the file if it takes the name, the socket, or the GPU memory of a VM that was
        // added at run time.
        candidate.check_kept(&[ErrorCode::Conflict, ErrorCode::NoRoom])?;
        let vm = &candidate.vm;
        if let Err(error) = &candidate.gpus {
            let _ = write!(text, "; VM '{}' was added at run time and fails: {error}", vm.name);
        } else if !is_running {
            check_unused(vm, &in_use).map_err(|error| of_vm(&vm.name, &error))?;
        }
    }
    Ok(text)
}

/// Checks whether the user as which the broker runs can read the file, because a reload reads it as
/// that user. Switches this process to that user.
fn check_readable(config: &Config) -> Result<(), BrokerError> {
    if process::is_root() {
        privileges::switch(&privileges::user_of(config)?)?;
    }
    Ok(check_own_file(config)?)
}
