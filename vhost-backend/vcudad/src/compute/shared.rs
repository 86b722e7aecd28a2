//! The state that the service and the scheduler's thread share.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use super::message::ComputeEvent;
use super::registry::Registry;
use host_ipc::eventfd::{eventfd, notify};

/// The registry, the descriptors that wake either side, and counters.
pub(super) struct Shared {
    registry: Mutex<Registry>,
    /// Wakes the thread.
    pub(super) commands_fd: OwnedFd,
    /// Wakes the service.
    pub(super) events_fd: OwnedFd,
    pub(super) restarts: AtomicU64,
    /// Rounds of the thread's loop, across restarts.
    pub(super) rounds: AtomicU64,
}

impl Shared {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            registry: Mutex::default(),
            commands_fd: eventfd()?,
            events_fd: eventfd()?,
            restarts: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
        })
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// The thread's end of the event channel.
#[derive(Clone)]
pub(super) struct EventSender {
    pub(super) shared: Arc<Shared>,
    pub(super) events: mpsc::Sender<ComputeEvent>,
}

impl EventSender {
    pub(super) fn send(&self, event: ComputeEvent) {
        // This fails only if the service is gone, and then the thread ends.
        let _ = self.events.send(event);
        notify(&self.shared.events_fd);
    }
}
