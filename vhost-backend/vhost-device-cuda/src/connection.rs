//! Front ends: a VMM, or a container's programs one by one. Each has a device of its own; all
//! count against the VM's limits.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::backend::Backend;
use super::link::Link;
use super::{DeviceError, os};
use host_ipc::messages::DeviceSetup;

type Daemon = VhostUserDaemon<Arc<Backend>>;

/// Serves every front end that connects. Returns only with an error.
pub(super) fn accept(
    listener: UnixListener,
    setup: &DeviceSetup,
    link: &Arc<Link>,
) -> Result<(), DeviceError> {
    let present = Arc::new(Present::default());
    let waiting = listener.try_clone().map_err(os("cannot watch the socket"))?;
    let mut listener = Listener::from(listener);
    loop {
        wait_for_front_end(&waiting)?;
        let place = match present.enter(setup.limits.max_connections) {
            Ok(place) => Arc::new(place),
            Err(why) => {
                tracing::warn!(vm = setup.name, "a front end was turned away: {why}");
                drop(waiting.accept());
                continue;
            }
        };
        let (daemon, backend) = match start(&mut listener, setup, link, &place) {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(vm = setup.name, "a front end could not be served: {error}");
                continue;
            }
        };
        let name = setup.name.clone();
        std::thread::Builder::new()
            .name("connection".into())
            .spawn(move || serve(&name, daemon, &backend))
            .map_err(os("cannot start a thread"))?;
    }
}

/// How long a front end may have to wait for a place: one that was killed leaves in less.
const PATIENCE: Duration = Duration::from_secs(1);

/// The front ends that are connected.
#[derive(Default)]
struct Present {
    count: Mutex<Count>,
    somebody_left: Condvar,
}

#[derive(Default)]
struct Count {
    connected: u32,
    /// The only one has memory that it could take away again.
    alone: bool,
}

impl Present {
    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(|error| error.into_inner())
    }

    fn enter(self: &Arc<Self>, max: u32) -> Result<Place, String> {
        let full = |count: &mut Count| count.alone || count.connected >= max;
        let waited = self.somebody_left.wait_timeout_while(self.lock(), PATIENCE, full);
        let (mut count, waited) = waited.unwrap_or_else(|error| error.into_inner());
        if waited.timed_out() {
            return Err(if count.alone {
                "the one that is connected has memory without a seal, and must be alone".into()
            } else {
                format!("connections.max is {max}")
            });
        }
        count.connected += 1;
        Ok(Place(self.clone()))
    }
}

/// A connection's place among the others, as long as it lives.
pub(super) struct Place(Arc<Present>);

impl Place {
    /// A front end whose memory is not sealed against shrinking can end this process by taking it
    /// away. A VM that is alone here harms only itself; among others nobody may do that.
    pub(super) fn be_alone(&self) -> Result<(), &'static str> {
        let mut count = self.0.lock();
        if count.connected > 1 {
            return Err(
                "memory that is shared with a device of several front ends must be sealed \
                        against shrinking (F_SEAL_SHRINK)",
            );
        }
        count.alone = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut count = self.0.lock();
        count.connected -= 1;
        count.alone = false;
        self.0.somebody_left.notify_all();
    }
}

fn wait_for_front_end(listener: &UnixListener) -> Result<(), DeviceError> {
    let mut fds = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: one descriptor is announced, and `fds` lives across the call.
        if unsafe { libc::poll(&mut fds, 1, -1) } > 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(os("cannot watch the socket")(error));
        }
    }
}

fn start(
    listener: &mut Listener,
    setup: &DeviceSetup,
    link: &Arc<Link>,
    place: &Arc<Place>,
) -> std::io::Result<(Daemon, Arc<Backend>)> {
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let backend = Arc::new(Backend::new(setup, link, place, memory.clone())?);
    let text = |error: vhost_user_backend::Error| std::io::Error::other(error.to_string());
    let mut daemon =
        VhostUserDaemon::new("vhost-user".into(), backend.clone(), memory).map_err(text)?;
    let handlers = daemon.get_epoll_handlers();
    let handler = handlers.first().ok_or_else(|| std::io::Error::other("no event thread"))?;
    backend.watch_from(handler)?;
    if let Err(error) = daemon.start(listener) {
        backend.close();
        return Err(text(error));
    }
    Ok((daemon, backend))
}

fn serve(name: &str, mut daemon: Daemon, backend: &Backend) {
    tracing::info!(vm = name, "front end connected");
    use vhost::vhost_user::Error::{Disconnected, PartialMessage};
    match daemon.wait() {
        Ok(()) | Err(vhost_user_backend::Error::HandleRequest(Disconnected | PartialMessage)) => {
            tracing::info!(vm = name, "front end disconnected");
        }
        Err(error) => tracing::info!(vm = name, "front end disconnected: {error}"),
    }
    // Before the daemon goes, which waits for its event thread to end.
    backend.close();
}
