//! Starts a device process for a single VM, for hosts where `vcudad` isn't running.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::process::Owned;

/// The device program, looked up next to this program, then in PATH.
pub const PROGRAM: &str = "vhost-device-cuda";
/// How long the device may take to create its socket. A cold start loads the driver and creates
/// contexts.
const READY_WAIT: Duration = Duration::from_secs(60);
/// How long the device may take to stop its workers after SIGTERM.
const END_WAIT: Duration = Duration::from_secs(5);

/// Starts `program --socket-path SOCKET ARGUMENTS…` and waits for its socket. The program logs to
/// `log` if given, otherwise to vcuda-run's standard error.
pub fn start(
    program: &Path,
    socket: &Path,
    arguments: &[String],
    log: Option<&Path>,
) -> Result<Owned, RunError> {
    let mut command = Command::new(program);
    command.arg("--socket-path").arg(socket).args(arguments);
    if let Some(log) = log {
        let file = std::fs::File::create(log)
            .map_err(RunError::host(format!("cannot write the log '{}'", log.display())))?;
        command.stderr(file);
    }
    // vcuda-run's standard output is reserved for the output of the command in the guest, so the
    // device must not write to it.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut owned = Owned::spawn(&mut command, None, Some(END_WAIT))
        .map_err(|e| RunError::Device(format!("cannot start '{}': {e}", program.display())))?;
    let start = Instant::now();
    loop {
        if std::fs::metadata(socket).is_ok_and(|data| data.file_type().is_socket()) {
            return Ok(owned);
        }
        if let Some(status) = owned.ended() {
            return Err(RunError::Device(format!("{PROGRAM} exited early ({status})")));
        }
        if let Some(signal) = crate::process::signalled() {
            return Err(RunError::Signal(signal));
        }
        if start.elapsed() > READY_WAIT {
            return Err(RunError::Device(format!("no socket after {} s", READY_WAIT.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the device program next to this program if it exists. If not, returns its name, which is
/// looked up in PATH.
pub fn default_program() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(|folder| folder.join(PROGRAM)))
        .filter(|path| path.exists())
        .unwrap_or_else(|| PROGRAM.into())
}
