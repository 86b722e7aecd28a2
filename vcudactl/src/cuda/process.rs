//! The process of a CUDA program: this program with a hidden command. It's a process of its own, so that
//! a crash or a hang of the library only fails the program.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::CtlError;

/// Maximum length of the process's output, and of its log.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_LOG: u64 = 16 << 10;
/// The time limit for a program to exit after it has closed its output, and the time limit after that
/// for its log to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const LOG_WITHIN: Duration = Duration::from_secs(1);
/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// The path of the library in a process of [`through_device`]: its standard input.
pub(crate) const STDIN_LIBRARY: &str = "/proc/self/fd/0";

/// Returns true if this process is root's.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Returns a command that runs this program with the guest's library as its standard input, through this
/// socket. The caller adds the hidden command.
pub(crate) fn through_device(library: &Path, socket: &Path) -> Result<Command, CtlError> {
    let open = CtlError::os(format!("cannot open {}", library.display()));
    let library = File::open(library).map_err(open)?;
    let of_socket = CtlError::os(format!("cannot find {}", socket.display()));
    let group = std::fs::metadata(socket).map_err(of_socket)?.gid();
    // Another user needn't be able to reach the paths of this program and of the library.
    let mut command = Command::new("/proc/self/exe");
    command.stdin(library);
    if is_root() {
        // The other end of the socket may be under the control of the VM, so the process keeps no more
        // than it needs to connect.
        command.uid(NOBODY).gid(group);
    }
    // The caller's CUDA settings must not affect a program of the VM.
    command.env_clear().env("VIRTIO_CUDA_SOCKET", socket).env("VIRTIO_CUDA_LOG", "warn");
    Ok(command)
}

/// The next event of a program.
pub(crate) enum Line {
    /// The program has written a line.
    Text(String),
    /// The program has closed its output.
    End,
    /// The time limit has passed without either.
    Late,
}

/// A running program.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    log: Receiver<String>,
}

impl Program {
    /// Starts the program. Errors call it `name`.
    pub(crate) fn start(mut command: Command, name: &str) -> Result<Self, CtlError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(CtlError::os(format!("cannot start {name}")))?;
        let (sender, lines) = channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let lines =
                stdout.into_iter().flat_map(|out| BufReader::new(out.take(MAX_OUTPUT)).lines());
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let stderr = child.stderr.take();
        let (log_sender, log) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.map(|stderr| stderr.take(MAX_LOG).read_to_end(&mut text));
            log_sender.send(String::from_utf8_lossy(&text).into_owned())
        });
        Ok(Self { child, lines, log })
    }

    /// Waits until this time for the next line of the program's output.
    pub(crate) fn next(&self, until: Instant) -> Line {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Line::Text(line),
            Err(RecvTimeoutError::Disconnected) => Line::End,
            Err(RecvTimeoutError::Timeout) => Line::Late,
        }
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Waits until the program exits, and kills it if it doesn't exit soon, because a hostile device can
    /// make it do anything. Returns its exit status, and the last line of its log without the process and the
    /// level.
    pub(crate) fn wait(mut self) -> Result<(ExitStatus, String), CtlError> {
        let failed = || CtlError::os("cannot wait for the program");
        let until = Instant::now() + ENDS_WITHIN;
        let status = loop {
            match self.child.try_wait().map_err(failed())? {
                Some(status) => break status,
                None if Instant::now() >= until => {
                    self.kill();
                    break self.child.wait().map_err(failed())?;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        // A process that it has started may still have the log open.
        let log = self.log.recv_timeout(LOG_WITHIN).unwrap_or_default();
        let last = log.lines().last().unwrap_or_default();
        let last = last.split_once(": ").map_or(last, |(_, text)| text);
        Ok((status, last.to_owned()))
    }
}
