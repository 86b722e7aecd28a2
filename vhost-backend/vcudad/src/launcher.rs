//! Starts device processes and workers with the right arguments, environment variables, and users.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use control_api::Sharing;

use super::error::BrokerError;
use super::jail::Jail;
use super::mps::NO_DAEMON;
use super::output::Outputs;
use super::pid_namespace::start_in_new;
use super::process::ChildProcess;
use crate::config::Vm;
use host_ipc::program;

/// The paths of the programs that the broker starts: the device process, the worker, and the
/// supervisor of workers.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
    device: PathBuf,
    worker: PathBuf,
    supervisor: PathBuf,
}

impl Programs {
    /// Finds the programs in the directory that contains this program.
    pub(crate) fn find() -> Result<Self, BrokerError> {
        Ok(Self {
            device: program::find("vhost-device-cuda")?,
            worker: program::find("vhost-cuda-worker")?,
            supervisor: program::find("vhost-cuda-supervisor")?,
            folder: program::folder()?,
        })
    }

    /// Returns the path of the worker program.
    pub(crate) fn worker(&self) -> &Path {
        &self.worker
    }

    /// Returns a command that starts a worker, without arguments. Of the broker's environment
    /// variables, it passes on only those that a driver library may need.
    pub(crate) fn worker_command(&self) -> Command {
        command_passing(&self.worker, |name| {
            PASSED.contains(&name)
                || ["LD_LIBRARY_PATH", "RAYON_NUM_THREADS"].contains(&name)
                || name.starts_with("SOFTGPU_")
        })
    }
}

/// The broker's environment variables that any program may need.
const PASSED: [&str; 3] = ["PATH", "RUST_LOG", "RUST_BACKTRACE"];

/// Returns a command without arguments that gets only those of the broker's environment variables
/// for whose names `passes` returns true.
fn command_passing(program: &Path, passes: impl Fn(&str) -> bool) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(std::env::vars().filter(|(name, _)| passes(name)));
    command
}

/// Starts device processes and workers.
#[derive(Clone)]
pub(crate) struct Launcher {
    programs: Programs,
    /// The driver library that workers load.
    library: PathBuf,
    /// Whether the processes of each VM run as that VM's user, and not as the broker's.
    change_users: bool,
    /// The jail of workers, if they have one.
    jail: Option<Arc<Jail>>,
    outputs: Outputs,
}

/// The session of a worker that is started for one.
pub(crate) struct StartedFor<'a> {
    pub(crate) vm: &'a Vm,
    /// The session's environment variables.
    pub(crate) env: &'a [(String, String)],
}

impl Launcher {
    pub(crate) fn new(
        programs: Programs,
        library: PathBuf,
        change_users: bool,
        jail: Option<Arc<Jail>>,
        outputs: Outputs,
    ) -> Self {
        Self { programs, library, change_users, jail, outputs }
    }

    /// Returns the jail of workers, if they have one.
    pub(crate) fn jail(&self) -> Option<&Jail> {
        self.jail.as_deref()
    }

    /// Returns the jail of a VM's workers. Clients of an MPS daemon can't be in a jail, because they
    /// share memory with its server.
    pub(crate) fn jail_of(&self, vm: &Vm) -> Option<&Jail> {
        self.jail().filter(|_| vm.spec.sharing == Sharing::Exclusive)
    }

    /// Returns the ID of the user and group that a VM's processes must switch to, or `None` if they
    /// keep the broker's.
    pub(crate) fn uid(&self, vm: &Vm) -> Option<u32> {
        vm.uid.filter(|_| self.change_users)
    }

    /// Starts the device process of the VM with this name. The caller must then send it the settings
    /// on its socket.
    pub(crate) fn start_device(&self, vm: &str) -> io::Result<ChildProcess> {
        let mut command = Command::new(&self.programs.device);
        command.arg("--serve");
        if self.jail.is_some() {
            command.arg("--jail");
        }
        let start = || ChildProcess::start(command, &self.outputs, "device", Some(vm));
        if self.jail.is_some() { start_in_new(start) } else { start() }
    }

    /// Starts the supervisor of the workers in this jail, among their processes.
    pub(crate) fn start_supervisor(&self, jail: &Jail) -> io::Result<ChildProcess> {
        let command = command_passing(&self.programs.supervisor, |name| PASSED.contains(&name));
        jail.start(|| ChildProcess::start(command, &self.outputs, "supervisor", None))
    }

    /// Starts a worker, for a session if one is waiting for it. `visible` is its
    /// CUDA_VISIBLE_DEVICES, and `devices` are the device files of these GPUs.
    pub(crate) fn start_worker(
        &self,
        visible: &str,
        devices: &[PathBuf],
        session: Option<&StartedFor<'_>>,
    ) -> io::Result<ChildProcess> {
        let mut command = self.programs.worker_command();
        command.arg("--driver-library").arg(&self.library);
        command.env("CUDA_VISIBLE_DEVICES", visible);
        command.env("CUDA_MPS_PIPE_DIRECTORY", NO_DAEMON);
        // Disable the driver's cache of compiled kernels, because it would be shared by all VMs.
        command.env("CUDA_CACHE_DISABLE", "1").env("HOME", "/nonexistent");
        let env = session.iter().flat_map(|session| session.env);
        command.envs(env.map(|(name, value)| (name, value)));
        let vm = session.map(|session| session.vm);
        if let Some(uid) = vm.and_then(|vm| self.uid(vm)) {
            command.arg("--uid").arg(uid.to_string());
        }
        let jail = vm.map_or(self.jail(), |vm| self.jail_of(vm));
        if let Some(jail) = jail {
            jail.add_arguments(&mut command, devices, vm);
        }
        let vm = vm.map(|vm| vm.name.as_str());
        let start = || ChildProcess::start(command, &self.outputs, "worker", vm);
        match jail {
            Some(jail) => jail.start(start),
            None => start(),
        }
    }
}
