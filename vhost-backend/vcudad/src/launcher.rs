//! Starts device processes and workers, with their command lines, environments, and users.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::BrokerError;
use super::mps::NO_DAEMON;
use super::process::ChildProcess;
use crate::config::Vm;
use host_ipc::program;

/// The paths of the device process's and the worker's programs.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    device: PathBuf,
    worker: PathBuf,
}

impl Programs {
    /// Finds both programs in the folder of this program.
    pub(crate) fn find() -> Result<Self, BrokerError> {
        Ok(Self {
            device: program::find("vhost-device-cuda")?,
            worker: program::find("vhost-cuda-worker")?,
            folder: program::folder()?,
        })
    }

    /// The path of the worker program.
    pub(crate) fn worker(&self) -> &Path {
        &self.worker
    }

    /// A worker's command line, without arguments. It gets the part of the host's environment that
    /// a driver library needs.
    pub(crate) fn worker_command(&self) -> Command {
        let mut command = Command::new(&self.worker);
        let passed = |name: &str| {
            ["PATH", "LD_LIBRARY_PATH", "RUST_LOG", "RUST_BACKTRACE", "RAYON_NUM_THREADS"]
                .contains(&name)
                || name.starts_with("SOFTGPU_")
        };
        command.env_clear().envs(std::env::vars().filter(|(name, _)| passed(name)));
        command
    }
}

/// Starts device processes and workers.
#[derive(Clone)]
pub(crate) struct Launcher {
    programs: Programs,
    /// The driver library that workers load.
    library: PathBuf,
    /// Whether each VM's processes run as the VM's user.
    change_users: bool,
}

impl Launcher {
    pub(crate) fn new(programs: Programs, library: PathBuf, change_users: bool) -> Self {
        Self { programs, library, change_users }
    }

    /// The user and the group that a VM's processes switch to. `None` if they keep the broker's.
    pub(crate) fn ids(&self, vm: &Vm) -> (Option<u32>, Option<u32>) {
        (vm.uid.filter(|_| self.change_users), vm.gid.filter(|_| self.change_users))
    }

    /// Starts a device process. The caller must send it the settings on its socket.
    pub(crate) fn start_device(&self) -> io::Result<ChildProcess> {
        let mut command = Command::new(&self.programs.device);
        command.arg("--serve");
        ChildProcess::start(command)
    }

    /// Starts a worker that sees the GPUs in `visible`, with a session's environment in `env`.
    pub(crate) fn start_worker(
        &self,
        visible: &str,
        env: &[(String, String)],
    ) -> io::Result<ChildProcess> {
        let mut command = self.programs.worker_command();
        command.arg("--driver-library").arg(&self.library);
        command.env("CUDA_VISIBLE_DEVICES", visible);
        command.env("CUDA_MPS_PIPE_DIRECTORY", NO_DAEMON);
        // Disable the driver's cache of compiled kernels, because all VMs would share it.
        command.env("CUDA_CACHE_DISABLE", "1").env("HOME", "/nonexistent");
        command.envs(env.iter().map(|(name, value)| (name, value)));
        ChildProcess::start(command)
    }
}
