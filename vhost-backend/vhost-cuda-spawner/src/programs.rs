//! Commands for the programs that the spawner starts: their arguments, environment variables and
//! users.

use std::path::{Path, PathBuf};
use std::process::Command;

use host_ipc::program::{self, ProgramError};
use host_ipc::spawner::VM_UIDS;

/// The MPS pipe directory for workers without MPS. With the default directory, workers would
/// connect to the host's own MPS daemon, if there is one, and all share its server.
const NO_DAEMON: &str = "/nonexistent";
/// The spawner's environment variables that are passed to every program.
const PASSED: [&str; 3] = ["PATH", "RUST_LOG", "RUST_BACKTRACE"];

/// The paths of the programs, all in the directory of this program.
pub(crate) struct Programs {
    device: PathBuf,
    worker: PathBuf,
    supervisor: PathBuf,
}

impl Programs {
    pub(crate) fn find() -> Result<Self, ProgramError> {
        Ok(Self {
            device: program::find("vhost-device-cuda")?,
            worker: program::find("vhost-cuda-worker")?,
            supervisor: program::find("vhost-cuda-supervisor")?,
        })
    }

    /// Returns a command that starts a device process, which switches to the user `uid`.
    pub(crate) fn device(&self, uid: Option<u32>, jail: bool) -> Command {
        let mut command = command_passing(&self.device, |name| PASSED.contains(&name));
        command.arg("--serve").args(jail.then_some("--jail"));
        if let Some(uid) = uid {
            command.arg("--uid").arg(uid.to_string());
        }
        command
    }

    pub(crate) fn supervisor(&self) -> Command {
        command_passing(&self.supervisor, |name| PASSED.contains(&name))
    }

    /// Returns a command that starts a worker with the given driver library. The command passes on
    /// only those of this process's environment variables that a driver library may need.
    pub(crate) fn worker(&self, library: &Path) -> Command {
        let mut command = command_passing(&self.worker, |name| {
            PASSED.contains(&name)
                || ["LD_LIBRARY_PATH", "RAYON_NUM_THREADS"].contains(&name)
                || name.starts_with("SOFTGPU_")
        });
        command.arg("--driver-library").arg(library);
        command
    }

    /// Returns a command that starts a worker that will serve a session, not only probe the
    /// library.
    pub(crate) fn serving_worker(&self, library: &Path, visible: &str) -> Command {
        let mut command = self.worker(library);
        command.env("CUDA_VISIBLE_DEVICES", visible).env("CUDA_MPS_PIPE_DIRECTORY", NO_DAEMON);
        // Disable the driver's cache of compiled kernels, because all VMs would share it. For
        // workers in the jail, `add_arguments` enables it again, because each VM has its own cache
        // there.
        command.env("CUDA_CACHE_DISABLE", "1").env("HOME", "/nonexistent");
        command
    }
}

/// Adds the argument that lists the permitted users. When a worker gets a session, it must switch
/// to one of them.
pub(crate) fn add_users(command: &mut Command, others: &[u32]) {
    let mut users = format!("{}-{}", VM_UIDS.start(), VM_UIDS.end());
    others.iter().for_each(|uid| users += &format!(",{uid}-{uid}"));
    command.arg("--users").arg(users);
}

/// Returns a command without arguments that passes on only those of this process's environment
/// variables for whose names `passes` returns true.
fn command_passing(program: &Path, passes: impl Fn(&str) -> bool) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(std::env::vars().filter(|(name, _)| passes(name)));
    command
}
