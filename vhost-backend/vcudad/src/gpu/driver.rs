//! Chooses the driver library that workers load, and finds its GPUs.

use std::fmt;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use control_api::GpuRequest;

use crate::config::{Config, ConfigError, DriverLibrary, JailMode};
use crate::error::BrokerError;
use crate::gpu::devices;
use crate::gpu::gpus::{Gpus, slices_named};
use crate::gpu::nvidia;
use crate::processes::process::describe;
use crate::processes::spawner::Spawner;
use host_ipc::gpu::{GpuFacts, Probed};
use host_ipc::printable::printable;
use host_ipc::spawner::{Call, End, Part, Program, Refusal};
use host_ipc::{exit, program};

/// Environment variable with the path of softgpu's library. Needed only if the library isn't
/// installed with the programs.
const SOFTGPU_ENV: &str = "VIRTIO_CUDA_SOFTGPU";

/// How long the broker waits at its start for NVIDIA's driver, if the host has an NVIDIA GPU. While
/// the host boots, the driver may be loaded after the broker's start. Less than the systemd unit's
/// TimeoutStartSec.
pub(crate) const DRIVER_WAIT: Duration = Duration::from_secs(30);

/// Chooses the driver library, and probes it in a separate process, because loading the library
/// runs its code. If the driver of an NVIDIA GPU isn't loaded, waits for it for up to `wait`.
pub(crate) fn choose(
    config: &Config,
    spawner: &Spawner,
    wait: Duration,
) -> Result<Probed, BrokerError> {
    let (library, driver, why) = match &config.driver_library {
        DriverLibrary::Path(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            check_path(config)?;
            (path, "path", "as configured")
        }
        DriverLibrary::Softgpu => (softgpu()?, "softgpu", "as configured"),
        DriverLibrary::Auto => {
            // Allow pageable memory access here. The library is probed again below, which checks
            // for it.
            let probe =
                || probe(spawner, Path::new("libcuda.so.1"), true).map(|probed| probed.library);
            match nvidia::find(Path::new("/"), wait, probe).map_err(BrokerError::Driver)? {
                Some(path) => (path, "nvidia", "auto: NVIDIA's library finds a device"),
                None => (softgpu()?, "softgpu", "auto: no NVIDIA device"),
            }
        }
    };
    let allow = config.allow_pageable_memory_access;
    let found = probe(spawner, &library, allow).map_err(|reason| {
        BrokerError::Driver(format!(
            "cannot use the driver library {}: {reason}",
            library.display()
        ))
    })?;
    let path = found.library.display();
    tracing::info!(driver = %driver, %path, version = found.driver, "chose the driver library ({why})");
    Ok(found)
}

/// Checks that a driver library that is given by its path exists.
pub(crate) fn check_path(config: &Config) -> Result<(), ConfigError> {
    match &config.driver_library {
        DriverLibrary::Path(path) if !path.exists() => {
            Err(ConfigError::Value(format!("driver_library: {} is missing", path.display())))
        }
        _ => Ok(()),
    }
}

fn softgpu() -> Result<PathBuf, BrokerError> {
    let folder = program::folder()?;
    let mut places = Vec::new();
    if let Some(path) = std::env::var_os(SOFTGPU_ENV) {
        let path = PathBuf::from(path);
        places.push(if path.is_dir() { path.join("libcuda.so.1") } else { path });
    } else {
        places.push(folder.join("softgpu/libcuda.so.1"));
        places.push(folder.join("libsoftgpu.so"));
        places.push(folder.join("../lib/virtio-cuda/softgpu/libcuda.so.1"));
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
    spawner: &Spawner,
    probed: &Probed,
    uuids: Vec<String>,
) -> Vec<(String, GpuFacts)> {
    let probe_slice = |uuid: String| match run_probe(
        spawner,
        Program::Probe {
            library: probed.library.clone(),
            allow_pageable_memory_access: config.allow_pageable_memory_access,
            visible: Some(uuid.clone()),
            devices: None,
        },
    ) {
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
    spawner: &Spawner,
    probed: &mut Probed,
    requests: impl IntoIterator<Item = &'a GpuRequest>,
) -> Gpus {
    let slices = probe_slices(config, spawner, probed, slices_named(requests));
    let gpus = Gpus::new(probed, slices);
    probed.gpus = gpus.iter().map(|(_, gpu)| gpu.facts().clone()).collect();
    gpus
}

/// The jail of workers, or why they have none.
pub(crate) type JailResult = Result<(), String>;

/// Why the jail that was tried can't be used.
#[derive(Debug, PartialEq, Eq)]
enum JailFailure {
    /// The host lacks something, or the driver doesn't work in the jail.
    Unavailable(String),
    /// The setup failed for a reason that an attacker might have caused, such as a lack of memory.
    Failed(String),
}

/// Creates the jail of workers, if the configuration doesn't turn it off. If `jail` is `auto`,
/// workers run without a jail only if they can't have one. GPUs may have other attributes in the
/// jail than outside. Workers see those in the jail, so this writes them to `found`.
pub(crate) fn set_up_jail(
    config: &Config,
    spawner: &Spawner,
    found: &mut Probed,
) -> Result<JailResult, BrokerError> {
    let is_root = spawner.is_root();
    let set_up = decide(config.jail, is_root, || try_jail(config, spawner, found));
    let set_up = set_up.map_err(BrokerError::Driver)?;
    if let Err(reason) = &set_up
        && is_root
    {
        tracing::warn!("workers have no jail, so they can reach files of the host: {reason}");
        spawner.request(Call::SetJail(false)).map_err(BrokerError::Spawner)?;
    }
    Ok(set_up)
}

/// Decides whether workers have a jail. Fails if the broker must not start.
fn decide(
    mode: JailMode,
    is_root: bool,
    try_it: impl FnOnce() -> Result<(), JailFailure>,
) -> Result<JailResult, String> {
    match (mode, is_root) {
        (JailMode::Off, _) => return Ok(Err("jail = \"off\"".into())),
        (JailMode::Auto, false) => return Ok(Err("vcudad was not started as root".into())),
        (JailMode::Auto, true) | (JailMode::Required, _) => {}
    }
    match (try_it(), mode) {
        (Ok(()), _) => Ok(Ok(())),
        (Err(JailFailure::Unavailable(reason)), JailMode::Auto) => Ok(Err(reason)),
        (Err(JailFailure::Unavailable(reason)), _) => {
            Err(format!("workers can't have a jail: {reason} (jail = \"required\")"))
        }
        (Err(JailFailure::Failed(reason)), _) => Err(format!(
            "cannot set up the jail of workers: {reason}. Remove the cause, and start vcudad again. \
             jail = \"off\" would run workers without a jail, in which they can reach files of the \
             host"
        )),
    }
}

fn try_jail(config: &Config, spawner: &Spawner, found: &mut Probed) -> Result<(), JailFailure> {
    spawner.call(Call::SetJail(true), &[]).map_err(|Refusal { part, reason }| match part {
        Part::NoJail => JailFailure::Unavailable(reason),
        _ => JailFailure::Failed(reason),
    })?;
    let addresses = found.gpus.iter().map(|gpu| gpu.pci_bus_id.as_str());
    let jailed = run_probe(
        spawner,
        Program::Probe {
            library: found.library.clone(),
            allow_pageable_memory_access: config.allow_pageable_memory_access,
            visible: None,
            devices: Some(devices::devices(addresses, true)),
        },
    )
    .map_err(JailFailure::of_probe)?;
    // Don't compare the results of testing evictions: the test may fail at any time, for example
    // because the GPU is busy.
    let Probed { eviction, no_eviction, .. } = found.clone();
    found.attributes.clone_from(&jailed.attributes);
    let jailed = Probed { eviction, no_eviction, ..jailed };
    if jailed != *found {
        let (inside, outside) = (jailed.gpus.len(), found.gpus.len());
        return Err(JailFailure::Unavailable(format!(
            "the driver library finds {inside} GPUs in the jail and {outside} outside, or their \
             properties differ"
        )));
    }
    Ok(())
}

impl JailFailure {
    /// The signals that end a process because its own code fails.
    const CRASHES: [i32; 7] = [
        libc::SIGABRT,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGSEGV,
        libc::SIGSYS,
        libc::SIGTRAP,
    ];

    fn of_probe(failure: ProbeFailure) -> Self {
        let ProbeFailure { reason, how } = failure;
        let Some(End::Exited(status)) = how else { return Self::Failed(reason) };
        let status = ExitStatus::from_raw(status);
        let is_crash = |signal| Self::CRASHES.contains(&signal);
        let is_unavailable = match status.code().map(u8::try_from) {
            Some(Ok(exit::NO_JAIL | exit::NO_DRIVER)) => true,
            Some(_) => false,
            None => status.signal().is_some_and(is_crash),
        };
        match is_unavailable {
            true => Self::Unavailable(reason),
            false => Self::Failed(reason),
        }
    }
}

/// Why a probe failed.
#[derive(Debug)]
struct ProbeFailure {
    reason: String,
    /// How the probe's process ended, if that is why the probe failed.
    how: Option<End>,
}

impl From<String> for ProbeFailure {
    fn from(reason: String) -> Self {
        Self { reason, how: None }
    }
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.reason)
    }
}

/// Loads and initializes a library in a child process. `allow` permits GPUs whose kernels can
/// access pageable memory. The operator's CUDA_VISIBLE_DEVICES isn't passed on, because workers
/// don't get it, either.
fn probe(spawner: &Spawner, library: &Path, allow: bool) -> Result<Probed, String> {
    run_probe(
        spawner,
        Program::Probe {
            library: library.to_owned(),
            allow_pageable_memory_access: allow,
            visible: None,
            devices: None,
        },
    )
    .map_err(|failure| failure.reason)
}

fn run_probe(spawner: &Spawner, program: Program) -> Result<Probed, ProbeFailure> {
    let output = output_of(spawner, program);
    let (how, stdout, stderr) =
        output.map_err(|error| format!("cannot run vhost-cuda-worker: {error}"))?;
    if let End::NotStarted(reason) = how {
        return Err(format!("cannot run vhost-cuda-worker: {reason}").into());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if how == End::Exited(0) {
        let printed = text(&stdout);
        // The driver may have printed lines before the result, which starts with `library = `.
        let from = printed.find("library = ").unwrap_or(0);
        return toml::from_str(&printed[from..])
            .map_err(|error| format!("cannot parse the probe's output: {error}").into());
    }
    let reason = text(&stderr);
    let last = match reason.lines().last() {
        Some(last) => last.strip_prefix("vhost-cuda-worker: ").unwrap_or(last).to_owned(),
        None => format!("its probe {}", describe(&how)),
    };
    Err(ProbeFailure { reason: printable(&last), how: Some(how) })
}

/// Runs a program and waits until it has ended. No other process of the spawner may be running,
/// because this ignores events about other processes. Returns how the program ended, and what it
/// printed on its standard output and its standard error.
fn output_of(spawner: &Spawner, program: Program) -> io::Result<(End, Vec<u8>, Vec<u8>)> {
    let ((stdout, their_stdout), (stderr, their_stderr)) = (io::pipe()?, io::pipe()?);
    let process = spawner.start_program(program, [their_stdout.as_fd(), their_stderr.as_fd()])?;
    drop((their_stdout, their_stderr));
    let read = |mut pipe: PipeReader| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    };
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| read(stderr));
        (read(stdout), stderr.join())
    });
    let stderr = stderr.map_err(|_| io::Error::other("a thread failed"))?;
    Ok((spawner.wait_for(process)?, stdout?, stderr?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_do_without_a_jail_only_if_they_cannot_have_it() {
        let unavailable = || Err(JailFailure::Unavailable("why".into()));
        let failed = || Err(JailFailure::Failed("why".into()));
        let is_off = Ok(false);
        for (mode, is_root, on_success, on_unavailable, on_failure) in [
            (JailMode::Auto, true, Ok(true), is_off, Err(())),
            (JailMode::Auto, false, is_off, is_off, is_off),
            (JailMode::Required, true, Ok(true), Err(()), Err(())),
            (JailMode::Required, false, Ok(true), Err(()), Err(())),
            (JailMode::Off, true, is_off, is_off, is_off),
            (JailMode::Off, false, is_off, is_off, is_off),
        ] {
            let outcomes =
                [(Ok(()), on_success), (unavailable(), on_unavailable), (failed(), on_failure)];
            for (tried, expected) in outcomes {
                let text = format!("{mode:?}, {is_root}, {tried:?}");
                let decided = decide(mode, is_root, || tried);
                assert_eq!(decided.as_ref().map(Result::is_ok).map_err(drop), expected, "{text}");
                let reasons = [
                    decided.as_ref().err(),
                    decided.as_ref().ok().and_then(|jail| jail.as_ref().err()),
                ];
                assert!(reasons.into_iter().flatten().all(|reason| !reason.is_empty()));
            }
        }
    }

    #[test]
    fn a_probe_that_others_could_have_ended_says_nothing_about_the_jail() {
        let exited = |code: u8| Some(End::Exited(i32::from(code) << 8));
        let killed = |signal| Some(End::Exited(signal));
        let cases = [
            (exited(exit::NO_JAIL), true),
            (exited(exit::NO_DRIVER), true),
            (killed(libc::SIGSEGV), true),
            (killed(libc::SIGABRT), true),
            // The probe's arguments were refused, or it failed in another way.
            (exited(exit::BAD_INPUT), false),
            (exited(exit::FAILED), false),
            (exited(101), false),
            (exited(127), false),
            // The host had no memory left, or somebody killed the probe.
            (killed(libc::SIGKILL), false),
            (killed(libc::SIGTERM), false),
            (Some(End::NotStarted("why".into())), false),
            (None, false),
        ];
        for (how, is_unavailable) in cases {
            let text = format!("{how:?}");
            let failure = JailFailure::of_probe(ProbeFailure { reason: "why".into(), how });
            assert_eq!(failure == JailFailure::Unavailable("why".into()), is_unavailable, "{text}");
        }
    }
}
