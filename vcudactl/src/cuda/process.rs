//! The process of a CUDA program. It executes this program with a hidden command. It's a separate
//! process, so that a crash or a hang of the library doesn't affect vcudactl itself.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use crate::error::CtlError;

/// Maximum length of the program's output in bytes. `MAX_LOG` is that of its log.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_LOG: u64 = 16 << 10;
/// Maximum time until a program exits after it has closed its output. `LOG_WITHIN` is the maximum
/// time until its log ends after that.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const LOG_WITHIN: Duration = Duration::from_secs(1);
/// The uid of the user `nobody`.
const NOBODY: u32 = 65_534;

/// The path by which a process of [`through_device`] loads the library, which is its standard
/// input.
pub(crate) const STDIN_LIBRARY: &str = "/proc/self/fd/0";

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Returns a command that executes this program as a program of the VM behind the socket. The
/// guest's library is its standard input. The caller must add the hidden command.
pub(crate) fn through_device(library: &Path, socket: &Path) -> Result<Command, CtlError> {
    let open = CtlError::os(format!("cannot open {}", library.display()));
    let library = File::open(library).map_err(open)?;
    let group = group_of(socket)?;
    // The process may run as another user, who can't necessarily reach the paths of this program
    // and of the library. Therefore, use /proc/self/exe and an open file.
    let mut command = Command::new("/proc/self/exe");
    command.stdin(library);
    if is_root() {
        // The VM may control the other end of the socket. Therefore, the process keeps only the
        // privileges that it needs to connect.
        command.uid(NOBODY).gid(group);
    }
    // The caller's environment, such as CUDA settings, must not affect a program of the VM.
    command.env_clear().env("VIRTIO_CUDA_SOCKET", socket).env("VIRTIO_CUDA_LOG", "warn");
    Ok(command)
}

/// Returns the group of a socket, for the process that connects to it. Fails if the path isn't a
/// socket: another user who owns the directory could have replaced the socket by a link to any
/// file, whose group the process would then get.
fn group_of(socket: &Path) -> Result<u32, CtlError> {
    let of_socket = CtlError::os(format!("cannot find {}", socket.display()));
    let meta = std::fs::symlink_metadata(socket).map_err(of_socket)?;
    match meta.file_type().is_socket() {
        true => Ok(meta.gid()),
        false => {
            let other = io::Error::other("it is a link or another file, not a socket");
            Err(CtlError::os(format!("cannot use {}", socket.display()))(other))
        }
    }
}

/// Makes the kernel kill the command's process when this thread ends, even if this process is
/// killed. Otherwise, a process whose library hangs would outlive it.
pub(crate) fn die_with_this_thread(command: &mut Command) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent has already ended, the kernel doesn't send the signal, so fail.
        match getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::Error::from(rustix::io::Errno::SRCH)),
        }
    };
    // SAFETY: between fork and exec, the closure only makes two system calls. It doesn't allocate
    // memory.
    unsafe { command.pre_exec(tie) };
}

/// An event while waiting for a program's output.
pub(crate) enum Line {
    /// The program has written this line.
    Text(String),
    /// The program has closed its output.
    End,
    /// The time limit has passed without a line or the end of the output.
    Late,
}

/// A running CUDA program.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    log: Receiver<String>,
}

impl Program {
    /// Starts a program. Error messages call it `name`.
    pub(crate) fn start(mut command: Command, name: &str) -> Result<Self, CtlError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        die_with_this_thread(&mut command);
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

    /// Waits for the next line of the program's output, until the time `until`.
    pub(crate) fn next(&self, until: Instant) -> Line {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Line::Text(line),
            Err(RecvTimeoutError::Disconnected) => Line::End,
            Err(RecvTimeoutError::Timeout) => Line::Late,
        }
    }

    /// Kills the program.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Waits until the program exits. Kills the program if it doesn't exit soon, because a hostile
    /// device can make it do anything. Returns its exit status, and the last line of its log
    /// without the prefix that contains the process and the level.
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
        // Wait only for a limited time, because a process that the program has started may keep the
        // log open.
        let log = self.log.recv_timeout(LOG_WITHIN).unwrap_or_default();
        let last = log.lines().last().unwrap_or_default();
        let last = last.split_once(": ").map_or(last, |(_, text)| text);
        Ok((status, last.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_link_in_place_of_a_socket_gives_no_group() {
        let folder = std::env::temp_dir().join(format!("vcudactl-group-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let [socket, file, link] = ["socket", "file", "link"].map(|name| folder.join(name));
        let _listener = UnixListener::bind(&socket).unwrap();
        std::fs::write(&file, "").unwrap();
        let own = std::fs::metadata(&file).unwrap().gid();
        assert_eq!(group_of(&socket).ok(), Some(own));
        assert!(group_of(&file).is_err());
        for target in [&file, &socket] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            let error = group_of(&link).unwrap_err().to_string();
            assert!(error.contains("it is a link or another file"), "{error}");
            std::fs::remove_file(&link).unwrap();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            die_with_this_thread(command.arg("1000"));
            command.spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
