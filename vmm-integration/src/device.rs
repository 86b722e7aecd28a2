//! A device process of the VM's own, for runs where no broker serves a socket.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::process::Owned;

/// The device's program, looked for next to ours, then in PATH.
pub const PROGRAM: &str = "vhost-device-cuda";
/// A cold start loads the driver and makes contexts.
const READY_WAIT: Duration = Duration::from_secs(60);
/// The device ends its workers when it is asked to go.
const END_WAIT: Duration = Duration::from_secs(5);

/// Starts `program --socket-path SOCKET ARGUMENTS…` and waits for its socket.
/// Its messages go to `log`, or where ours go.
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
    // Its output is not the command's.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut owned = Owned::spawn(&mut command, None, Some(END_WAIT))
        .map_err(|e| RunError::Device(format!("cannot start '{}': {e}", program.display())))?;
    let start = Instant::now();
    loop {
        if std::fs::metadata(socket).is_ok_and(|data| data.file_type().is_socket()) {
            return Ok(owned);
        }
        if let Some(status) = owned.ended() {
            return Err(RunError::Device(format!("{PROGRAM} ended with {status}")));
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

/// The device's program next to our own, else by name.
pub fn default_program() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(|folder| folder.join(PROGRAM)))
        .filter(|path| path.exists())
        .unwrap_or_else(|| PROGRAM.into())
}
