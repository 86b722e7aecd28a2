//! The process of the CUDA program: starting it, and what it reports.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cli::TEST_PROGRAM;
use crate::error::CtlError;

/// Maximum length of the process's output, and of its log.
const MAX_OUTPUT: u64 = 1 << 20;
const MAX_LOG: u64 = 16 << 10;
/// The user `nobody`.
const NOBODY: u32 = 65_534;

/// A step that was done.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Step {
    /// Its name.
    pub(crate) step: String,
    /// Number of the GPU, in the order in which the VM sees its GPUs. `None` if it concerns all.
    pub(crate) gpu: Option<u32>,
    /// How long it took, in nanoseconds.
    pub(crate) ns: u64,
}

/// A step that failed.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) step: String,
    /// Number of the GPU.
    pub(crate) gpu: Option<u32>,
    /// The number of the CUDA error. 0 if there is none.
    pub(crate) code: i32,
    /// The error.
    pub(crate) text: String,
}

/// A line of the process's output.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Outcome {
    /// A step of a GPU begins.
    Began(String, Option<u32>),
    /// It's done.
    Done(Step),
    /// It failed. No others follow.
    Failed(Failure),
}

/// Returns true if this process is root's.
pub(super) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Runs the program through this socket, for at most `limit`. Returns the steps that were done, and the
/// one that failed.
pub(crate) fn run(
    library: &Path,
    socket: &Path,
    limit: Duration,
) -> Result<(Vec<Step>, Option<Failure>), CtlError> {
    let open = CtlError::os(format!("cannot open {}", library.display()));
    let library = File::open(library).map_err(open)?;
    let of_socket = CtlError::os(format!("cannot find {}", socket.display()));
    let group = std::fs::metadata(socket).map_err(of_socket)?.gid();
    // Another user needn't be able to reach the paths of this program and of the library.
    let mut command = Command::new("/proc/self/exe");
    command.arg(TEST_PROGRAM).stdin(library).stdout(Stdio::piped()).stderr(Stdio::piped());
    if is_root() {
        // The other end of the socket may be under the control of the VM, so the process keeps no more
        // than it needs to connect.
        command.uid(NOBODY).gid(group);
    }
    // The caller's settings of CUDA aren't those of the VM's programs.
    command.env_clear().env("VIRTIO_CUDA_SOCKET", socket).env("VIRTIO_CUDA_LOG", "warn");
    let mut child = command.spawn().map_err(CtlError::os("cannot start the test program"))?;
    let (sender, lines) = channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let lines = stdout.into_iter().flat_map(|out| BufReader::new(out.take(MAX_OUTPUT)).lines());
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let stderr = child.stderr.take();
    let log = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.map(|stderr| stderr.take(MAX_LOG).read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    });
    let until = Instant::now() + limit;
    let (mut steps, mut now, mut failed) = (Vec::new(), ("start".to_owned(), None), None);
    let has_ended = loop {
        let line = match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        };
        match serde_json::from_str(&line) {
            Ok(Outcome::Began(step, gpu)) => now = (step, gpu),
            Ok(Outcome::Done(step)) => steps.push(step),
            Ok(Outcome::Failed(failure)) => failed = Some(failure),
            Err(error) => return Err(CtlError::Answer(error.to_string())),
        }
    };
    if !has_ended {
        let _ = child.kill();
    }
    let status = child.wait().map_err(CtlError::os("cannot wait for the test program"))?;
    let (step, gpu) = now;
    let fail = |text: String| Some(Failure { step, gpu, code: 0, text });
    let mut failed = match failed {
        _ if !has_ended => fail(format!("it wasn't done within {} s", limit.as_secs())),
        None if !status.success() => fail(format!("the test program ended with {status}")),
        failed => failed,
    };
    if let Some(failure) = &mut failed {
        let log = log.join().unwrap_or_default();
        // The last line says why. It begins with the process and the level.
        let last = log.lines().last().unwrap_or_default();
        let last = last.split_once(": ").map_or(last, |(_, text)| text);
        if !last.is_empty() {
            failure.text += &format!("; the guest's library says: {last}");
        }
    }
    Ok((steps, failed))
}
