//! State shared by the service and the scheduler thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use super::message::ComputeEvent;
use super::registry::Registry;
use control_server::trace_point::Traces;
use host_ipc::eventfd::{eventfd, notify};

/// The registry, the eventfds that wake the service and the thread, and counters.
pub(super) struct Shared {
    registry: Mutex<Registry>,
    /// Wakes the scheduler thread.
    pub(super) commands_fd: OwnedFd,
    /// Wakes the service.
    pub(super) events_fd: OwnedFd,
    pub(super) restarts: AtomicU64,
    /// Number of times that the thread has run its loop, including before restarts.
    pub(super) rounds: AtomicU64,
    pub(super) traces: Traces,
}

impl Shared {
    pub(super) fn new(traces: Traces) -> io::Result<Self> {
        Ok(Self {
            registry: Mutex::default(),
            commands_fd: eventfd()?,
            events_fd: eventfd()?,
            restarts: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            traces,
        })
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(|error| error.into_inner())
    }
}

/// The sending end of the event channel from the thread to the service.
#[derive(Clone)]
pub(super) struct EventSender {
    pub(super) shared: Arc<Shared>,
    pub(super) events: mpsc::Sender<ComputeEvent>,
}

impl EventSender {
    pub(super) fn send(&self, event: ComputeEvent) {
        // Sending fails only if the service is gone, in which case the thread exits soon.
        let _ = self.events.send(event);
        notify(&self.shared.events_fd);
    }
}
