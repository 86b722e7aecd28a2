//! Chooses the driver library that workers load, and finds its GPUs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use control_api::GpuRequest;

use super::error::BrokerError;
use super::gpus::{Gpus, slices_named};
use super::jail::{self, Jail};
use super::launcher::Programs;
use super::process::is_root;
use crate::config::{Config, DriverLibrary, JailMode};
use host_ipc::gpu::{GpuFacts, Probed};
use host_ipc::printable::printable;

/// Environment variable with the path of softgpu's library. Needed only if the library isn't
/// installed with the programs.
const SOFTGPU_ENV: &str = "VIRTIO_CUDA_SOFTGPU";

/// Chooses the driver library, and probes it in a separate process, because loading the library
/// runs its code.
pub(crate) fn choose(config: &Config, programs: &Programs) -> Result<Probed, BrokerError> {
    let (library, driver, why) = match &config.driver_library {
        DriverLibrary::Path(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            if !path.exists() {
                let path = path.display();
                return Err(BrokerError::Driver(format!("the driver library {path} is missing")));
            }
            (path, "path", "as configured")
        }
        DriverLibrary::Softgpu => (softgpu(programs)?, "softgpu", "as configured"),
        DriverLibrary::Auto => match nvidia(programs) {
            Ok(path) => (path, "nvidia", "auto: NVIDIA's library finds a device"),
            Err(reason) => {
                tracing::info!("no NVIDIA device: {reason}");
                (softgpu(programs)?, "softgpu", "auto: no NVIDIA device")
            }
        },
    };
    let allow = config.allow_pageable_memory_access;
    let found = probe(programs, &library, allow).map_err(|reason| {
        BrokerError::Driver(format!(
            "cannot use the driver library {}: {reason}",
            library.display()
        ))
    })?;
    let path = found.library.display();
    tracing::info!(driver = %driver, %path, version = found.driver, "chose the driver library ({why})");
    Ok(found)
}

/// Returns the path of NVIDIA's library if it finds a GPU.
fn nvidia(programs: &Programs) -> Result<PathBuf, String> {
    // If neither device node exists, NVIDIA's driver isn't loaded. Any libcuda.so.1 that the
    // dynamic loader finds is then a different library.
    if !["/dev/nvidiactl", "/dev/dxg"].iter().any(|node| Path::new(node).exists()) {
        return Err("/dev/nvidiactl does not exist".into());
    }
    // Allow pageable memory access here. `choose` probes the library again and checks for it then.
    probe(programs, Path::new("libcuda.so.1"), true).map(|probed| probed.library)
}

fn softgpu(programs: &Programs) -> Result<PathBuf, BrokerError> {
    let mut places = Vec::new();
    if let Some(path) = std::env::var_os(SOFTGPU_ENV) {
        let path = PathBuf::from(path);
        places.push(if path.is_dir() { path.join("libcuda.so.1") } else { path });
    } else {
        places.push(programs.folder.join("softgpu/libcuda.so.1"));
        places.push(programs.folder.join("libsoftgpu.so"));
        places.push(programs.folder.join("../lib/virtio-cuda/softgpu/libcuda.so.1"));
    }
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        BrokerError::Driver(format!(
            "cannot find softgpu's library at {}: build it, or set {SOFTGPU_ENV} to its path",
            places.join(" or ")
        ))
    })
}

/// Probes the MIG slices that VMs request by UUID. A process sees only one slice, and only if
/// CUDA_VISIBLE_DEVICES names it. Missing slices are logged and left out.
fn probe_slices(
    config: &Config,
    programs: &Programs,
    probed: &Probed,
    uuids: Vec<String>,
) -> Vec<(String, GpuFacts)> {
    let allow = config.allow_pageable_memory_access;
    let probe_slice = |uuid: String| match probe_as(programs, &probed.library, allow, Some(&uuid)) {
        Ok(Probed { mut gpus, .. }) if gpus.len() == 1 => gpus.pop().map(|facts| (uuid, facts)),
        Ok(_) => {
            tracing::warn!("MIG slice {uuid} does not exist");
            None
        }
        Err(reason) => {
            tracing::warn!("cannot use MIG slice {uuid}: {reason}");
            None
        }
    };
    uuids.into_iter().filter_map(probe_slice).collect()
}

/// Probes the MIG slices that VMs request, and adds them to the GPUs that the driver library found.
pub(crate) fn add_slices<'a>(
    config: &Config,
    programs: &Programs,
    probed: &mut Probed,
    requests: impl IntoIterator<Item = &'a GpuRequest>,
) -> Gpus {
    let slices = probe_slices(config, programs, probed, slices_named(requests));
    let gpus = Gpus::new(probed, slices);
    probed.gpus = gpus.iter().map(|(_, gpu)| gpu.facts().clone()).collect();
    gpus
}

/// Creates the jail of workers, if the driver works in it. Otherwise, fails if the configuration
/// requires the jail.
pub(crate) fn jail(
    config: &Config,
    programs: &Programs,
    found: &Probed,
) -> Result<Option<Arc<Jail>>, BrokerError> {
    if config.jail == JailMode::Off || (config.jail == JailMode::Auto && !is_root()) {
        return Ok(None);
    }
    match jail_for(config, programs, found) {
        Ok(jail) => Ok(Some(Arc::new(jail))),
        Err(reason) if config.jail == JailMode::Required => {
            let message = format!("workers can't have a jail: {reason} (jail = \"required\")");
            Err(BrokerError::Driver(message))
        }
        Err(reason) => {
            tracing::warn!("workers have no jail, so they can reach files of the host: {reason}");
            Ok(None)
        }
    }
}

fn jail_for(config: &Config, programs: &Programs, found: &Probed) -> Result<Jail, String> {
    let failed = |error| format!("cannot create a PID namespace and shared memory: {error}");
    let jail = Jail::create().map_err(failed)?;
    let addresses = found.gpus.iter().map(|gpu| gpu.pci_bus_id.as_str());
    let mut command = probe_command(programs, &found.library, config.allow_pageable_memory_access);
    jail.add_arguments(&mut command, &jail::devices(addresses, true), None);
    let jailed = jail
        .start(|| Ok(run_probe(programs, command)))
        .map_err(|error| format!("cannot enter a PID namespace: {error}"))??;
    if jailed != *found {
        let (inside, outside) = (jailed.gpus.len(), found.gpus.len());
        return Err(format!(
            "the driver library finds {inside} GPUs in the jail and {outside} outside, or their \
             properties differ"
        ));
    }
    Ok(jail)
}

/// Loads and initializes a library in a child process. `allow` permits GPUs whose kernels can
/// access pageable memory.
fn probe(programs: &Programs, library: &Path, allow: bool) -> Result<Probed, String> {
    probe_as(programs, library, allow, None)
}

fn probe_as(
    programs: &Programs,
    library: &Path,
    allow: bool,
    visible: Option<&str>,
) -> Result<Probed, String> {
    let mut command = probe_command(programs, library, allow);
    command.envs(visible.map(|uuid| ("CUDA_VISIBLE_DEVICES", uuid)));
    run_probe(programs, command)
}

fn probe_command(programs: &Programs, library: &Path, allow: bool) -> Command {
    // The operator's CUDA_VISIBLE_DEVICES isn't passed on, because workers don't get it, either.
    let mut command = programs.worker_command();
    command
        .args(allow.then_some("--allow-pageable-memory-access"))
        .arg("--driver-library")
        .arg(library)
        .arg("--probe")
        .stdin(Stdio::null());
    command
}

fn run_probe(programs: &Programs, mut command: Command) -> Result<Probed, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", programs.worker().display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        let printed = text(&output.stdout);
        // The driver may have printed lines of its own before the result.
        let from = printed.find("library = ").unwrap_or(0);
        return toml::from_str(&printed[from..])
            .map_err(|error| format!("cannot parse the probe's output: {error}"));
    }
    let reason = text(&output.stderr);
    let last = reason.lines().last().unwrap_or("its probe failed without a message").to_owned();
    Err(printable(last.strip_prefix("vhost-cuda-worker: ").unwrap_or(&last)))
}
