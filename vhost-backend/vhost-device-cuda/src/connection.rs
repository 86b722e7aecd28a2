//! Connections to front ends. A front end is a VMM or a program in a container. Each front end gets
//! its own device, and all of them share the VM's limits.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

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

/// The number of descriptors for which the device process prepares. A session has four or so.
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
    // If this process is killed, the kernel closes its descriptors from the last to the first (Linux
    // 6.18). cloud-hypervisor connects again when its connection ends, and gives up the device if that
    // connection ends, too. So the socket must be closed first.
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
                drop(waiting.accept());
                continue;
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            tracing::error!(vm = setup.name, "cannot serve a front end: {error}");
        };
        let (mut daemon, backend) = match prepare(setup, link, &place, &exports) {
            Ok(prepared) => prepared,
            Err(error) => {
                failed(&error);
                // Otherwise, the front end would wait, and this loop would try again at once.
                drop(waiting.accept());
                continue;
            }
        };
        if let Err(error) = daemon.start(&mut listener) {
            failed(&error);
            backend.close();
            continue;
        }
        let name = setup.name.clone();
        std::thread::Builder::new()
            .name("connection".into())
            .spawn(move || serve(&name, daemon, &backend))
            .map_err(os("cannot start a thread"))?;
    }
}

fn wait_for_front_end(listener: &UnixListener) -> Result<(), DeviceError> {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    let ready = retry_on_intr(|| poll(&mut fds, None));
    ready.map(drop).map_err(|error| os("cannot watch the socket")(error.into()))
}

/// Prepares a device for a front end that hasn't been accepted yet.
fn prepare(
    setup: &DeviceSetup,
    link: &Arc<Link>,
    place: &Arc<Place>,
    exports: &Arc<Exports>,
) -> std::io::Result<(Daemon, Arc<Backend>)> {
    let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
    let backend = Arc::new(Backend::new(setup, link, place, exports)?);
    let text = |error: vhost_user_backend::Error| std::io::Error::other(error.to_string());
    let daemon =
        VhostUserDaemon::new("vhost-user".into(), backend.clone(), memory).map_err(text)?;
    let handlers = daemon.get_epoll_handlers();
    let handler =
        handlers.first().ok_or_else(|| std::io::Error::other("the event thread is missing"))?;
    backend.watch_from(handler)?;
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
    // This makes the event thread exit. Dropping `daemon` waits for that thread, so this must come
    // first.
    backend.close();
}
