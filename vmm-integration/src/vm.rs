//! Runs a VM: relays the command's output and reports how the VM ended.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::frame::{Decoder, Frame};
use crate::process::{self, Owned};

/// Maximum time for a guest to power off after its command has exited.
const POWER_OFF_WAIT: Duration = Duration::from_secs(10);
/// How often to check for signals and for the end of the VM while the guest sends nothing.
const TICK: Duration = Duration::from_millis(100);

/// The VMM to start, and where its output goes.
#[derive(Debug)]
pub struct Launch {
    /// The kind of VM, for messages.
    pub vmm: &'static str,
    /// The VMM and its arguments. The VMM's file descriptor [`process::CHANNEL_FD`] is the serial
    /// line to the guest.
    pub command: Command,
    /// The log file for the guest's console.
    pub log: PathBuf,
    /// How long the VM may run.
    pub timeout: Option<Duration>,
    /// Paths on the host for the files that the guest sends, by index.
    pub fetch: Vec<PathBuf>,
    /// If this text appears in the log, the VM has failed, although its process keeps running.
    pub fatal: Option<&'static str>,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The command's exit code.
    pub code: i32,
    /// Time from the start of the VMM until the guest was up.
    pub boot: Duration,
    /// Time from the start of the VMM until it exited.
    pub total: Duration,
}

/// Runs the VM until it ends, and writes the command's output to `stdout` and `stderr`.
pub fn run(
    launch: Launch,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let Launch { vmm, mut command, log, timeout, fetch, fatal } = launch;
    let console = File::create(&log)
        .map_err(RunError::host(format!("cannot write the log '{}'", log.display())))?;
    let console_too = console.try_clone().map_err(RunError::host("cannot share the log"))?;
    let (ours, theirs) =
        UnixStream::pair().map_err(RunError::host("cannot create a socket pair"))?;
    command.stdin(Stdio::null()).stdout(console).stderr(console_too);
    let start = Instant::now();
    let program = command.get_program().to_owned();
    let child = Owned::spawn(&mut command, Some(OwnedFd::from(theirs)), None)
        .map_err(RunError::host(format!("cannot start '{}'", program.display())))?;
    let mut vm = Vm {
        vmm,
        child,
        line: ours,
        decoder: Decoder::default(),
        deadline: timeout.map(|timeout| (start + timeout, timeout)),
        log,
        fetch: fetch.into_iter().map(Some).collect(),
        fatal,
        file: None,
        start,
        boot: Duration::ZERO,
    };
    let code = vm.relay(stdout, stderr)?;
    vm.child.wait(POWER_OFF_WAIT);
    Ok(Outcome { code, boot: vm.boot, total: start.elapsed() })
}

struct Vm {
    vmm: &'static str,
    child: Owned,
    line: UnixStream,
    decoder: Decoder,
    deadline: Option<(Instant, Duration)>,
    log: PathBuf,
    /// Host paths of the files still to come; `None` for a file that has started to arrive.
    fetch: Vec<Option<PathBuf>>,
    fatal: Option<&'static str>,
    file: Option<File>,
    start: Instant,
    boot: Duration,
}

impl Vm {
    /// Relays output until the guest reports the command's exit code.
    fn relay(&mut self, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Result<i32, RunError> {
        let mut buffer = vec![0; 128 * 1024];
        loop {
            if let Some(signal) = process::signalled() {
                return Err(RunError::Signal(signal));
            }
            if let Some((deadline, timeout)) = self.deadline
                && Instant::now() >= deadline
            {
                return Err(RunError::Timeout(timeout.as_secs()));
            }
            // Check whether the VM has ended before reading, not after it, so that data sent just
            // before the end is still read.
            let ended = self.child.ended();
            if !self.readable()? {
                if let Some(status) = ended {
                    return Err(self.ended(status.to_string()));
                }
                if let Some(line) = self.lost() {
                    return Err(self.ended(line));
                }
                continue;
            }
            let len = match self.line.read(&mut buffer) {
                Ok(0) => {
                    let status = self.child.wait(Duration::from_secs(2));
                    let how =
                        status.map_or("it closed its line to the host".into(), |s| s.to_string());
                    return Err(self.ended(how));
                }
                Ok(len) => len,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.ended(e.to_string())),
            };
            self.decoder.push(&buffer[..len]);
            while let Some(frame) = self.decoder.next_frame()? {
                if let Some(code) = self.handle(frame, stdout, stderr)? {
                    return Ok(code);
                }
            }
        }
    }

    fn handle(
        &mut self,
        frame: Frame,
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
    ) -> Result<Option<i32>, RunError> {
        // Ignore write errors, because the command should finish even if nobody reads its output.
        match frame {
            Frame::Up(_) => self.boot = self.start.elapsed(),
            Frame::Stdout(bytes) => drop(stdout.write_all(&bytes).and_then(|()| stdout.flush())),
            Frame::Stderr(bytes) => drop(stderr.write_all(&bytes).and_then(|()| stderr.flush())),
            Frame::FileStart(index) => {
                let wanted = self.fetch.get_mut(index as usize).and_then(Option::take);
                let path = wanted.ok_or_else(|| {
                    RunError::Guest(format!("it sent file {index}, which was not requested"))
                })?;
                self.file = Some(File::create(&path).map_err(RunError::host(format!(
                    "cannot write the fetched file '{}'",
                    path.display()
                )))?);
            }
            Frame::FileData(bytes) => {
                if let Some(file) = &mut self.file {
                    file.write_all(&bytes)
                        .map_err(RunError::host("cannot write a fetched file"))?;
                }
            }
            Frame::FileEnd => self.file = None,
            Frame::Exit(code) => {
                for path in self.fetch.iter().flatten() {
                    let text = format!(
                        "vcuda-run: the guest has no file to fetch as '{}'\n",
                        path.display()
                    );
                    drop(stderr.write_all(text.as_bytes()));
                }
                return Ok(Some(code));
            }
            Frame::Failed(why) => return Err(RunError::Guest(why)),
        }
        Ok(None)
    }

    fn readable(&self) -> Result<bool, RunError> {
        let mut poll = libc::pollfd { fd: self.line.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one valid pollfd, and the count is 1.
        let count = unsafe { libc::poll(&mut poll, 1, TICK.as_millis() as i32) };
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(RunError::host("cannot wait for the guest")(error));
            }
        }
        Ok(count > 0)
    }

    /// Returns the log line that contains the `fatal` text, if there is one.
    fn lost(&self) -> Option<String> {
        let fatal = self.fatal?;
        let log = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        text.lines().find(|line| line.contains(fatal)).map(|line| line.trim().to_string())
    }

    fn ended(&self, how: String) -> RunError {
        RunError::Ended { vmm: self.vmm, how, console: console_tail(&self.log) }
    }
}

/// Returns the last lines of a console log, each indented and preceded by a line break.
pub fn console_tail(log: &std::path::Path) -> String {
    const LINES: usize = 12;
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    // A guest must not send control sequences to the user's terminal.
    let plain = |line: &str| line.replace(|c: char| c.is_control(), "");
    tail.iter().map(|line| format!("\n    {}", plain(line))).collect()
}
