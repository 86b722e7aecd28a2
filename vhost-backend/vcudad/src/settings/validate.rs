//! The checks of a configuration. `vcudad --check`, a start, a reload, and the control API all use
//! them, so that each check exists once, and all four agree about a file.
//!
//! A file is checked as if the broker was started with it, even if the broker is running and can't
//! apply some of its settings. Otherwise, a reload would accept a file with which the next start
//! fails. In addition, a reload and the control API compare it with the VMs that are running
//! (`reload`).

use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use control_api::{ApiError, ErrorCode, GpuRequest, VmOrigin, VmSpec};

use crate::config::{Config, ConfigError, JailMode, Vm, VmSet, choose_uids, of_vm};
use crate::gpu::driver;
use crate::gpu::gpus::Gpus;
use crate::gpu::mps::check_sharing;
use crate::processes::privileges;
use crate::settings::roster::Roster;
use crate::vm::cgroup::Cgroups;
use crate::vm::placement::Capacity;
use crate::vm::vms::{Placed, Vms, place_again};
use host_ipc::spawner::SOCKETS;
use memory_ledger::GpuId;

/// The host's GPUs and cgroups, against which VMs are checked.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) gpus: &'a Gpus,
    pub(crate) cgroups: &'a Cgroups,
}

/// The running broker, when a file is checked for it.
pub(crate) struct Running<'a> {
    /// The configuration with which the broker was started.
    pub(crate) started: &'a Config,
    /// Why workers have no jail, if they have none.
    pub(crate) no_jail: Option<&'a str>,
}

/// Checks the settings that don't belong to a VM. `is_root` says whether root starts the broker.
/// `running` is the broker that is already running, if there is one.
pub(crate) fn check_host(
    config: &Config,
    is_root: bool,
    running: Option<&Running<'_>>,
) -> Result<(), ConfigError> {
    if is_root {
        privileges::user_of(config)?;
    }
    privileges::control_group(config, is_root)?;
    privileges::read_group(config, is_root)?;
    driver::check_path(config)?;
    if let Some(path) = &config.state_dir
        && path.is_relative()
        && !path.as_os_str().is_empty()
    {
        let says =
            "isn't an absolute path, so it depends on the directory in which vcudad is started";
        return Err(named("state_dir", path, says));
    }
    check_folder("state_dir", config.state_dir.as_deref())?;
    for (key, path) in config.api_sockets() {
        check_folder(key, path.parent())?;
        check_socket_file(path).map_err(|error| named(key, path, &error))?;
    }
    let address = config.metrics_address;
    // Don't try to listen on the address that the running broker already uses, because that would
    // fail.
    if let Some(address) =
        address.filter(|_| running.is_none_or(|it| it.started.metrics_address != address))
        && let Err(error) = TcpListener::bind(address)
    {
        return Err(ConfigError::Value(format!("metrics_address: cannot use {address}: {error}")));
    }
    match running {
        Some(Running { started, no_jail: Some(reason) })
            if config.jail == JailMode::Required && started.jail != JailMode::Off =>
        {
            Err(ConfigError::Value(format!("jail: workers can't have a jail: {reason}")))
        }
        _ => Ok(()),
    }
}

/// Checks whether this process can read the file that contains the configuration. Root can read
/// files that the broker can't read for a reload, after it has dropped root's privileges.
pub(crate) fn check_own_file(config: &Config) -> Result<(), ConfigError> {
    let Some(path) = &config.path else { return Ok(()) };
    let Err(error) = File::open(path) else { return Ok(()) };
    let uid = rustix::process::geteuid().as_raw();
    let reason = format!(
        "user {uid} can't read it ({error}), so it can't be reloaded, because vcudad runs as this user: \
         run chmod a+r, or give the file to a group of the user"
    );
    Err(ConfigError::Parse { path: path.clone(), reason })
}

fn named(key: &str, path: &Path, error: &str) -> ConfigError {
    ConfigError::Value(format!("{key}: {}: {error}", path.display()))
}

/// Checks that a directory exists, or can be created.
fn check_folder(key: &str, path: Option<&Path>) -> Result<(), ConfigError> {
    let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else { return Ok(()) };
    let Some((found, meta)) = path.ancestors().find_map(|one| Some((one, one.metadata().ok()?)))
    else {
        return Ok(());
    };
    match meta.is_dir() {
        true => Ok(()),
        false => Err(named(key, found, "is not a directory")),
    }
}

/// Checks that a path can be that of a socket. An existing socket may be that of a broker that is
/// running.
fn check_socket_file(path: &Path) -> Result<(), String> {
    match path.symlink_metadata() {
        Ok(meta) if !meta.file_type().is_socket() => Err("exists and is not a socket".into()),
        _ => Ok(()),
    }
}

/// Checks a VM, and chooses its GPUs, if possible those that it had before. If `memory.max` doesn't
/// fit and `memory_is_default` is true, reduces it.
pub(crate) fn check_vm(
    vm: &mut Vm,
    capacities: &[Capacity],
    ground: Ground<'_>,
    memory_is_default: bool,
    before: &[String],
) -> Result<Placed, ApiError> {
    let placed = place_again(capacities, vm, memory_is_default, before)?;
    check_on(vm, &placed.gpus, ground)?;
    Ok(placed)
}

/// Checks whether a VM can be served on these GPUs.
pub(crate) fn check_on(vm: &Vm, gpus: &[GpuId], ground: Ground<'_>) -> Result<(), ApiError> {
    check_sharing(&vm.spec, gpus, ground.gpus)?;
    ground.cgroups.limits(vm, gpus.len())?;
    let folder = vm.socket.parent().filter(|folder| *folder != Path::new(SOCKETS));
    let missing = |folder: &&Path| {
        // Refuse only a directory that doesn't exist. Any other error can mean that a broker
        // without privileges can't access the directory.
        folder.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    if folder.filter(missing).is_some() {
        let message = format!("{}: its directory does not exist", vm.socket.display());
        return Err(ApiError::invalid("socket", message));
    }
    check_socket_file(&vm.socket).map_err(|error| {
        let message = format!("{}: {error}", vm.socket.display());
        ApiError::new(ErrorCode::Conflict, message).of("socket")
    })
}

/// Checks that no process listens on the socket of a VM that isn't running. `in_use` contains the
/// paths at which processes listen. The spawner checks this again when it creates the socket.
pub(crate) fn check_unused(vm: &Vm, in_use: &HashSet<PathBuf>) -> Result<(), ApiError> {
    match in_use.contains(&vm.socket) && vm.socket.exists() {
        false => Ok(()),
        true => {
            let message =
                format!("{}: the socket is in use by another process", vm.socket.display());
            Err(ApiError::new(ErrorCode::Conflict, message).of("socket"))
        }
    }
}

/// A VM that the broker is about to serve.
pub(crate) struct Candidate {
    pub(crate) vm: Vm,
    pub(crate) origin: VmOrigin,
    /// The VM's GPUs, or why the VM can't be served.
    pub(crate) gpus: Result<Placed, ApiError>,
}

impl Candidate {
    /// Returns an error if a VM that was added at run time can't be served for one of the reasons
    /// `codes`, because the configuration then takes something away from that VM.
    pub(crate) fn check_kept(&self, codes: &[ErrorCode]) -> Result<(), ConfigError> {
        match &self.gpus {
            Err(error) if self.origin == VmOrigin::Api && codes.contains(&error.code) => {
                Err(of_vm(&self.vm.name, error))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the VMs in the roster, and chooses their users and GPUs, as if no VM were running. If a
/// VM in the configuration file can't be served, returns an error. If a VM that was added at run
/// time can't be served, returns it with the error. The other VMs can then be served, and an
/// operator can repair or remove it.
pub(crate) fn check_all(
    config: &Config,
    all: Vec<(VmSpec, VmOrigin)>,
    roster: &Roster,
    ground: Ground<'_>,
) -> Result<Vec<Candidate>, ConfigError> {
    let with_source = |spec: &VmSpec, origin, error: ApiError| {
        let saved = roster.has_saved(&spec.name, origin);
        let from = if saved { " (from state.json in state_dir)" } else { "" };
        ApiError { message: format!("{}{from}", error.message), ..error }
    };
    let mut set = VmSet::default();
    let mut checked = Vec::new();
    for (spec, origin) in all {
        match set.add(&spec) {
            Ok(vm) => checked.push((vm, origin, None)),
            Err(error) => {
                // An invalid name is always an error, because an operator couldn't use that name to
                // remove the VM.
                let is_fatal = origin == VmOrigin::File || error.field.as_deref() == Some("name");
                let error = with_source(&spec, origin, error);
                if is_fatal {
                    return Err(of_vm(&spec.name, &error));
                }
                checked.push((Vm::unchecked(spec), origin, Some(error)));
            }
        }
    }
    let good = checked.iter_mut().filter(|(_, _, failure)| failure.is_none());
    choose_uids(good.map(|(vm, _, _)| vm), [])?;
    let reserve = |gpu| ground.gpus.context_bytes(gpu) * u64::from(config.warm_workers.max(1));
    let mut capacities = Vms::default().capacities(ground.gpus, &config.policy, reserve, None);
    // Ignore earlier faults of GPUs, because a broker forgets them when it's started.
    capacities.iter_mut().for_each(|capacity| capacity.faulty = false);
    // Place the VMs in the file before those that were added at run time. Within both groups, place
    // VMs that request specific GPUs first, then those that had a GPU before, and then the others.
    // That way, no VM takes a GPU that an earlier one in this order needs.
    let mut order: Vec<usize> = (0..checked.len()).collect();
    order.sort_by_key(|at| {
        let (vm, origin, _) = &checked[*at];
        let kind = match vm.spec.gpus.contains(&GpuRequest::Any) {
            false => 0,
            true if !roster.placed(&vm.name).is_empty() => 1,
            true => 2,
        };
        (*origin == VmOrigin::Api, kind)
    });
    let mut candidates: Vec<Option<Candidate>> = checked.iter().map(|_| None).collect();
    let mut checked: Vec<_> = checked.into_iter().map(Some).collect();
    for at in order {
        let Some((mut vm, origin, failure)) = checked[at].take() else { continue };
        let is_default = config.memory_max_is_default;
        let gpus = failure.map_or(Ok(()), Err).and_then(|()| {
            let before = roster.placed(&vm.name);
            check_vm(&mut vm, &capacities, ground, is_default, before)
        });
        match &gpus {
            Ok(placed) => {
                let own = capacities.iter_mut().filter(|one| placed.gpus.contains(&one.gpu));
                own.for_each(|capacity| capacity.promise(&vm.spec));
            }
            Err(error) if origin == VmOrigin::File => return Err(of_vm(&vm.name, error)),
            Err(_) => {}
        }
        candidates[at] = Some(Candidate { vm, origin, gpus });
    }
    Ok(candidates.into_iter().flatten().collect())
}
