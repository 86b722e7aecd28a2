//! Connections to front ends. A front end is a VMM or a program in a container. Each front end gets
//! its own device, and all of them share the VM's limits.

use std::fmt::Display;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use vhost::vhost_user::Listener;
use vhost_user_backend::VhostUserDaemon;
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use super::backend::Backend;
use super::error::{DeviceError, os};
use super::exports::Exports;
use super::link::Link;
use super::place::{Place, Present};
use host_ipc::messages::DeviceSetup;
use host_ipc::process;

/// The number of descriptors for which the device process prepares. A session needs about four.
pub const DESCRIPTORS: u32 = 1 << 14;

type Daemon = VhostUserDaemon<Arc<Backend>>;

/// Serves every front end that connects. Returns only on error.
pub(super) fn accept(
    listener: UnixListener,
    setup: &DeviceSetup,
    link: &Arc<Link>,
) -> Result<(), DeviceError> {
    let counter = link.clone();
    let present = Arc::new(Present::new(move |count| counter.set_front_ends(count)));
    let exports = Arc::new(Exports::default());
    // If this process is killed, the kernel closes its descriptors from the last to the first
    // (Linux 6.18). cloud-hypervisor connects again when its connection is closed, and gives up the
    // device if the new connection is closed, too. So the listening socket must be closed before
    // the connections, and therefore gets the highest descriptor.
    let waiting = process::duplicate_last(listener.as_fd(), DESCRIPTORS)
        .map(UnixListener::from)
        .map_err(os("cannot watch the socket"))?;
    let mut listener = Listener::from(listener);
    loop {
        wait_for_front_end(&waiting)?;
        let place = match present.enter(setup.limits.max_connections) {
            Ok(place) => Arc::new(place),
            Err(why) => {
                let explained = why.explain(&setup.limits);
                tracing::warn!(vm = setup.name, "refusing a front end: {explained}");
                link.refused(why);
                refuse(&waiting);
                continue;
            }
        };
        if let Err(error) = welcome(&mut listener, setup, link, &place, &exports) {
            tracing::error!(
                vm = setup.name,
                "cannot serve a front end: {}; pids.max and memory.host_max limit the VM's processes",
                error.text
            );
            if !error.is_accepted {
                refuse(&waiting);
            }
        }
    }
}

/// Closes the connection of the front end that has waited longest. If it stayed in the listen
/// queue, the front end would wait forever, and the device process would retry in a busy loop.
fn refuse(waiting: &UnixListener) {
    if waiting.accept().is_err() {
        // `accept` fails if the process has no free descriptor. Wait before the next attempt.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The reason why a front end can't be served.
struct Unserved {
    text: String,
    /// Whether the front end's connection had been accepted. If so, it has been closed.
    is_accepted: bool,
}

/// Accepts the next front end, and starts the threads that serve it. Starting threads fails if the
/// VM has reached `pids.max`, so an error must affect only this front end.
fn welcome(
    listener: &mut Listener,
    setup: &DeviceSetup,
    link: &Arc<Link>,
    place: &Arc<Place>,
    exports: &Arc<Exports>,
) -> Result<(), Unserved> {
    use vhost_user_backend::Error::CreateBackendListener;
    let unserved =
        |is_accepted, error: &dyn Display| Unserved { text: error.to_string(), is_accepted };
    let mut front_end =
        FrontEnd::prepare(setup, link, place, exports).map_err(|error| unserved(false, &error))?;
    front_end
        .daemon
        .start(listener)
        .map_err(|error| unserved(!matches!(error, CreateBackendListener(_)), &error))?;
    let name = setup.name.clone();
    let thread = std::thread::Builder::new().name("connection".into());
    let spawned = thread.spawn(move || front_end.serve(&name));
    spawned.map(drop).map_err(|error| unserved(true, &format!("cannot start a thread: {error}")))
}

fn wait_for_front_end(listener: &UnixListener) -> Result<(), DeviceError> {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    let ready = retry_on_intr(|| poll(&mut fds, None));
    ready.map(drop).map_err(|error| os("cannot watch the socket")(error.into()))
}

/// A front end, and its device.
struct FrontEnd {
    daemon: Daemon,
    backend: Arc<Backend>,
}

impl FrontEnd {
    /// Prepares a device for a front end that hasn't been accepted yet.
    fn prepare(
        setup: &DeviceSetup,
        link: &Arc<Link>,
        place: &Arc<Place>,
        exports: &Arc<Exports>,
    ) -> std::io::Result<Self> {
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let backend = Arc::new(Backend::new(setup, link, place, exports)?);
        let text = |error: vhost_user_backend::Error| std::io::Error::other(error.to_string());
        let daemon =
            VhostUserDaemon::new("vhost-user".into(), backend.clone(), memory).map_err(text)?;
        let handlers = daemon.get_epoll_handlers();
        let handler =
            handlers.first().ok_or_else(|| std::io::Error::other("the event thread is missing"))?;
        backend.watch_from(handler)?;
        Ok(Self { daemon, backend })
    }

    fn serve(mut self, name: &str) {
        tracing::info!(vm = name, "front end connected");
        use vhost::vhost_user::Error::{Disconnected, PartialMessage};
        match self.daemon.wait() {
            Ok(())
            | Err(vhost_user_backend::Error::HandleRequest(Disconnected | PartialMessage)) => {
                tracing::info!(vm = name, "front end disconnected");
            }
            Err(error) => tracing::info!(vm = name, "front end disconnected: {error}"),
        }
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        self.backend.close();
    }
}
