//! The spawner's part of the workers' jail: the PID namespace, the mounts, and the arguments of a
//! worker that enters the jail.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;

use host_ipc::missing::Feature;
use host_ipc::spawner::{CODE_CACHE, Part, Refusal};

use crate::files::{CACHE_MAXSIZE, Each, VmFiles};
use crate::mounts::Mounts;
use crate::pid_namespace::PidNamespace;

/// The resources for workers' jails, which all workers share.
pub(crate) struct Jail {
    mounts: Mounts,
    processes: PidNamespace,
}

impl Jail {
    pub(crate) fn create() -> Result<Self, Refusal> {
        let failed = |what, feature: Feature, error: io::Error| Refusal {
            part: if feature.is_missing(&error) { Part::NoJail } else { Part::Request },
            reason: format!("cannot create {what}: {error}"),
        };
        let processes = PidNamespace::create()
            .map_err(|error| failed("a PID namespace", Feature::Namespaces, error))?;
        let mounts = Mounts::create().map_err(|(feature, error)| {
            failed("a mount namespace for shared memory", feature, error)
        })?;
        Ok(Self { mounts, processes })
    }

    /// Calls `start`. The process that it starts is created in the workers' PID namespace.
    pub(crate) fn start<T>(&mut self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.processes.start(start)
    }

    /// Returns the files of a VM whose processes run as user `uid`, in a cgroup with a memory limit
    /// of `memory` bytes.
    pub(crate) fn files_of(&self, uid: Option<u32>, memory: Option<u64>) -> VmFiles {
        VmFiles::new(&self.mounts, uid, memory)
    }
}

/// Adds the arguments that make a worker enter the jail with the given devices, and with `mounts`,
/// whose descriptors it inherits. Also adds the environment variables that give NVIDIA's driver
/// library the path of the cache.
pub(crate) fn add_arguments(command: &mut Command, devices: &[PathBuf], mounts: &Each<OwnedFd>) {
    command.arg("--jail").arg("--shared-fd").arg(mounts.shared.as_raw_fd().to_string());
    command.arg("--cache-fd").arg(mounts.cache.as_raw_fd().to_string());
    command.env("CUDA_CACHE_PATH", CODE_CACHE).env_remove("CUDA_CACHE_DISABLE");
    command.env("CUDA_CACHE_MAXSIZE", CACHE_MAXSIZE.to_string());
    devices.iter().for_each(|device| {
        command.arg("--device").arg(device);
    });
}
