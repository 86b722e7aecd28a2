//! The jail of workers: what the spawner gives to a worker that enters one.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;

use host_ipc::missing::Feature;
use host_ipc::spawner::{Part, Refusal};

use crate::mounts::Mounts;
use crate::pid_namespace::PidNamespace;
use crate::shared_memory::VmSharedMemory;

/// The jail of all workers.
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

    /// Calls `start`, which starts a process, and has it created in the workers' PID namespace.
    pub(crate) fn start<T>(&mut self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.processes.start(start)
    }

    /// Returns the shared memory of a VM whose processes run as this user, with this limit in bytes.
    pub(crate) fn memory_of(&self, uid: Option<u32>, size: Option<u64>) -> VmSharedMemory {
        VmSharedMemory::new(self.mounts.clone(), uid, size)
    }
}

/// Adds the arguments that make a worker enter the jail with these devices, and with this mount at
/// /dev/shm, which it inherits.
pub(crate) fn add_arguments(command: &mut Command, devices: &[PathBuf], shared: &OwnedFd) {
    command.arg("--jail").arg("--shared-fd").arg(shared.as_raw_fd().to_string());
    devices.iter().for_each(|device| {
        command.arg("--device").arg(device);
    });
}
