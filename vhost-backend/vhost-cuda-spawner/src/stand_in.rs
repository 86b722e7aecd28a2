//! Answers the control API's clients while there is no broker. This process keeps the API's
//! listening socket for the next broker, so clients can connect. Without these answers, they would
//! wait forever.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use host_ipc::apart::Apart;
use host_ipc::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, accept, send};

/// Maximum number of clients that have connected and sent no request. If another client connects,
/// the oldest one is dropped, so that clients that never send a request can't lock out others.
const MAX_CLIENTS: usize = 16;
/// Maximum number of clients accepted before other events get a turn.
const BATCH: usize = 16;

/// The clients that haven't been answered.
#[derive(Default)]
pub(crate) struct StandIn {
    /// The clients' sockets. A client may have sent descriptors over its socket that are slow to
    /// close, so `Apart` closes the sockets on another thread.
    clients: VecDeque<Apart>,
}

impl StandIn {
    /// Returns the descriptors that become readable when a client has sent its request.
    pub(crate) fn clients(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.clients.iter().map(Apart::as_fd)
    }

    /// Accepts clients, and answers those that have sent a request. `ends_in` is the time until the
    /// spawner ends all sessions. Never blocks because of a client, and reads nothing from clients.
    pub(crate) fn serve(&mut self, listener: BorrowedFd<'_>, ends_in: Duration) -> io::Result<()> {
        // This can't disturb the broker, which shares the file description, because it also makes
        // the socket non-blocking.
        process::set_nonblocking(&listener)?;
        for _ in 0..BATCH {
            let Ok(client) = accept(listener) else { break };
            if self.clients.len() == MAX_CLIENTS {
                self.clients.pop_front();
            }
            self.clients.push_back(client.into());
        }
        let mut fds: Vec<_> =
            self.clients.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let mut asked: VecDeque<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let answer = answer(ends_in);
        self.clients.retain(|client| {
            let has_asked = asked.pop_front() == Some(true);
            if has_asked {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                // The socket's buffer is empty and has room for the answer. Ignore errors: sending
                // fails only if the client has disconnected.
                let _ = send(client, answer.as_bytes(), flags);
            }
            !has_asked
        });
        Ok(())
    }
}

/// Returns an error of the control API, as JSON over HTTP.
fn answer(ends_in: Duration) -> String {
    // Round up, so that the message doesn't announce the end too early.
    let seconds = ends_in.as_millis().div_ceil(1000);
    let body = format!(
        r#"{{"code":"unavailable","message":"vcudad isn't running; the sessions of its VMs end in {seconds} s unless it is started (systemctl start vcudad; if that fails, see journalctl -u vcudad)"}}"#
    );
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    const WAIT: Duration = Duration::from_secs(28);

    #[test]
    fn clients_are_answered_once_they_have_sent_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut stand_in = StandIn::default();
        stand_in.serve(listener.as_fd(), WAIT).unwrap();
        // Clients that never send a request don't lock out others, even if there are more than
        // MAX_CLIENTS of them.
        let connect = || UnixStream::connect(&path).unwrap();
        let _silent: Vec<UnixStream> = (0..MAX_CLIENTS + 4).map(|_| connect()).collect();
        let mut client = connect();
        for _ in 0..2 {
            stand_in.serve(listener.as_fd(), WAIT).unwrap();
        }
        assert_eq!(stand_in.clients().count(), MAX_CLIENTS);
        client.write_all(b"GET /v1/vms HTTP/1.1\r\nhost: vcudad\r\n\r\n").unwrap();
        stand_in.serve(listener.as_fd(), WAIT - Duration::from_millis(500)).unwrap();
        let mut bytes = [0; 4096];
        let count = client.read(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..count]);
        assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
        assert!(
            body.contains("vcudad isn't running; the sessions of its VMs end in 28 s"),
            "{text}"
        );
        assert_eq!(stand_in.clients().count(), MAX_CLIENTS - 1);
        // A client that has disconnected is dropped.
        drop(connect());
        stand_in.serve(listener.as_fd(), WAIT).unwrap();
        assert_eq!(stand_in.clients().count(), MAX_CLIENTS - 1);
    }
}
