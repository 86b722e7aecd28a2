//! The VMs' vhost-user sockets, and those of the control API. The spawner binds them, and removes
//! their files.

use std::io;
use std::os::unix::net::UnixListener;

use crate::processes::spawner::Spawner;
use host_ipc::spawner::Call;

/// A VM's listening socket. Dropping this value removes the socket's file.
///
/// Only the spawner keeps the socket's descriptor. If the spawner is killed, VMMs connect again at
/// once, and must not reach a socket that exists only until the broker exits.
pub(crate) struct VmSocket {
    spawner: Spawner,
    vm: String,
}

impl VmSocket {
    /// Creates the value for a socket that the spawner has bound.
    pub(crate) fn new(spawner: &Spawner, vm: &str) -> Self {
        Self { spawner: spawner.clone(), vm: vm.to_owned() }
    }

    /// Takes over the socket from the broker that this one replaces.
    pub(crate) fn restore(spawner: &Spawner, vm: &str) -> io::Result<Self> {
        listener(spawner, vm)?;
        Ok(Self::new(spawner, vm))
    }

    /// Returns the socket's descriptor, for a device process.
    pub(crate) fn listener(&self) -> io::Result<UnixListener> {
        listener(&self.spawner, &self.vm)
    }
}

fn listener(spawner: &Spawner, vm: &str) -> io::Result<UnixListener> {
    let listener = spawner.bind(Call::Listener { vm: vm.to_owned() });
    listener.map_err(|refusal| io::Error::other(refusal.reason))
}

impl Drop for VmSocket {
    fn drop(&mut self) {
        // If this fails, the spawner has ended, and has removed the file.
        let _ = self.spawner.request(Call::Unbind { vm: std::mem::take(&mut self.vm) });
    }
}

/// The files of the control API's sockets. Dropping this value removes them.
pub(crate) struct ApiFiles(pub(crate) Spawner);

impl Drop for ApiFiles {
    fn drop(&mut self) {
        for call in [Call::UnbindControl, Call::UnbindRead] {
            let _ = self.0.request(call);
        }
    }
}
