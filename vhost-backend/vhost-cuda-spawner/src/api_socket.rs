//! A listening socket of the control API, which stays open when the broker that serves it exits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use host_ipc::listener::Listener;

use crate::policy::ApiSocket;
use crate::socket::{BoundSocket, create_directory};
use crate::stand_in::StandIn;

/// Permissions of the socket.
const MODE: u32 = 0o660;

/// One of the control API's sockets, if it is bound, and the clients that the spawner answers while
/// there is no broker.
#[derive(Default)]
pub(crate) struct BoundApiSocket {
    bound: Option<(ApiSocket, BoundSocket)>,
    stand_in: StandIn,
}

impl BoundApiSocket {
    /// Returns a copy of the socket `wanted`. Binds it first, unless it's already bound with the
    /// same path and group.
    pub(crate) fn bind(&mut self, wanted: Option<&ApiSocket>) -> Result<OwnedFd, String> {
        let wanted = wanted.ok_or("there is no such socket")?;
        if let Some((_, socket)) = self.bound.as_ref().filter(|(bound, _)| bound == wanted) {
            return socket.copy();
        }
        self.close();
        if let Some(folder) = wanted.path.parent().filter(|path| !path.as_os_str().is_empty()) {
            create_directory(folder)
                .map_err(|error| format!("cannot create its directory: {error}"))?;
        }
        let socket = Listener::bind(&wanted.path, MODE, wanted.group)?.into();
        self.bound.insert((wanted.clone(), socket)).1.copy()
    }

    /// Closes the socket, and removes its file.
    pub(crate) fn close(&mut self) {
        *self = Self::default();
    }

    /// Closes the socket unless it has the path and group of `wanted`, because a new broker with
    /// another configuration wouldn't serve it.
    pub(crate) fn close_unless(&mut self, wanted: Option<&ApiSocket>) {
        if self.bound.as_ref().map(|(bound, _)| bound) != wanted {
            self.close();
        }
    }

    /// Drops the clients that the spawner hasn't answered. Called when there is a broker again,
    /// which answers new connections itself.
    pub(crate) fn leave_to_broker(&mut self) {
        self.stand_in = StandIn::default();
    }

    /// Answers clients in place of the broker. `ends_in` is the time until the spawner ends all
    /// sessions.
    pub(crate) fn stand_in(&mut self, ends_in: Duration) -> io::Result<()> {
        let Some((_, socket)) = &self.bound else { return Ok(()) };
        self.stand_in.serve(socket.as_fd(), ends_in)
    }

    /// Returns the descriptors that become readable when a client connects or has sent its request.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let socket = self.bound.iter().map(|(_, socket)| socket.as_fd());
        socket.chain(self.stand_in.clients())
    }
}
