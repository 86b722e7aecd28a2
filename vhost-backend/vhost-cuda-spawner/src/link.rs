//! The connection to the broker. Either the broker has started this process, and it exits with that
//! broker, or brokers connect to a socket, one after another.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use host_ipc::listener::{Listener, SocketFile};
use host_ipc::signals::Signals;
use host_ipc::spawner::{PROTOCOL, Welcome};
use host_ipc::{process, seqpacket};
use rustix::net::sockopt::socket_peercred;

/// Time without a broker after which the spawner closes the workers' gates, so that no more GPU
/// work starts. A broker that is only being restarted connects again before that.
const GATES: Duration = Duration::from_secs(1);
/// Permissions of the socket: only this process's user may connect.
const MODE: u32 = 0o600;

/// This process's ends of the sockets to a broker.
pub(crate) struct Broker {
    /// This process's end of the socket for requests and their answers.
    pub(crate) calls: OwnedFd,
    /// This process's end of the socket for events. Non-blocking.
    pub(crate) events: OwnedFd,
}

/// The socket to which brokers connect.
pub(crate) struct Callers {
    listener: UnixListener,
    _file: SocketFile,
    signals: Signals,
    /// Time without a broker after which the spawner ends all processes.
    limit: Duration,
}

/// A step that the spawner takes because there is no broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    CloseGates,
    EndAll,
}

/// The connection to the broker.
pub(crate) struct Link {
    pub(crate) broker: Option<Broker>,
    /// `None` if the broker has started this process.
    pub(crate) callers: Option<Callers>,
    /// When the last broker disconnected, and the next step that the spawner takes because of that.
    /// `None` while a broker is connected, before the first one connects, and after all steps.
    absence: Option<(Instant, Due)>,
}

impl Link {
    /// Creates the connection to the broker that has started this process.
    pub(crate) fn to_parent(calls: OwnedFd, events: OwnedFd) -> io::Result<Self> {
        process::block_signals();
        process::set_nonblocking(&events)?;
        Ok(Self { broker: Some(Broker { calls, events }), callers: None, absence: None })
    }

    /// Listens for brokers on a socket. After `limit` without a broker, [`Self::take_due`] returns
    /// [`Due::EndAll`].
    pub(crate) fn listen(path: &Path, limit: Duration) -> Result<Self, String> {
        process::block_signals();
        let signals = Signals::catch(&[libc::SIGTERM, libc::SIGINT]);
        let signals = signals.map_err(|error| format!("cannot catch signals: {error}"))?;
        let (listener, file) = Listener::bind(path, MODE, None)?.into_parts();
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let callers = Callers { listener, _file: file, signals, limit };
        Ok(Self { broker: None, callers: Some(callers), absence: None })
    }

    /// Accepts a broker, which replaces the connected broker, if there is one. Returns true if a
    /// broker was accepted.
    pub(crate) fn accept(&mut self, is_root: bool, library: Option<PathBuf>) -> bool {
        let Some(callers) = &self.callers else { return false };
        match callers.accept(Welcome { protocol: PROTOCOL, is_root, library }) {
            Ok(Some(broker)) => {
                if self.broker.replace(broker).is_some() {
                    tracing::warn!(
                        "another vcudad has connected, so the first one is disconnected"
                    );
                }
                self.absence = None;
                return true;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!("cannot accept a connection: {error}"),
        }
        false
    }

    /// Closes the sockets to a broker that has disconnected.
    pub(crate) fn leave(&mut self) {
        self.broker = None;
        self.absence = Some((Instant::now(), Due::CloseGates));
    }

    fn due_at(&self) -> Option<Instant> {
        let (since, next) = self.absence?;
        let limit = self.callers.as_ref()?.limit;
        Some(match next {
            Due::CloseGates => since + GATES.min(limit),
            Due::EndAll => since + limit,
        })
    }

    /// Returns the time until [`Self::take_due`] will return a step. Returns `None` if no step is
    /// scheduled.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.due_at().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns the time until the spawner ends all processes. Returns `None` until it has closed
    /// the gates, because before that, the broker may only be restarting.
    pub(crate) fn ends_in(&self) -> Option<Duration> {
        self.due_in().filter(|_| matches!(self.absence, Some((_, Due::EndAll))))
    }

    /// Returns the step that the spawner must take now because there is no broker, if there is one,
    /// and schedules the next step.
    pub(crate) fn take_due(&mut self) -> Option<Due> {
        if self.due_at()? > Instant::now() {
            return None;
        }
        let (since, due) = self.absence?;
        self.absence = (due == Due::CloseGates).then_some((since, Due::EndAll));
        Some(due)
    }
}

impl Callers {
    /// Returns the descriptors that become readable when a broker connects and when a signal
    /// arrives that ends this process.
    pub(crate) fn fds(&self) -> (&UnixListener, &Signals) {
        (&self.listener, &self.signals)
    }

    fn accept(&self, welcome: Welcome) -> io::Result<Option<Broker>> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        check_user(&stream)?;
        let (calls, their_calls) = seqpacket::pair()?;
        let (events, their_events) = seqpacket::pair()?;
        process::set_nonblocking(&events)?;
        stream.set_nonblocking(true)?;
        seqpacket::send(&stream, &welcome, &[their_calls.as_fd(), their_events.as_fd()])?;
        Ok(Some(Broker { calls, events }))
    }
}

/// Returns an error unless the peer runs as this process's user. This doesn't rely on the socket's
/// permissions, which somebody may have changed.
fn check_user(stream: &UnixStream) -> io::Result<()> {
    let (peer, own) = (socket_peercred(stream)?.uid, rustix::process::geteuid());
    match peer == own {
        true => Ok(()),
        false => Err(io::Error::other(format!("user {} may not connect", peer.as_raw()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_broker_gates_are_closed_before_everything_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let mut link = Link::listen(&path, Duration::ZERO).unwrap();
        // No step is scheduled before the first broker connects, however long that takes.
        assert_eq!((link.due_in(), link.take_due()), (None, None));
        link.leave();
        assert_eq!(link.ends_in(), None, "it may be back soon");
        assert_eq!(link.take_due(), Some(Due::CloseGates));
        assert_eq!(link.ends_in(), Some(Duration::ZERO));
        assert_eq!(link.take_due(), Some(Due::EndAll));
        assert_eq!((link.due_in(), link.take_due()), (None, None));
        let mut link = Link { callers: link.callers.take(), broker: None, absence: None };
        link.leave();
        let _stream = UnixStream::connect(&path).unwrap();
        assert!(link.accept(false, None) && link.broker.is_some());
        assert!(!link.accept(false, None), "nobody connects");
        assert_eq!((link.due_in(), link.ends_in(), link.take_due()), (None, None, None));
    }
}
