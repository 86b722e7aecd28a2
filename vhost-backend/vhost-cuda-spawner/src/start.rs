//! Starts programs without being delayed by fork or by the disk.
//!
//! `fork` copies the mappings of this process, and for each one it waits for a lock of the mapped
//! file. Every process on the host that starts or exits takes the same locks for the C library, so
//! `fork` has taken ten seconds on a busy host. `vfork`, which [`Command`] uses if no function has
//! to run in the child, copies nothing. But the spawner then waits until the child executes a
//! program, so that program must not have to be read from a busy disk. So a child first executes
//! the spawner's own program, which is already in memory, with [`START`] as its first argument. In
//! the child, that program performs the setup that the requested program needs, and then executes
//! it.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::{Args, Parser};
use host_ipc::{exit, process};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::cgroup;
use crate::mps_client::wait_ready;

/// The command-line argument that makes this program execute another program.
pub const START: &str = "--start";
/// The path at which a process finds its own program, even after an upgrade has replaced it.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";
const NAME: &str = "vhost-cuda-spawner";
/// The exit status of a process that couldn't execute its program.
const NOT_EXECUTED: u8 = 127;

/// The setup that a process performs before it executes its program.
#[derive(Args, Default)]
pub(crate) struct Preparation {
    /// Gets this nice value
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) nice: Option<i32>,
    /// Moves to this cgroup
    #[arg(long)]
    pub(crate) cgroup: Option<PathBuf>,
    /// Waits for the MPS daemon with this pipe directory
    #[arg(long)]
    pub(crate) pipe: Option<PathBuf>,
    /// Gets SIGTERM when the spawner exits
    #[arg(long)]
    pub(crate) terminate_with_parent: bool,
}

/// The command line after [`START`].
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    preparation: Preparation,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

impl Preparation {
    /// Returns a command that performs the setup and then executes `program`. The command has no
    /// environment variables except those that are set for `program`.
    pub(crate) fn before(&self, program: &Command, starter: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(starter);
        command.arg(START);
        if let Some(nice) = self.nice {
            command.arg("--nice").arg(nice.to_string());
        }
        if let Some(cgroup) = &self.cgroup {
            command.arg("--cgroup").arg(cgroup);
        }
        if let Some(pipe) = &self.pipe {
            command.arg("--pipe").arg(pipe);
        }
        command.args(self.terminate_with_parent.then_some("--terminate-with-parent"));
        command.arg("--").arg(program.get_program()).args(program.get_args());
        command.env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Performs the setup in the current process.
    fn apply(&self) -> Result<(), String> {
        process::unblock_signals();
        if self.terminate_with_parent {
            set_parent_process_death_signal(Some(Signal::TERM))
                .map_err(|error| error.to_string())?;
        }
        if let Some(nice) = self.nice {
            process::set_nice(nice);
        }
        self.cgroup.as_deref().map_or(Ok(()), |cgroup| cgroup::add(cgroup, 0))?;
        self.pipe.as_deref().map_or(Ok(()), wait_ready)
    }
}

/// Performs the setup and executes the program that the command line after [`START`] specifies,
/// which replaces this program. On an error, prints the reason and returns the exit status.
pub fn start() -> ExitCode {
    let arguments = std::env::args_os().take(1).chain(std::env::args_os().skip(2));
    let CommandLine { preparation, program } = match exit::parse_from(NAME, arguments) {
        Ok(line) => line,
        Err(code) => return code,
    };
    let reason = match (preparation.apply(), program.as_slice()) {
        (Ok(()), [program, arguments @ ..]) => {
            let error = Command::new(program).args(arguments).exec();
            format!("{}: {error}", program.display())
        }
        (Ok(()), []) => "no program is given".into(),
        (Err(reason), _) => reason,
    };
    eprintln!("ERROR cannot start the program: {reason}");
    ExitCode::from(NOT_EXECUTED)
}
