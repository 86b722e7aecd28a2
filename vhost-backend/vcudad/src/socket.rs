//! The VMs' vhost-user sockets, and the control API's. The spawner binds them, and removes their
//! files.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixListener;

use super::spawner::Spawner;
use host_ipc::spawner::Call;

/// A VM's listening socket. Dropping it removes its file.
pub(crate) struct VmSocket {
    listener: UnixListener,
    spawner: Spawner,
    vm: String,
}

impl VmSocket {
    pub(crate) fn new(listener: UnixListener, spawner: &Spawner, vm: &str) -> Self {
        Self { listener, spawner: spawner.clone(), vm: vm.to_owned() }
    }

    /// Continues with the socket of the broker that this one replaces.
    pub(crate) fn restore(spawner: &Spawner, vm: &str) -> io::Result<Self> {
        let listener = spawner.bind(Call::Listener { vm: vm.to_owned() });
        let listener = listener.map_err(|refusal| io::Error::other(refusal.reason))?;
        Ok(Self::new(listener, spawner, vm))
    }
}

impl AsRawFd for VmSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }
}

impl Drop for VmSocket {
    fn drop(&mut self) {
        // If this fails, the spawner has ended, and has removed the file.
        let _ = self.spawner.request(Call::Unbind { vm: std::mem::take(&mut self.vm) });
    }
}

/// The file of the control API's socket. Dropping it removes the file.
pub(crate) struct ControlFile(pub(crate) Spawner);

impl Drop for ControlFile {
    fn drop(&mut self) {
        let _ = self.0.request(Call::UnbindControl);
    }
}
