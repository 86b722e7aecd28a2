//! The jail of workers: what the spawner gives to a worker that enters one.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use host_ipc::spawner::directory_of;

use crate::pid_namespace::PidNamespace;
use crate::shared_memory::{SharedMemory, VmSharedMemory};

/// The jail of all workers.
pub(crate) struct Jail {
    shared: SharedMemory,
    processes: PidNamespace,
}

impl Jail {
    pub(crate) fn create(id: u32) -> io::Result<Self> {
        Ok(Self { shared: SharedMemory::create(id)?, processes: PidNamespace::create()? })
    }

    /// Calls `start`, which starts a process, and has it created in the workers' PID namespace.
    pub(crate) fn start<T>(&mut self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.processes.start(start)
    }

    /// Adds the arguments that make a worker enter the jail with these devices. If the worker
    /// already has a session, it's one of `vm`.
    pub(crate) fn add_arguments(
        &self,
        command: &mut Command,
        devices: &[PathBuf],
        vm: Option<&str>,
    ) {
        command.arg("--jail").arg("--shared").arg(self.shared.path());
        devices.iter().for_each(|device| {
            command.arg("--device").arg(device);
        });
        if let Some(vm) = vm {
            command.arg("--shared-name").arg(directory_of(vm));
        }
    }

    /// Creates the directory for the memory that a VM's processes share.
    pub(crate) fn add_vm(&self, vm: &str, uid: Option<u32>) -> io::Result<VmSharedMemory> {
        self.shared.add(vm, uid)
    }
}
