//! A second process for cases that need several processes. The peer runs a role, which is a
//! function of the case's family, and communicates with the case over a Unix socket.

use crate::cuda::{CALLS, Cuda, DefaultStream, Failure, Outcome};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

/// The option with which a case starts this program in a peer process, to run a role.
pub const OPTION: &str = "--peer";
/// A process that waits longer than this for the other process fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The part of a case that runs in the peer process.
pub struct Role {
    pub name: &'static str,
    pub body: fn(&Cuda, &mut Channel) -> Outcome,
}

/// The socket between the case's process and the peer process.
pub struct Channel(UnixStream);

impl Channel {
    pub fn send(&mut self, bytes: &[u8]) -> Outcome {
        self.0.write_all(bytes).map_err(|error| Failure::new(format!("cannot send: {error}")))
    }

    pub fn receive<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let mut bytes = [0; N];
        let read = self.0.read_exact(&mut bytes);
        read.map_err(|error| Failure::new(format!("cannot receive: {error}")))?;
        Ok(bytes)
    }

    /// Notifies the other process that this process has reached its next step.
    pub fn signal(&mut self) -> Outcome {
        self.send(&[1])
    }

    /// Waits until the other process has reached its next step.
    pub fn wait(&mut self) -> Outcome {
        self.receive::<1>().map(drop)
    }
}

/// A peer process, from the point of view of the case that started it.
pub struct Peer {
    child: Child,
    pub channel: Channel,
}

impl Peer {
    /// Starts a peer process for a role. The peer inherits `descriptor` as its standard output.
    pub fn start(role: &str, descriptor: Option<OwnedFd>) -> Outcome<Self> {
        let failed = |error: std::io::Error| Failure::new(format!("cannot start a peer: {error}"));
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args([OPTION, role])
            .stdin(OwnedFd::from(theirs))
            .stdout(descriptor.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, channel: Channel(ours) })
    }

    /// Kills the peer process, and waits until it has exited.
    pub fn kill(&mut self) {
        // Ignore errors: these calls fail only if the process has exited and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the peer process has exited. Fails if its role has failed.
    pub fn end(self) -> Outcome {
        let Self { child, channel } = self;
        drop(channel);
        let output = child.wait_with_output().map_err(Failure::new)?;
        let text = String::from_utf8_lossy(&output.stderr);
        // The peer's lines about its calls must be in the output of the case's process, because
        // that's where the runner reads them.
        text.lines().filter(|line| line.starts_with(CALLS)).for_each(|line| println!("{line}"));
        match output.status.success() {
            true => Ok(()),
            false => {
                let last = text.lines().last().unwrap_or("no message");
                Err(Failure::new(format!("the peer failed: {last}")))
            }
        }
    }

    /// Waits until the peer process has exited. If its role has failed, returns that failure,
    /// because a failure of the case may be only a consequence of it. Otherwise, returns the
    /// outcome of the case.
    pub fn conclude(self, outcome: Outcome) -> Outcome {
        match outcome {
            Ok(()) => self.end(),
            Err(failure) => {
                self.end()?;
                Err(failure)
            }
        }
    }
}

/// Runs the role with this name in this process, which is the peer process.
pub fn run(roles: impl Iterator<Item = &'static Role>, name: Option<&str>) -> ExitCode {
    let run = || {
        let role = roles.into_iter().find(|role| Some(role.name) == name);
        let role = role.ok_or_else(|| Failure::new("there is no such role"))?;
        let stream = std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::new)?;
        let stream = UnixStream::from(stream);
        stream.set_read_timeout(Some(PATIENCE)).map_err(Failure::new)?;
        let cuda = Cuda::load(DefaultStream::Legacy)?;
        let outcome = (role.body)(&cuda, &mut Channel(stream));
        for (name, count) in cuda.counts() {
            eprintln!("{CALLS}{name} {} {}", count.succeeded, count.failed);
        }
        outcome
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
